# Generated: the kernel of aten::special_zeta.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_fill(ptr, v):
    tl.store(ptr + tl.arange(0, 8), tl.zeros([8], dtype=tl.float32) + v)


@triton.jit
def hurwitz(x, q):
    # Euler-Maclaurin for q > 0 and x > 1, with nine terms before it; the smallest are added first.
    w = q + 9.0
    b = libdevice.pow(w, -x)
    some = b > 0
    xs = tl.where(some, x, 2.0)
    r = 1.0 / w
    z = b * (xs * r)
    s = z / 12.0
    z = z * ((xs + 1.0) * r) * ((xs + 2.0) * r)
    s -= z / 720.0
    z = z * ((xs + 3.0) * r) * ((xs + 4.0) * r)
    s += z / 30240.0
    z = z * ((xs + 5.0) * r) * ((xs + 6.0) * r)
    s -= z / 1209600.0
    z = z * ((xs + 7.0) * r) * ((xs + 8.0) * r)
    s += z / 47900160.0
    z = z * ((xs + 9.0) * r) * ((xs + 10.0) * r)
    s -= z / 1.8924375803183791606e9
    z = z * ((xs + 11.0) * r) * ((xs + 12.0) * r)
    s += z / 7.47242496e10
    s = tl.where(some, s + 0.5 * b, b)
    tail = libdevice.pow(w, -(x - 1.0)) / (x - 1.0)
    s = s + tail
    for step in tl.static_range(0, 8):
        n = 8.0 - step
        a = q + n
        # What the sum a lost of q + n moves the power by -x * lost / a.
        part = a - q
        lost = (q - (a - part)) + (n - part)
        move = x * (lost / a)
        p = libdevice.pow(a, -x)
        p = tl.where(tl.abs(move) < 0.1, p - p * move, p)
        s = s + p
    return s + libdevice.pow(q, -x)


@triton.jit
def kernel_zeta(x_ptr, q_ptr, out_ptr, n, tiles, HALF: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
        offsets = tile * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=2).to(tl.float32)
        q = tl.load(q_ptr + offsets, mask=mask, other=1).to(tl.float32)
        nan = float("nan")
        inf = float("inf")
        negative = q <= 0.0
        whole = q == tl.floor(q)
        one = tl.zeros([BLOCK], dtype=tl.float32) + 1.0
        xx = tl.where(x > 1.0, x, 2.0)
        positive = hurwitz(xx, tl.where(q > 0.0, q, one))
        # Below zero, where x is an integer: the terms are those of r, r + 1, ... -q with a sign, and those from 1 - r on.
        away = tl.where(negative & (whole == 0), -q, 0.5)
        r = away - tl.floor(away)
        even = xx * 0.5 == tl.floor(xx * 0.5)
        up = hurwitz(xx, 1.0 - r)
        down = hurwitz(xx, r)
        far = hurwitz(xx, away + 1.0)
        both = up + (down - far)
        gap = tl.where(r == 0.5, 0.0, up - down)
        below = tl.where(even, both, gap + far)
        y = tl.where(negative, below, positive)
        y = tl.where((x > 2.5e13) & (q > 1.0), nan, y)
        y = tl.where((q == inf) | (q != q) | (x != x), nan, y)
        y = tl.where(negative & (x != tl.floor(x)), nan, y)
        y = tl.where(negative & whole, inf, y)
        y = tl.where(x < 1.0, nan, y)
        y = tl.where(x == 1.0, inf, y)
        y = y.to(HALF)
        if WIDE:
            v = y.to(tl.float32)
            small = tl.abs(v) < 1.17549435e-38
            big = tl.where(small, v * 4294967296.0, v)
            b = big.to(tl.int32, bitcast=True).to(tl.int64)
            sign = (b & 0x80000000) << 32
            bias = tl.where(small, 864, 896).to(tl.int64)
            bits = sign | ((((b >> 23) & 255) + bias) << 52) | ((b & 0x7fffff) << 29)
            bits = tl.where(v == 0.0, sign, bits)
            top = tl.full([BLOCK], 2047, dtype=tl.int64) << 52
            bits = tl.where(tl.abs(v) == inf, sign | top, bits)
            bits = tl.where(v != v, top | (top >> 1), bits)
            tl.store(out_ptr + offsets, bits, mask=mask)
        else:
            tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def prepared(x, out):
    if not torch.is_tensor(x):
        number = torch.empty([8], dtype=torch.float32, device=out.device)
        kernel_fill[(1,)](number, float(x))
        x = number[:1].reshape([])
    x = x.expand(list(out.shape)).contiguous()
    if x.storage_offset() * x.element_size() % 32 != 0:
        x = x.clone()
    return x.view(torch.uint8) if x.dtype == torch.bool else x


def wrapper(self, other, *, out):
    n = out.numel()
    if n == 0:
        return out
    kind = torch.result_type(self, other)
    half = tl.bfloat16 if kind == torch.bfloat16 else tl.float16 if kind == torch.float16 else tl.float32
    x = prepared(self, out)
    q = prepared(other, out)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    wide = result.dtype == torch.float64
    target = result.view(torch.int64) if wide else result
    block = 256
    tiles = triton.cdiv(n, block)
    kernel_zeta[(min(tiles, 4096),)](x, q, target, n, tiles, HALF=half, WIDE=wide, BLOCK=block)
    if not direct:
        out.copy_(result)
    return out
