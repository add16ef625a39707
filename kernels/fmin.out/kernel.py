# Generated: the kernel of aten::fmin.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def wide(x):
    # float32 as the bits of float64.
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    exponent = (b >> 23) & 255
    small = (b & 0x7FFFFF).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    digits = tl.where(exponent == 0, small, b)
    lifted = ((digits >> 23) & 255) + tl.where(exponent == 0, 896 - 149, 896)
    lifted = tl.where(exponent == 255, 2047, lifted)
    number = (lifted << 52) | ((digits & 0x7FFFFF) << 29)
    return ((b & 0x80000000) << 32) | tl.where(small + exponent == 0, 0, number)


@triton.jit
def wide_integer(x):
    # int64 as the bits of float64, rounded to even.
    sign = x < 0
    m = tl.where(sign, 0 - x, x).to(tl.uint64, bitcast=True)
    e = x * 0 + 1085
    for k in tl.static_range(6):
        shift: tl.constexpr = 32 >> k
        empty = (m >> (64 - shift)) == 0
        m = tl.where(empty, m << shift, m)
        e = tl.where(empty, e - shift, e)
    rest = (m & 2047).to(tl.int64)
    q = (m >> 11).to(tl.int64)
    up = (rest > 1024) | ((rest == 1024) & ((q & 1) == 1))
    bits = (e << 52) + q + tl.where(up, 1, 0)
    bits = tl.where(x == 0, x, bits)
    return tl.where(sign, bits | (x & -9223372036854775808), bits)


@triton.jit
def narrow(b):
    # The bits of float64 as float32, rounded to even.
    e = (b >> 52) & 2047
    m = b & 0xFFFFFFFFFFFFF
    full = m | 0x10000000000000
    shift = tl.where(e > 896, e * 0 + 29, tl.minimum(926 - e, 60))
    k = full >> shift
    rest = full - (k << shift)
    half = (e * 0 + 1) << (shift - 1)
    up = (rest > half) | ((rest == half) & ((k & 1) == 1))
    k = k + tl.where(up, 1, 0) + tl.where(e > 896, (e - 897) << 23, e * 0)
    k = tl.where(e > 1150, e * 0 + 0x7F800000, k)
    k = tl.where((e == 2047) & (m != 0), e * 0 + 0x7FC00000, k)
    k = k | ((b >> 32) & 0x80000000)
    return k.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def operand(
    p, offsets, mask, NUMBER: tl.constexpr, DOUBLE: tl.constexpr, COMMON: tl.constexpr, WORK: tl.constexpr,
    BLOCK: tl.constexpr
):
    if NUMBER:
        x = tl.full([BLOCK], p, WORK)
    elif DOUBLE:
        x = narrow(tl.load(p + offsets, mask=mask, other=0))
    else:
        x = tl.load(p + offsets, mask=mask, other=0)
    if WORK == tl.float32:
        x = x.to(tl.float32)
    return x.to(COMMON).to(WORK)


@triton.jit
def kernel_fmin(
    a_ptr, b_ptr, out_ptr, n, A_NUMBER: tl.constexpr, A_DOUBLE: tl.constexpr, B_NUMBER: tl.constexpr,
    B_DOUBLE: tl.constexpr, COMMON: tl.constexpr, WORK: tl.constexpr, BITS: tl.constexpr, TO_FLOAT: tl.constexpr,
    BLOCK: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        a = operand(a_ptr, offsets, mask, A_NUMBER, A_DOUBLE, COMMON, WORK, BLOCK)
        b = operand(b_ptr, offsets, mask, B_NUMBER, B_DOUBLE, COMMON, WORK, BLOCK)
        y = tl.where((a <= b) | (b != b), a, b)
        if WORK == tl.float32:
            if BITS:
                tl.store(out_ptr + offsets, wide(y), mask=mask)
            else:
                tl.store(out_ptr + offsets, y.to(COMMON), mask=mask)
        elif BITS:
            tl.store(out_ptr + offsets, wide_integer(y), mask=mask)
        elif TO_FLOAT:
            tl.store(out_ptr + offsets, y.to(tl.float32), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def given(x, shape):
    # What the kernel gets for an operand: a number, or dense memory of the result's shape.
    if not isinstance(x, torch.Tensor):
        return int(x) if isinstance(x, bool) else x
    x = aligned(x.expand(shape))
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def is_number(x):
    return not isinstance(x, torch.Tensor)


def is_double(x):
    return isinstance(x, torch.Tensor) and x.dtype == torch.float64


def wrapper(self, other, *, out):
    n = out.numel()
    if n == 0:
        return out
    types = {
        torch.float16: tl.float16,
        torch.bfloat16: tl.bfloat16,
        torch.float32: tl.float32,
        torch.float64: tl.float32,
        torch.bool: tl.int1,
        torch.uint8: tl.uint8,
        torch.int8: tl.int8,
        torch.int16: tl.int16,
        torch.int32: tl.int32,
        torch.int64: tl.int64,
    }
    dtype = torch.result_type(self, other)
    work = tl.float32 if dtype.is_floating_point else tl.int64
    bits = out.dtype == torch.float64
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_fmin[grid](
        given(self, out.shape), given(other, out.shape), result.view(torch.int64) if bits else result, n,
        A_NUMBER=is_number(self), A_DOUBLE=is_double(self), B_NUMBER=is_number(other), B_DOUBLE=is_double(other),
        COMMON=types[dtype], WORK=work, BITS=bits, TO_FLOAT=out.dtype.is_floating_point, BLOCK=1024
    )
    if not direct:
        out.copy_(result)
    return out
