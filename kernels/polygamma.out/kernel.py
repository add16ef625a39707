# Generated: the kernel of aten::polygamma.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def digamma(x, BLOCK: tl.constexpr):
    zero = tl.zeros([BLOCK], dtype=tl.float32)
    whole = tl.floor(x) == x
    negative = x < 0
    p = tl.where(negative, 1.0 - x, x)
    p = tl.where(p == 0, 1.0, p)
    # From ten on, the asymptotic series.
    far = tl.where(p >= 10.0, p, 10.0)
    inv = tl.div_rn(zero + 1.0, far)
    z = inv * inv
    series = z * (0.083333333333 - z * (0.0083333333333 - z * (0.0039682539683 - z * 0.0041666666667)))
    distant = libdevice.log(far) - 0.5 * inv - series
    # Below, recurrence into [1, 2], where the root is a factor.
    q = tl.where(p < 10.0, p, 1.5)
    acc = tl.where(q < 1.0, tl.div_rn(zero - 1.0, q), 0.0)
    q = tl.where(q < 1.0, q + 1.0, q)
    for k in range(0, 9):
        high = q > 2.0
        q = tl.where(high, q - 1.0, q)
        acc = tl.where(high, acc + tl.div_rn(zero + 1.0, q), acc)
    t = q - 1.0
    g = (q - 1.46163177490234375) - 0.37006601859126265e-6
    up = 0.25479851023250261 + t * (-0.44981331915268368 + t * (-0.43916936919946835 + t * -0.061041765350579073))
    down = 1.0 + t * (1.5890202430554952 + t * (0.65341249856146947 + t * 0.063851690523355715))
    near = acc + (g * 0.99558162689208984 + g * tl.div_rn(up, down))
    y = tl.where(p >= 10.0, distant, near)
    # Reflection, with the tangent's argument reduced exactly.
    r = x - libdevice.rint(x)
    safe = tl.where(negative & (r != 0) & (r == r), r, 0.25)
    cot = tl.div_rn(libdevice.cospi(safe), libdevice.sinpi(safe))
    y = tl.where(negative, y - 3.14159265358979 * cot, y)
    y = tl.where(negative & whole, float("nan"), y)
    y = tl.where(x == 0, -libdevice.copysign(zero + float("inf"), x), y)
    return tl.where(x != x, x, y)


@triton.jit
def hurwitz(q, e, s, count, c, c_inv, k0, k2, k3, k4, k5, k6, BLOCK: tl.constexpr):
    # The sum of ((q + e + k) / c) ** -s over all k >= 0, for positive q; e is what q lost to rounding.
    zero = tl.zeros([BLOCK], dtype=tl.float32)
    total = zero
    lost = zero
    for k in range(0, count):
        kf = zero + k
        a = q + kf
        bb = a - q
        err = (q - (a - bb)) + (kf - bb) + e
        t = libdevice.pow(a * c_inv, zero - s) * (1.0 - s * tl.div_rn(err, a))
        both = total + t
        low = tl.where(total >= t, (total - both) + t, (t - both) + total)
        lost += tl.where(both == float("inf"), 0.0, low)
        total = both
    kf = zero + count
    a = q + kf
    bb = a - q
    err = (q - (a - bb)) + (kf - bb) + e
    lead = libdevice.pow(a * c_inv, zero + (1.0 - s)) * (1.0 + (1.0 - s) * tl.div_rn(err, a))
    r = tl.div_rn(zero + 1.0, a)
    z = r * r
    series = k0 + (0.5 * r + z * (k2 + z * (k3 + z * (k4 + z * (k5 + z * k6)))))
    return total + (lost + lead * c * series)


