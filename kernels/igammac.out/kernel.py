# Generated: the kernel of aten::igammac.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def phi(a, x):
    # mu - log1p(mu) for mu = (x - a) / a, without cancellation where x is near a
    mu = (x - a) / a
    s = mu / (2.0 + mu)
    q = s * s
    p = 0.0588235294 + q * (0.0526315789 + q * 0.0476190476)
    p = 0.0909090909 + q * (0.0769230769 + q * (0.0666666667 + q * p))
    p = 0.333333333 + q * (0.2 + q * (0.142857143 + q * (0.111111111 + q * p)))
    near = mu * s - 2.0 * s * q * p
    far = mu - libdevice.log(x / a)
    return tl.where((mu >= -0.5) & (mu <= 1.0), tl.maximum(near, 0.0), far)


@triton.jit
def prefix(a, x):
    # x ** a * exp(-x) / gamma(a + 1)
    xs = tl.minimum(x, 250.0)
    sa = tl.minimum(a, 4.0)
    t = libdevice.exp(-0.5 * xs)
    small = (t * libdevice.pow(xs, sa)) * libdevice.exp(-libdevice.lgamma(sa + 1.0)) * t
    ba = tl.maximum(a, 4.0)
    y = ba * phi(ba, x)
    r = 1.0 / ba
    w = r * r
    d = r * (0.0833333333 - w * (0.00277777778 - w * (0.000793650794 - w * 0.000595238095)))
    big = libdevice.exp(-y) * (libdevice.exp(-d) / (libdevice.sqrt(ba) * 2.50662827))
    return tl.where(a < 4.0, small, big)


