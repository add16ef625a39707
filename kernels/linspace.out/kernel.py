# Generated: the kernel of aten::linspace.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_real(out_ptr, left, right, high, low, steps, half, PLAIN: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    hop = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, steps, hop):
        idx = start + tl.arange(0, BLOCK)
        rising = idx < half
        k = tl.where(rising, idx, steps - 1 - idx).to(tl.float32)
        edge = tl.where(rising, left, right)
        hi = tl.where(rising, high, -high)
        p = k * hi
        v = edge + p
        if not PLAIN:
            # the step has two parts, and what the product and the sum lose is added again
            lo = tl.where(rising, low, -low)
            b = v - edge
            lost = (edge - (v - b)) + (p - b)
            v = v + (lost + (tl.fma(k, hi, -p) + k * lo))
            v = tl.where(k == 0.0, edge, v)
        tl.store(out_ptr + idx, v.to(out_ptr.dtype.element_ty), mask=idx < steps)


@triton.jit
def bits(x):
    big = x >= 4294967296
    b = tl.where(big, 32, 0)
    x = tl.where(big, x >> 32, x)
    big = x >= 65536
    b += tl.where(big, 16, 0)
    x = tl.where(big, x >> 16, x)
    big = x >= 256
    b += tl.where(big, 8, 0)
    x = tl.where(big, x >> 8, x)
    big = x >= 16
    b += tl.where(big, 4, 0)
    x = tl.where(big, x >> 4, x)
    big = x >= 4
    b += tl.where(big, 2, 0)
    x = tl.where(big, x >> 2, x)
    big = x >= 2
    b += tl.where(big, 1, 0)
    x = tl.where(big, x >> 1, x)
    return b.to(tl.int64) + x


@triton.jit
def kernel_whole(out_ptr, left, right, m1, m0, exponent, steps, half, NEGATIVE: tl.constexpr, BLOCK: tl.constexpr):
    # The step is +-(m1 * 2 ** 27 + m0) * 2 ** exponent: PyTorch's arithmetic in doubles, done with integers.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    hop = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, steps, hop):
        idx = start + tl.arange(0, BLOCK)
        rising = idx < half
        k = tl.maximum(tl.where(rising, idx, steps - 1 - idx), 0)
        one = k * 0 + 1
        edge = tl.where(rising, left, right).to(tl.int64)
        # the product, rounded to 53 bits
        lo = k * m0
        hi = k * m1 + (lo >> 27)
        lo = lo & 134217727
        x = tl.maximum(bits(hi) - 26, 0)
        b = tl.maximum(x - 27, 0)
        a = tl.minimum(x, 27)
        top = hi >> b
        q = (top << (27 - a)) | (lo >> a)
        rem = ((hi - (top << b)) << 27) | (lo - ((lo >> a) << a))
        mid = (one << x) >> 1
        q += tl.where((rem > mid) | ((rem == mid) & (x > 0) & ((q & 1) == 1)), 1, 0)
        # its whole part, and g of 2 ** f parts of one
        f = x + exponent
        q = q << tl.minimum(tl.maximum(f, 0), 62)
        f = tl.maximum(-f, 0)
        c = tl.minimum(tl.maximum(f - 62, 0), 62)
        s = q >> c
        q = tl.where((s << c) != q, s | 1, s)
        f = tl.minimum(f, 62)
        whole = q >> f
        g = q - (whole << f)
        unit = one << f
        # the sum, as the base and a fraction
        if NEGATIVE:
            minus = idx < half
        else:
            minus = idx >= half
        base = tl.where(minus, edge - whole - tl.where(g > 0, 1, 0), edge + whole)
        g = tl.where(minus & (g > 0), unit - g, g)
        # its magnitude, rounded to 53 bits and cut
        below = base < 0
        n = tl.where(below, -base - tl.where(g > 0, 1, 0), base)
        g = tl.where(below & (g > 0), unit - g, g)
        size = bits(n)
        sh = size - 54 + f
        carry = (g > 0) & (sh >= 0) & (unit - g <= (one << tl.minimum(tl.maximum(sh, 0), 62)))
        z = tl.minimum(tl.maximum(size - 53, 0), 11)
        t = n >> z
        r = n - (t << z)
        mid = (one << z) >> 1
        up = (r > mid) | ((r == mid) & ((g > 0) | ((t & 1) == 1)))
        n = tl.where(z > 0, (t + tl.where(up, 1, 0)) << z, n + tl.where(carry, 1, 0))
        v = tl.where(below, -n, n)
        tl.store(out_ptr + idx, v.to(out_ptr.dtype.element_ty), mask=idx < steps)


def rounded(v, digits, least):
    """A number as the nearest one of so many binary digits."""
    if v == 0.0 or not math.isfinite(v):
        return v
    unit = max(math.frexp(v)[1] - digits, least)
    return math.ldexp(float(round(math.ldexp(v, -unit))), unit)


def wrapper(start, end, steps, *, out):
    if out.numel() != steps:
        out.resize_([steps])
    if steps == 0:
        return out
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    grid = (min(triton.cdiv(steps, 512), 4096),)
    if out.is_floating_point():
        digits, least = (11, -24) if out.dtype == torch.float16 else (8, -133) if out.dtype == torch.bfloat16 else (24, -149)
        left = rounded(float(start), digits, least)
        right = rounded(float(end), digits, least) if steps > 1 else left
        step = (right - left) / (steps - 1) if steps > 1 else 0.0
        plain = not math.isfinite(step)
        if steps == 2 and not plain:
            step = 0.0
        high = rounded(step, 24, -149)
        low = 0.0 if plain else step - high
        kernel_real[grid](result, left, right, high, low, steps, steps // 2, PLAIN=plain, BLOCK=512)
    else:
        left = int(start)
        right = int(end) if steps > 1 else left
        if out.dtype == torch.uint8:
            left, right = left & 255, right & 255
        step = (float(right) - float(left)) / (steps - 1) if steps > 1 else 0.0
        fraction, exponent = math.frexp(abs(step))
        mantissa = int(math.ldexp(fraction, 53))
        left = min(int(float(left)), 9223372036854775807)
        right = min(int(float(right)), 9223372036854775807)
        kernel_whole[grid](result, left, right, mantissa >> 27, mantissa & 134217727, exponent - 53, steps, steps // 2,
                           NEGATIVE=step < 0, BLOCK=512)
    if not direct:
        out.copy_(result)
    return out
