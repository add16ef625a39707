# Generated: the kernel of aten::igamma.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
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
def lgam1p(a):
    # log(gamma(1 + a)).
    s = tl.where(a < 0.3, a, 0.0)
    p = -0.0769325 + s * 0.0714294
    p = 0.0833538 + s * p
    p = -0.0909540 + s * p
    p = 0.1000994 + s * p
    p = -0.1113342 + s * p
    p = 0.1255096 + s * p
    p = -0.14404990 + s * p
    p = 0.16955718 + s * p
    p = -0.20738555 + s * p
    p = 0.27058081 + s * p
    p = -0.40068563 + s * p
    p = 0.82246703 + s * p
    p = -0.57721566 + s * p
    return tl.where(a < 0.3, s * p, libdevice.lgamma(1.0 + a))


@triton.jit
def both(a, x):
    # P and Q for a > 0 and x > 0, both finite.
    mu = tl.minimum((x - a) / a, 1e30)
    r = mu / (2.0 + mu)
    q = r * r
    s = 1.0 / 15.0 + q * 0.0
    s = 1.0 / 13.0 + q * s
    s = 1.0 / 11.0 + q * s
    s = 1.0 / 9.0 + q * s
    s = 1.0 / 7.0 + q * s
    s = 1.0 / 5.0 + q * s
    s = 1.0 / 3.0 + q * s
    near = tl.abs(mu) < 0.4
    phi = tl.where(near, r * mu - 2.0 * r * q * s, mu - tl.log(tl.maximum(x / a, 1e-36)))
    phi = tl.maximum(phi, 0.0)
    # d = x ** a * exp(-x) / gamma(1 + a)
    big = tl.maximum(a, 3.0)
    v = 1.0 / (big * big)
    delta = (1.0 / 12.0 - v * (1.0 / 360.0 - v * (1.0 / 1260.0 - v * (1.0 / 1680.0 - v * (1.0 / 1188.0))))) / big
    few = tl.minimum(a, 3.0)
    logx = tl.log(x)
    g = lgam1p(few)
    # Powers are taken apart and in roots, for an exponent's rounding is the result's relative error.
    ratio = x / a
    root = tl.where(a < 50.0, 0.5, 0.125)
    h = libdevice.pow(ratio, big * root) * tl.exp((a - x) * root)
    h = h * h
    h = tl.where(a < 50.0, h, (h * h) * (h * h))
    h = tl.where(a * phi > 110.0, 0.0, h)
    h = tl.where(near, tl.exp(0.0 - a * phi), h)
    h = h * (tl.exp(0.0 - delta) / (2.5066283 * tl.sqrt(big)))
    kk = libdevice.pow(x, few * 0.5) * tl.exp((0.0 - x - g) * 0.5)
    kk = tl.where(x > 250.0, 0.0, kk * kk)
    d = tl.where(a >= 3.0, h, kk)
    # The series, for x below a or small.
    small_x = x <= 1.1
    direct = tl.where(small_x, a > tl.where(x <= 0.5, -0.4 / tl.minimum(logx, -0.1), x * 1.1), x < a)
    sx = tl.where((x <= a) | small_x, x, a)
    term = tl.zeros_like(x) + 1.0
    total = tl.zeros_like(x) + 1.0
    n = 0.0
    for k in range(100):
        n += 1.0
        term = term * (sx / (a + n))
        total += term
    p = d * total
    # The alternating series of the upper function, for small x and a.
    ax = tl.where(small_x, x, 1.0)
    aa = tl.where(small_x, few, 1.0)
    fac = tl.zeros_like(x) + 1.0
    alt = tl.zeros_like(x)
    n = 0.0
    for k in range(20):
        n += 1.0
        fac = fac * (0.0 - ax / n)
        alt += fac / (aa + n)
    e = few * logx - g
    q_small = 0.0 - libdevice.expm1(e) - few * tl.exp(e) * alt
    # The continued fraction of the upper function, for x above a.
    cx = tl.where((x > 1.1) & (x >= a), x, 2.0)
    ca = tl.where((x > 1.1) & (x >= a), a, 1.0)
    b = cx + 1.0 - ca
    c = tl.zeros_like(x) + 1e30
    f = 1.0 / b
    h = f
    n = 0.0
    for k in range(100):
        n += 1.0
        an = 0.0 - n * (n - ca)
        b += 2.0
        f = an * f + b
        f = tl.where(tl.abs(f) < 1e-30, 1e-30, f)
        c = b + an / c
        c = tl.where(tl.abs(c) < 1e-30, 1e-30, c)
        f = 1.0 / f
        h = h * (f * c)
    q_far = tl.where(d == 0.0, 0.0, d * a * h)
    q_far = tl.where((a >= 3.0) & (mu > 1e6), 0.0, q_far)
    upper = tl.where(small_x, q_small, q_far)
    low = tl.where(direct, p, 1.0 - upper)
    high = tl.where(direct, 1.0 - p, upper)
    low = tl.where(small_x, tl.where(x > a, tl.where(x > 1.0, 1.0 - upper, p), p), low)
    # Both near each other and large: Temme's expansion.
    t = tl.where(near & (a > 20.0), phi, 0.0)
    eta = tl.sqrt(2.0 * t)
    eta = tl.where(mu < 0.0, 0.0 - eta, eta)
    c0 = 8.29671134e-07 + eta * (-1.76659527e-07 + eta * 6.70785354e-09)
    c0 = 3.91926318e-05 + eta * (-2.18544851e-06 + eta * (-1.85406221e-06 + eta * c0))
    c0 = 1.15740741e-03 + eta * (3.52733686e-04 + eta * (-1.78755144e-04 + eta * c0))
    c0 = -0.333333333 + eta * (0.0833333333 + eta * (-0.0148148148 + eta * c0))
    c1 = -1.80985503e-05 + eta * (7.64916092e-06 + eta * -1.61200901e-06)
    c1 = -9.90226337e-04 + eta * (2.05761317e-04 + eta * (-4.01877572e-07 + eta * c1))
    c1 = -1.85185185e-03 + eta * (-3.47222222e-03 + eta * (2.64550265e-03 + eta * c1))
    c2 = 2.00938786e-06 + eta * (-1.07366532e-04 + eta * 5.29234488e-05)
    c2 = 4.13359788e-03 + eta * (-2.68132716e-03 + eta * (7.71604938e-04 + eta * c2))
    c3 = 6.49434156e-04 + eta * (2.29472094e-04 + eta * -4.69189494e-04)
    w = 1.0 / tl.maximum(a, 20.0)
    series = c0 + w * (c1 + w * (c2 + w * c3))
    wide_a = tl.maximum(a, 20.0)
    rest = tl.exp(0.0 - wide_a * t) / (2.5066283 * tl.sqrt(wide_a)) * series
    arg = eta * tl.sqrt(wide_a) * 0.70710678
    temme = near & (a > 20.0)
    # exp(y ** 2) * erfc(y) by its continued fraction, where erfc alone is too small to be exact.
    y = tl.maximum(0.0 - arg, 2.0)
    tail = y
    n = 41.0
    for turn in range(40):
        n -= 1.0
        tail = y + n * 0.5 / tail
    scaled = 0.56418958 / tail
    down = tl.exp(0.0 - wide_a * t)
    deep = down * (0.5 * scaled - series / (2.5066283 * tl.sqrt(wide_a)))
    low = tl.where(temme, tl.where(arg < -2.0, deep, 0.5 * libdevice.erfc(0.0 - arg) - rest), low)
    high = tl.where(temme, 0.5 * libdevice.erfc(arg) + rest, high)
    return low, high


