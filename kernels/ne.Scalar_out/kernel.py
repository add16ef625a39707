# Generated: the kernel of aten::ne.Scalar_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_ne(x_ptr, out_ptr, value, n, ACC: tl.constexpr, ROUNDED: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(ACC)
        # The number takes the dtype in which the two are compared.
        other = tl.full([BLOCK], value, ACC).to(ROUNDED).to(ACC)
        y = x != other
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


def wrapped(number, dtype):
    # PyTorch takes an integer as the dtype of the comparison has it: beyond its range it wraps.
    bits = {torch.uint8: 8, torch.int8: 8, torch.int16: 16, torch.int32: 32}.get(dtype, 64)
    number = int(number) % (1 << bits)
    return number - (1 << bits) if dtype != torch.uint8 and number >> (bits - 1) else number


def wrapper(self, other, *, out):
    if out.shape != self.shape:
        out.resize_(self.shape)
    n = self.numel()
    if n == 0:
        return out
    dtype = torch.result_type(self, other)
    floating = dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64)
    if dtype == torch.bfloat16:
        rounded = tl.bfloat16
    elif dtype == torch.float16:
        rounded = tl.float16
    else:
        rounded = tl.float32 if floating else tl.int64
    x = aligned(self)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(self.shape), dtype=out.dtype, device=out.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_ne[grid](
        x, result, single(other) if floating else wrapped(other, dtype), n,
        ACC=tl.float32 if floating else tl.int64, ROUNDED=rounded, BLOCK=1024,
    )
    if not direct:
        out.copy_(result)
    return out
