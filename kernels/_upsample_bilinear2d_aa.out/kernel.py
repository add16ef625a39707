# Generated: the kernel of aten::_upsample_bilinear2d_aa.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_resize(x_ptr, out_ptr, total, inner, size, outs, taps, scale, support, invscale, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        line = i // inner
        o = line % outs
        base = x_ptr + (line // outs) * size * inner + i % inner
        center = scale * (o.to(tl.float32) + 0.5)
        low = tl.maximum((center - support + 0.5).to(tl.int64), 0)
        high = tl.minimum((center + support + 0.5).to(tl.int64), size)
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        weights = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, taps):
            at = low + j
            ok = mask & (at < high)
            w = 1.0 - tl.abs((at.to(tl.float32) - center + 0.5) * invscale)
            w = tl.where(ok & (w > 0.0), w, 0.0)
            x = tl.reshape(tl.load((base + at * inner)[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
            acc += tl.where(ok, w * x, 0.0)
            weights += w
        acc = tl.div_rn(acc, tl.where(weights > 0.0, weights, 1.0))
        tl.store(out_ptr + i, acc, mask=mask)


@triton.jit
def lowest(i, P, Q):
    # The first element below the filter: the centre, P / Q * (i + 1 / 2), less its support.
    top = P * (2 * i + 1) - 2 * tl.maximum(P, Q) + Q
    return tl.maximum(top, 0) // (2 * Q)


@triton.jit
def share(at, i, P, Q, size):
    # The triangle at an element, times 2 * max(P, Q).
    n = 2 * tl.maximum(P, Q) - tl.abs((2 * at + 1) * Q - P * (2 * i + 1))
    return tl.where(at < size, tl.maximum(n, 0), 0)


@triton.jit
def kernel_precision(precision_ptr, outs, size, taps, p_ptr, BLOCK: tl.constexpr):
    P = tl.load(p_ptr)
    Q = tl.load(p_ptr + 1)
    least = tl.full([BLOCK], 22, tl.int32)
    for start in range(0, outs, BLOCK):
        i = (start + tl.arange(0, BLOCK)).to(tl.int64)
        low = lowest(i, P, Q)
        total = tl.zeros([BLOCK], tl.int64)
        most = tl.zeros([BLOCK], tl.int64)
        for j in range(0, taps):
            n = share(low + j, i, P, Q, size)
            total += n
            most = tl.maximum(most, n)
        found = tl.full([BLOCK], 22, tl.int32)
        for back in range(0, 22):
            p = 21 - back
            found = tl.where((most << (p + 2)) >= total * 65535, p, found)
        least = tl.minimum(least, tl.where((i < outs) & (total > 0), found, 22))
    tl.store(precision_ptr, tl.min(least, axis=0))


@triton.jit
def kernel_fraction(p_ptr, P, Q):
    tl.store(p_ptr, tl.zeros([], tl.int64) + P)
    tl.store(p_ptr + 1, tl.zeros([], tl.int64) + Q)


@triton.jit
def kernel_bytes(x_ptr, out_ptr, precision_ptr, p_ptr, all, inner, size, outs, taps, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    precision = tl.load(precision_ptr)
    P = tl.load(p_ptr)
    Q = tl.load(p_ptr + 1)
    for start in range(first, all, step):
        at = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = at < all
        line = at // inner
        i = line % outs
        base = x_ptr + (line // outs) * size * inner + at % inner
        low = lowest(i, P, Q)
        total = tl.zeros([BLOCK], tl.int64)
        for j in range(0, taps):
            total += share(low + j, i, P, Q, size)
        total = tl.maximum(total, 1)
        acc = tl.zeros([BLOCK], tl.int64) + ((tl.zeros([BLOCK], tl.int64) + 1) << (precision - 1))
        for k in range(0, taps):
            n = share(low + k, i, P, Q, size)
            weight = ((n << (precision + 1)) + total) // (2 * total)
            x = tl.load((base + (low + k) * inner)[:, None], mask=(mask & (low + k < size))[:, None], other=0)
            acc += tl.reshape(x, [BLOCK]).to(tl.int64) * weight
        acc = tl.minimum(tl.maximum(acc >> precision, 0), 255)
        tl.store(out_ptr + at, acc.to(tl.uint8), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def ratio(size, outs, align_corners, given):
    if size == outs:  # such an axis is copied, whatever scale is given
        return 1.0
    if align_corners:
        return (size - 1) / (outs - 1) if outs > 1 else 0.0
    if given is not None and given > 0:
        return 1.0 / given
    return size / outs


def resize(x, out, inner, size, outs, align_corners, given):
    scale = ratio(size, outs, align_corners, given)
    support = scale if scale >= 1.0 else 1.0
    invscale = 1.0 / scale if scale >= 1.0 else 1.0
    taps = min(math.ceil(support) * 2 + 1, size)
    total = out.numel()
    kernel_resize[(min(triton.cdiv(total, 512), 4096),)](
        x, out, total, inner, size, outs, taps, float(scale), float(support), float(invscale), BLOCK=512
    )


def fraction(size, outs, align_corners, given):
    if size == outs:
        return 1, 1
    if align_corners:
        return (size - 1, outs - 1) if outs > 1 else (0, 1)
    if given is not None and given > 0:
        scale, below = 1.0 / given, 1 << 30
        while scale * scale * below > 1 << 44 and below > 1:
            below //= 2
        return round(scale * below), below
    return size, outs


def resize_bytes(x, out, inner, size, outs, align_corners, given):
    above, below = fraction(size, outs, align_corners, given)
    taps = min((-(-above // below) if above > below else 1) * 2 + 1, size)
    p = torch.empty((2,), dtype=torch.int64, device=x.device)
    precision = torch.empty((1,), dtype=torch.int32, device=x.device)
    kernel_fraction[(1,)](p, above, below)
    kernel_precision[(1,)](precision, outs, size, taps, p, BLOCK=512)
    total = out.numel()
    kernel_bytes[(min(triton.cdiv(total, 512), 4096),)](x, out, precision, p, total, inner, size, outs, taps, BLOCK=512)


def wrapper(self, output_size, align_corners, scales_h=None, scales_w=None, *, out):
    if out.numel() == 0:
        return out
    N, C, H, W = list(self.shape)
    OH, OW = list(out.shape)[2:]
    result = torch.empty((N, C, OH, OW), dtype=out.dtype, device=self.device)
    if self.dtype == torch.uint8:
        middle = torch.empty((N, C, H, OW), dtype=torch.uint8, device=self.device)
        resize_bytes(aligned(self), middle, 1, W, OW, align_corners, scales_w)
        resize_bytes(middle, result, OW, H, OH, align_corners, scales_h)
        out.copy_(result)
        return out
    middle = torch.empty((N, C, H, OW), dtype=torch.float32, device=self.device)
    resize(aligned(self), middle, 1, W, OW, align_corners, scales_w)
    resize(middle, result, OW, H, OH, align_corners, scales_h)
    out.copy_(result)
    return out
