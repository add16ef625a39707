# Generated: the kernel of aten::sub.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def to_single(b):
    e = ((b >> 52) & 2047) - 896
    f = b & 0xFFFFFFFFFFFFF
    m = tl.where(e > 0, (e << 52) | f, f | (1 << 52))
    s = tl.where(e > 0, 29, tl.minimum(30 - e, 60))
    half = (tl.zeros_like(b) + 1) << (s - 1)
    v = tl.minimum((m + half - 1 + ((m >> s) & 1)) >> s, 0x7F800000)
    v = tl.where((e == 1151) & (f != 0), 0x7FC00000, v)
    return (v | ((b >> 63) << 31)).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def to_double(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    e = (b >> 23) & 255
    f = b & 0x7FFFFF
    s = f.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    low = tl.where(f == 0, 0, (((s >> 23) + 747) << 52) | ((s & 0x7FFFFF) << 29))
    v = (tl.where(e == 255, 2047, e + 896) << 52) | (f << 29)
    return tl.where(e == 0, low, v) | ((b >> 63) << 63)


@triton.jit
def integer_to_double(c):
    m = tl.where(c < 0, -c, c)
    e = tl.zeros_like(c) + 1085
    for j in tl.static_range(6):
        low = (m >> (63 - (32 >> j))) == 0
        m = tl.where(low, m << (32 >> j), m)
        e = tl.where(low, e - (32 >> j), e)
    q = m >> 10
    r = m & 1023
    q = q + ((r > 512) | ((r == 512) & ((q & 1) == 1))).to(tl.int64)
    v = tl.where(c == 0, 0, ((e - 1) << 52) + q)
    v = tl.where(m < 0, 1086 << 52, v)
    return v | ((c >> 63) << 63)


@triton.jit
def kernel_sub(
    a_ptr, b_ptr, out_ptr, a_value, b_value, alpha, n,
    A_NUMBER: tl.constexpr, B_NUMBER: tl.constexpr, SCALED: tl.constexpr, FLOATING: tl.constexpr,
    ACC: tl.constexpr, RESULT: tl.constexpr, DOUBLE: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        if A_NUMBER == 2:
            a = to_single(tl.load(a_ptr + offsets, mask=mask, other=0))
        elif A_NUMBER:
            a = tl.full([BLOCK], a_value, ACC)
        else:
            a = tl.load(a_ptr + offsets, mask=mask, other=0).to(ACC)
        if B_NUMBER == 2:
            b = to_single(tl.load(b_ptr + offsets, mask=mask, other=0))
        elif B_NUMBER:
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
        if DOUBLE:
            if FLOATING:
                tl.store(out_ptr + offsets, to_double(y.to(tl.float32)), mask=mask)
            else:
                tl.store(out_ptr + offsets, integer_to_double(y.to(tl.int64)), mask=mask)
        else:
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
    double = out.dtype == torch.float64
    target = result.view(torch.int64) if double else result
    a = target if a_number else aligned(torch.broadcast_to(self, list(shape)))
    b = target if b_number else aligned(torch.broadcast_to(other, list(shape)))
    a_mode = 1 if a_number else 2 if self.dtype == torch.float64 else 0
    b_mode = 1 if b_number else 2 if other.dtype == torch.float64 else 0
    if a_mode == 2:
        a = a.view(torch.int64)
    if b_mode == 2:
        b = b.view(torch.int64)
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
        a, b, target, a_value, b_value, scale, n,
        A_NUMBER=a_mode, B_NUMBER=b_mode, SCALED=alpha != 1, FLOATING=floating,
        ACC=tl.float32 if floating else tl.int64, RESULT=rounded, DOUBLE=double, BLOCK=1024,
    )
    if not direct:
        out.copy_(result)
    return out