@triton.jit
def kernel_igamma(a_ptr, x_ptr, out_ptr, n, T: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    inf = float("inf")
    nan = float("nan")
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        a = tl.load(a_ptr + i, mask=mask, other=1).to(T).to(tl.float32)
        x = tl.load(x_ptr + i, mask=mask, other=1).to(T).to(tl.float32)
        plain = (a > 0.0) & (x > 0.0) & (a < inf) & (x < inf)
        low, high = both(tl.where(plain, a, 1.0), tl.where(plain, x, 1.0))
        y = tl.where(x == inf, 1.0, low)
        y = tl.where(a == inf, tl.where(x == inf, nan, 0.0), y)
        y = tl.where(x == 0.0, 0.0, y)
        y = tl.where(a == 0.0, tl.where(x > 0.0, 1.0, nan), y)
        good = (a >= 0.0) & (x >= 0.0)
        y = tl.where(good, y, nan).to(T)
        if BITS:
            tl.store(out_ptr + i, wide(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + i, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, other, *, out):
    n = out.numel()
    if n == 0:
        return out
    dtype = torch.result_type(self, other)
    a = aligned(self.expand(out.shape))
    x = aligned(other.expand(out.shape))
    kind = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    res = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    bits = out.dtype == torch.float64
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_igamma[grid](a, x, res.view(torch.int64) if bits else res, n, T=kind, BITS=bits, BLOCK=1024)
    if not direct:
        out.copy_(res)
    return out