@triton.jit
def kernel_polygamma(x_ptr, out_ptr, n, s, count, c, c_inv, factor, k0, k2, k3, k4, k5, k6, ORDER: tl.constexpr,
                     RESULT: tl.constexpr, X64: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    # ORDER: 0, 1, 2 for two and all other even ones, 3 for three and all other odd ones.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0)
        if X64:
            x = narrow(x)
        x = tl.where(mask, x.to(tl.float32), 1.0)
        if ORDER == 0:
            y = digamma(x, BLOCK)
        else:
            zero = tl.zeros([BLOCK], dtype=tl.float32)
            floor = tl.floor(x)
            usual = (x == x) & (tl.abs(x) != float("inf"))
            pole = (x <= 0) & (x == floor)
            below = usual & (x < 0) & (x != floor)
            fine = usual & (x > 0)
            r = tl.where(below, x - floor, tl.where(fine, x, 1.0))
            e = tl.where(below, x - (r + floor), 0.0)
            y = hurwitz(r, e, s, count, c, c_inv, k0, k2, k3, k4, k5, k6, BLOCK)
            if tl.max(below.to(tl.int32), axis=0) > 0:
                # The terms before the first positive one, counted from the other side.
                q2 = tl.where(below, tl.where(x > -1.0, -x, 1.0 - r), 1.0)
                up = tl.where(below, -x, 1.0)
                q3 = 1.0 + up
                bb = q3 - 1.0
                e3 = (1.0 - (q3 - bb)) + (up - bb)
                other = hurwitz(q2, zero, s, count, c, c_inv, k0, k2, k3, k4, k5, k6, BLOCK)
                other = other - hurwitz(q3, e3, s, count, c, c_inv, k0, k2, k3, k4, k5, k6, BLOCK)
                if ORDER == 2:
                    other = -other
                y = tl.where(below, y + other, y)
            y = y * factor
            y = tl.where(pole, float("inf"), y)
            if ORDER == 1:
                # At the poles below zero PyTorch's trigamma has the square of the sine of pi * x as rounded in
                # float32, which is not zero: its result is finite there.
                below_pole = pole & (x < 0) & usual
                angle = tl.where(below_pole, x, 1.0) * 3.14159274101257324
                sine = tl.sin(angle)
                y = tl.where(below_pole, tl.div_rn(zero + 9.86960506439208984, sine * sine), y)
                y = tl.where(x == float("inf"), 0.0, y)
                y = tl.where(x == -float("inf"), float("nan"), y)
            else:
                y = tl.where(x == float("inf"), float("nan"), y)
            if ORDER == 2:
                y = -y
            y = tl.where(x != x, x, y)
        y = y.to(RESULT)
        if BITS:
            tl.store(out_ptr + offsets, wide(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(n, self, *, out):
    total = out.numel()
    if total == 0:
        return out
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    x = aligned(self)
    x64 = x.dtype == torch.float64
    bits = out.dtype == torch.float64
    dtype = self.dtype if self.is_floating_point() else torch.get_default_dtype()
    rounded = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
    s = n + 1
    # n! = factor * c ** s, with a power of two c: the powers then stay within float32 where the result does.
    m = int(math.floor(math.lgamma(n + 1.0) / math.log(2.0) / s + 1e-9))
    factor = math.factorial(n) / 2 ** (m * s)
    p1 = s * (s + 1) * (s + 2)
    p2 = p1 * (s + 3) * (s + 4)
    p3 = p2 * (s + 5) * (s + 6)
    p4 = p3 * (s + 7) * (s + 8)
    grid = (min(triton.cdiv(total, 512), 8192),)
    kernel_polygamma[grid](
        x.view(torch.int64) if x64 else x, result.view(torch.int64) if bits else result, total,
        float(s), 10 + n, 2.0 ** m, 2.0 ** -m, float(factor), 1.0 / max(n, 1), s / 12.0, -p1 / 720.0, p2 / 30240.0,
        -p3 / 1209600.0, p4 / 47900160.0,
        ORDER=n if n < 2 else 2 + n % 2, RESULT=rounded, X64=x64, BITS=bits, BLOCK=512,
    )
    if not direct:
        out.copy_(result)
    return out
