# Generated: the kernel of aten::pow.Scalar_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def narrow(b):
    sign = ((b >> 63) & 1) << 31
    e = ((b >> 52) & 2047) - 896
    m = b & 0xFFFFFFFFFFFFF
    full = m | (1 << 52)
    s = tl.minimum(29 + tl.maximum(1 - e, 0), 60)
    q = full >> s
    rest = full - (q << s)
    half = (full * 0 + 1) << (s - 1)
    q += ((rest > half) | ((rest == half) & ((q & 1) == 1))).to(tl.int64)
    r = tl.minimum(((tl.maximum(e, 1) - 1) << 23) + q, 0x7F800000)
    r = tl.where((e == 2047 - 896) & (m != 0), 0x7FC00000, r)
    return (r | sign).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def wide(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    exponent = (b >> 23) & 255
    small = (b & 0x7FFFFF).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    digits = tl.where(exponent == 0, small, b)
    lifted = ((digits >> 23) & 255) + tl.where(exponent == 0, 896 - 149, 896)
    lifted = tl.where(exponent == 255, 2047, lifted)
    number = (lifted << 52) | ((digits & 0x7FFFFF) << 29)
    return ((b & 0x80000000) << 32) | tl.where(small + exponent == 0, 0, number)


@triton.jit
def power(x, e, mask):
    inverse = tl.where(x == 1, 1, tl.where(x == -1, 1 - 2 * (e & 1), 0))
    left = tl.where(mask & (e > 0), e, 0)
    result = x * 0 + 1
    base = x
    top = tl.max(left, axis=0)
    while top > 0:
        result = tl.where((left & 1) == 1, result * base, result)
        base = base * base
        left = left >> 1
        top = top >> 1
    return tl.where(e < 0, inverse, result)


@triton.jit
def kernel_pow(base, y_ptr, out_ptr, n, WHOLE: tl.constexpr, Y64: tl.constexpr, DT: tl.constexpr,
               FLOAT: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    if WHOLE:
        x = tl.full([BLOCK], base, dtype=tl.int64).to(DT)
    else:
        x = tl.full([BLOCK], base, dtype=tl.float32).to(DT)
    if FLOAT:
        x = x.to(tl.float32)
    else:
        x = x.to(tl.int64)
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        y = tl.load(y_ptr + offsets, mask=mask, other=0)
        if Y64:
            y = narrow(y)
        if FLOAT:
            r = libdevice.pow(x, y.to(DT).to(tl.float32)).to(DT)
        else:
            r = power(x, y.to(DT).to(tl.int64), mask).to(DT)
        if BITS:
            tl.store(out_ptr + offsets, wide(r.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, r, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def block_type(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    if dtype.is_floating_point:
        return tl.float32
    if dtype == torch.int8:
        return tl.int8
    if dtype == torch.int16:
        return tl.int16
    if dtype == torch.int32:
        return tl.int32
    if dtype == torch.uint8:
        return tl.uint8
    return tl.int64


def wrapper(self, exponent, *, out):
    n = out.numel()
    if n == 0:
        return out
    dtype = torch.result_type(self, exponent)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    whole = not isinstance(self, float)
    y = aligned(exponent)
    y64 = y.dtype == torch.float64
    bits = out.dtype == torch.float64
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_pow[grid](
        int(self) if whole else self, y.view(torch.int64) if y64 else y, result.view(torch.int64) if bits else result,
        n, WHOLE=whole, Y64=y64, DT=block_type(dtype), FLOAT=dtype.is_floating_point, BITS=bits, BLOCK=1024,
    )
    if not direct:
        out.copy_(result)
    return out
