# Generated: the kernel of aten::sub.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_sub(
    a_ptr, b_ptr, out_ptr, a_value, b_value, alpha, n,
    A_NUMBER: tl.constexpr, B_NUMBER: tl.constexpr, SCALED: tl.constexpr, FLOATING: tl.constexpr,
    ACC: tl.constexpr, RESULT: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        if A_NUMBER:
            a = tl.full([BLOCK], a_value, ACC)
        else:
            a = tl.load(a_ptr + offsets, mask=mask, other=0).to(ACC)
        if B_NUMBER:
            b = tl.full([BLOCK], b_value, ACC)
        else:
            b = tl.load(b_ptr + offsets, mask=mask, other=0).to(ACC)
        if SCALED:
            scale = tl.full([BLOCK], alpha, ACC)
            if FLOATING:
                # `alpha` comes negated; a single rounding.
                y = tl.fma(b, scale, a)
            else:
                y = a - b * scale
        else:
            y = a - b
        # Rounded to the result's dtype first; the store casts to that of the output.
        y = y.to(RESULT)
        tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def single(value):
    # A number as float32 takes it: beyond its range it is infinite.
    value = float(value)
    if value >= 3.4028235677973366e38:
        return math.inf
    if value <= -3.4028235677973366e38:
        return -math.inf
    return value


def wrapper(self, other, *, alpha=1, out):
    a_number = not isinstance(self, torch.Tensor)
    b_number = not isinstance(other, torch.Tensor)
    dtype = torch.result_type(self, other)
    shape = torch.broadcast_shapes([] if a_number else self.shape, [] if b_number else other.shape)
    if list(out.shape) != list(shape):
        out.resize_(shape)
    n = out.numel()
    if n == 0:
        return out
    floating = dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64)
    if dtype == torch.bfloat16:
        rounded = tl.bfloat16
    elif dtype == torch.float16:
        rounded = tl.float16
    elif floating:
        rounded = tl.float32
    elif dtype == torch.int32:
        rounded = tl.int32
    elif dtype == torch.int16:
        rounded = tl.int16
    elif dtype == torch.int8:
        rounded = tl.int8
    elif dtype == torch.uint8:
        rounded = tl.uint8
    else:
        rounded = tl.int64
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(shape), dtype=out.dtype, device=out.device)
    a = result if a_number else aligned(torch.broadcast_to(self, list(shape)))
    b = result if b_number else aligned(torch.broadcast_to(other, list(shape)))
    if floating:
        a_value = single(self) if a_number else 0.0
        b_value = single(other) if b_number else 0.0
        scale = -single(alpha)
    else:
        a_value = int(self) if a_number else 0
        b_value = int(other) if b_number else 0
        scale = int(alpha)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_sub[grid](
        a, b, result, a_value, b_value, scale, n,
        A_NUMBER=a_number, B_NUMBER=b_number, SCALED=alpha != 1, FLOATING=floating,
        ACC=tl.float32 if floating else tl.int64, RESULT=rounded, BLOCK=1024,
    )
    if not direct:
        out.copy_(result)
    return out