@triton.jit
def kernel_igammac(a_ptr, x_ptr, out_ptr, n, COMMON: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    hop = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, hop):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        a = tl.load(a_ptr + offsets, mask=mask, other=1).to(COMMON).to(tl.float32)
        x = tl.load(x_ptr + offsets, mask=mask, other=1).to(COMMON).to(tl.float32)
        inf = float("inf")
        ok = (a > 0.0) & (x > 0.0) & (a < inf) & (x < inf)
        a1 = tl.where(ok, a, 1.0)
        x1 = tl.where(ok, x, 1.0)
        logx = libdevice.log(x1)
        near = (a1 >= 20.0) & (tl.abs(x1 - a1) <= 0.4 * a1)
        tiny = (x1 <= 1.1) & tl.where(x1 <= 0.5, -a1 * logx <= 0.4, a1 <= 1.1 * x1)
        kind = tl.where(near, 0, tl.where(tiny, 1, tl.where((x1 > 1.1) & (x1 >= a1), 2, 3)))
        pre = prefix(a1, x1)

        # 0: Temme's uniform expansion, a large and x near it
        ta = tl.where(kind == 0, a1, 32.0)
        tx = tl.where(kind == 0, x1, 32.0)
        f = phi(ta, tx)
        y = ta * f
        z = libdevice.sqrt(2.0 * f)
        z = tl.where(tx < ta, -z, z)
        c0 = 0.000352733686 + z * (-0.000178755144 + z * (0.0000391926318 - z * 0.00000218544851))
        c0 = -0.333333333 + z * (0.0833333333 + z * (-0.0148148148 + z * (0.00115740741 + z * c0)))
        c1 = -0.00185185185 + z * (-0.00347222222 + z * (0.00264550265 + z * (-0.000990226338 + z * 0.000205761317)))
        c2 = 0.00413359788 + z * (-0.00268132716 + z * 0.000771604938)
        r = 1.0 / ta
        c0 = c0 + r * (c1 + r * (c2 + r * 0.000649434156))
        corr = libdevice.exp(-y) * c0 / (libdevice.sqrt(ta) * 2.50662827)
        tail = 0.5 * libdevice.erfc(libdevice.sqrt(y))
        res = tl.where(tx < ta, 1.0 - (tail - corr), tail + corr)

        # 1: small a and x, the series of the upper function itself
        la = tl.where(kind == 1, a1, 1.0)
        lx = tl.where(kind == 1, x1, 1.0)
        ll = tl.where(kind == 1, logx, 0.0)
        ga = tl.minimum(la, 0.25)
        g = 0.100099458 - ga * (0.0909540172 - ga * 0.0833538406)
        g = 0.144049897 - ga * (0.125509669 - ga * (0.111334266 - ga * g))
        g = 0.270580808 - ga * (0.207385551 - ga * (0.169557177 - ga * g))
        g = -0.577215665 + ga * (0.822467033 - ga * (0.400685634 - ga * g))
        g = tl.where(la <= 0.25, g, libdevice.lgamma(la + 1.0) / la)
        u = la * (ll - g)
        fac = tl.full([BLOCK], 1.0, tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        for k in tl.static_range(1, 15):
            fac = -fac * lx / k
            total += fac / (la + k)
        low = -libdevice.expm1(u) - la * (libdevice.exp(u) * total)
        res = tl.where(kind == 1, low, res)

        # 2: the continued fraction, by Lentz
        active = (kind == 2) & (pre > 0.0)
        ca = tl.where(active, a1, 1.0)
        cx = tl.where(active, x1, 2.0)
        b = (cx - ca) + 1.0
        d = 1.0 / b
        c = tl.full([BLOCK], 1.0e30, tl.float32)
        h = d
        live = tl.max(active.to(tl.int32), axis=0)
        i = live * 0 + 1
        while (i <= 128) & (live > 0):
            fi = i.to(tl.float32)
            an = -fi * (fi - ca)
            b += 2.0
            d = 1.0 / (an * d + b)
            c = b + an / c
            turn = c * d
            h *= turn
            live = tl.max((active & (tl.abs(turn - 1.0) > 1.5e-7)).to(tl.int32), axis=0)
            i += 1
        res = tl.where(kind == 2, tl.where(active, pre * (ca * h), 0.0), res)

        # 3: one less the series of the lower function
        slow = kind == 3
        sa = tl.where(slow, a1, 1.0)
        sx = tl.where(slow, x1, 0.0)
        term = tl.full([BLOCK], 1.0, tl.float32)
        series = tl.full([BLOCK], 1.0, tl.float32)
        live = tl.max(slow.to(tl.int32), axis=0)
        i = live * 0 + 1
        while (i <= 200) & (live > 0):
            term *= sx / (sa + i.to(tl.float32))
            series += term
            live = tl.max((term > 1.0e-8 * series).to(tl.int32), axis=0)
            i += 1
        res = tl.where(slow, 1.0 - pre * series, res)

        # The borders, as PyTorch orders its questions
        nan = float("nan")
        res = tl.where((a != a) | (x != x), nan, res)
        res = tl.where(x == inf, 0.0, res)
        res = tl.where(a == inf, tl.where(x == inf, nan, 1.0), res)
        res = tl.where(x == 0.0, 1.0, res)
        res = tl.where(a == 0.0, tl.where(x > 0.0, 0.0, nan), res)
        res = tl.where((a < 0.0) | (x < 0.0), nan, res)
        tl.store(out_ptr + offsets, res.to(COMMON).to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    x = x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()
    return x.view(torch.uint8) if x.dtype == torch.bool else x


def wrapper(self, other, *, out):
    n = out.numel()
    if n == 0:
        return out
    shape = list(out.shape)
    common = torch.result_type(self, other)
    half = tl.bfloat16 if common == torch.bfloat16 else tl.float16 if common == torch.float16 else tl.float32
    a = aligned(self.expand(shape))
    x = aligned(other.expand(shape))
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(shape, dtype=out.dtype, device=out.device)
    kernel_igammac[(min(triton.cdiv(n, 512), 4096),)](a, x, result, n, COMMON=half, BLOCK=512)
    if not direct:
        out.copy_(result)
    return out
