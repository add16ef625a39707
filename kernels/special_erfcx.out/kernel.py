# Generated: the kernel of aten::special_erfcx.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def erfcx(x):
    size = tl.abs(x)
    a = tl.where(size < 10000.0, size, 10000.0)
    # q = (a - 2) / (a + 2) with a correction, from [0, inf) to [-1, 1).
    r = tl.div_rn(tl.full(a.shape, 1.0, tl.float32), a + 2.0)
    q = (a - 2.0) * r
    t = tl.fma(q + 1.0, -2.0 + a * 0.0, a)
    e = tl.fma(q, -a, t)
    q = tl.fma(r, e, q)
    # (1 + 2 a) exp(a a) erfc(a) is 1 + p(q).
    p = 5.92470169e-5 + q * 0.0
    p = tl.fma(p, q, q * 0.0 + 1.61224554e-4)
    p = tl.fma(p, q, q * 0.0 - 3.46481771e-4)
    p = tl.fma(p, q, q * 0.0 - 1.39681227e-3)
    p = tl.fma(p, q, q * 0.0 + 1.20588380e-3)
    p = tl.fma(p, q, q * 0.0 + 8.69014394e-3)
    p = tl.fma(p, q, q * 0.0 - 8.01387429e-3)
    p = tl.fma(p, q, q * 0.0 - 5.42122945e-2)
    p = tl.fma(p, q, q * 0.0 + 1.64048523e-1)
    p = tl.fma(p, q, q * 0.0 - 1.66031078e-1)
    p = tl.fma(p, q, q * 0.0 - 9.27637145e-2)
    p = tl.fma(p, q, q * 0.0 + 2.76978403e-1)
    r = tl.div_rn(tl.full(a.shape, 0.5, tl.float32), a + 0.5)
    q = tl.fma(p, r, r)
    e = (p - q) + tl.fma(q + q, -a, a * 0.0 + 1.0)
    y = tl.fma(e, r, q)
    far = tl.div_rn(tl.full(a.shape, 0.5641895835477563, tl.float32), tl.where(size < 10000.0, 1.0, size))
    y = tl.where(size < 10000.0, y, far)
    # erfcx(x) is 2 exp(x x) - erfcx(-x) for negative x.
    # From 9.4 on that is infinite; up to there no step on the way is.
    c = tl.where(size < 9.4, size, 9.4)
    s = c * c
    low = tl.fma(c, c, -s)
    g = libdevice.exp(s)
    other = (g - y) + tl.fma(g, low + low, g)
    other = tl.where(size < 9.4, other, float("inf"))
    y = tl.where(x < 0.0, other, y)
    return tl.where(x != x, x, y)


@triton.jit
def kernel_erfcx(x_ptr, out_ptr, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        y = erfcx(x)
        if BITS:
            tl.store(out_ptr + offsets, wide(y), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, *, out):
    n = out.numel()
    if n == 0:
        return out
    bits = out.dtype == torch.float64
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_erfcx[grid](aligned(self), result.view(torch.int64) if bits else result, n, BITS=bits, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
