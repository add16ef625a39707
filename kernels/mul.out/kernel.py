# Generated: the kernel of aten::mul.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def operand(a, offsets, mask, NUMBER: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr):
    if NUMBER == 2:
        x = to_single(tl.load(a + offsets, mask=mask, other=0))
    elif NUMBER:
        x = tl.full([BLOCK], a, KIND)
    else:
        x = tl.load(a + offsets, mask=mask, other=0)
    return x


@triton.jit
def kernel_mul(
    a_ptr,
    b_ptr,
    out_ptr,
    n,
    A_NUMBER: tl.constexpr,
    A_KIND: tl.constexpr,
    B_NUMBER: tl.constexpr,
    B_KIND: tl.constexpr,
    FLOATING: tl.constexpr,
    BOOLEAN: tl.constexpr,
    RESULT: tl.constexpr,
    DOUBLE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        a = operand(a_ptr, offsets, mask, A_NUMBER, A_KIND, BLOCK)
        b = operand(b_ptr, offsets, mask, B_NUMBER, B_KIND, BLOCK)
        if FLOATING:
            # Factors as they were given: half precisions are rounded once, at the end.
            y = (a.to(tl.float32) * b.to(tl.float32)).to(RESULT)
            if DOUBLE:
                tl.store(out_ptr + offsets, to_double(y.to(tl.float32)), mask=mask)
            else:
                tl.store(out_ptr + offsets, y, mask=mask)
        else:
            c = a.to(tl.int64) * b.to(tl.int64)
            if DOUBLE:
                if BOOLEAN:
                    tl.store(out_ptr + offsets, integer_to_double((c != 0).to(tl.int64)), mask=mask)
                else:
                    tl.store(out_ptr + offsets, integer_to_double(c.to(RESULT).to(tl.int64)), mask=mask)
            elif BOOLEAN:
                tl.store(out_ptr + offsets, c != 0, mask=mask)
            else:
                tl.store(out_ptr + offsets, c.to(RESULT), mask=mask)


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


def element_type(dtype):
    types = {
        torch.float32: tl.float32,
        torch.float16: tl.float16,
        torch.bfloat16: tl.bfloat16,
        torch.int8: tl.int8,
        torch.int16: tl.int16,
        torch.int32: tl.int32,
        torch.uint8: tl.uint8,
    }
    return types[dtype] if dtype in types else tl.int64


def wrapper(self, other, *, out):
    n = out.numel()
    if n == 0:
        return out
    dtype = torch.result_type(self, other)
    floating = dtype.is_floating_point
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    a, a_number, a_kind = prepared(self, out.shape)
    b, b_number, b_kind = prepared(other, out.shape)
    result = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    double = out.dtype == torch.float64
    kernel_mul[(min(triton.cdiv(n, 1024), 4096),)](
        a,
        b,
        result.view(torch.int64) if double else result,
        n,
        A_NUMBER=a_number,
        A_KIND=a_kind,
        B_NUMBER=b_number,
        B_KIND=b_kind,
        FLOATING=floating,
        BOOLEAN=dtype == torch.bool,
        RESULT=tl.float32 if dtype == torch.float64 else element_type(dtype),
        DOUBLE=double,
        BLOCK=1024,
    )
    if not direct:
        out.copy_(result)
    return out
