# Generated: the kernel of aten::div.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def operand(a, offsets, mask, NUMBER: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr):
    if NUMBER == 2:
        x = to_single(tl.load(a + offsets, mask=mask, other=1023 << 52))
    elif NUMBER:
        x = tl.full([BLOCK], a, KIND)
    else:
        x = tl.load(a + offsets, mask=mask, other=1)
    return x.to(tl.float32)


@triton.jit
def kernel_div(
    a_ptr,
    b_ptr,
    out_ptr,
    n,
    A_NUMBER: tl.constexpr,
    A_KIND: tl.constexpr,
    B_NUMBER: tl.constexpr,
    B_KIND: tl.constexpr,
    ROUND_B: tl.constexpr,
    RESULT: tl.constexpr,
    DOUBLE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        a = operand(a_ptr, offsets, mask, A_NUMBER, A_KIND, BLOCK).to(RESULT).to(tl.float32)
        b = operand(b_ptr, offsets, mask, B_NUMBER, B_KIND, BLOCK)
        if ROUND_B:
            b = b.to(RESULT).to(tl.float32)
        y = tl.div_rn(a, b).to(RESULT)
        if DOUBLE:
            tl.store(out_ptr + offsets, to_double(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def prepared(x, shape):
    # What the kernel gets, whether it is a number, and the dtype of a number.
    if isinstance(x, torch.Tensor):
        x = aligned(x if x.shape == shape else x.expand(shape))
        if x.dtype == torch.float64:
            return x.view(torch.int64), 2, tl.int64
        return x, False, tl.int64
    if isinstance(x, float):
        if abs(x) >= 3.4028235677973366e38:
            x = math.copysign(math.inf, x)
        return x, True, tl.float32
    return int(x), True, tl.int64


def wrapper(self, other, *, out):
    n = out.numel()
    if n == 0:
        return out
    dtype = torch.result_type(self, other)
    # PyTorch takes a single half-precision divisor as it was given, before it is rounded to the result's dtype.
    single = not isinstance(other, torch.Tensor) or other.numel() == 1
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    a, a_number, a_kind = prepared(self, out.shape)
    b, b_number, b_kind = prepared(other, out.shape)
    result = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    rounded = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
    double = out.dtype == torch.float64
    kernel_div[(min(triton.cdiv(n, 1024), 4096),)](
        a,
        b,
        result.view(torch.int64) if double else result,
        n,
        A_NUMBER=a_number,
        A_KIND=a_kind,
        B_NUMBER=b_number,
        B_KIND=b_kind,
        ROUND_B=not single,
        RESULT=rounded,
        DOUBLE=double,
        BLOCK=1024,
    )
    if not direct:
        out.copy_(result)
    return out
