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
def kernel_bytes(x_ptr, out_ptr, total, inner, size, outs, taps, scale, support, one, half, unit, digits, most,
                 BLOCK: tl.constexpr):
    # As PyTorch resizes bytes: the weights are integers of `digits` binary digits behind the point, and each
    # axis is rounded to a byte. Positions are fixed-point numbers, in units of 1 / one.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        line = i // inner
        o = line % outs
        base = x_ptr + (line // outs) * size * inner + i % inner
        center = (2 * o + 1) * scale
        low = tl.maximum((center - support + half) // one, 0)
        high = tl.minimum((center + support + half) // one, size)
        weights = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, taps):
            at = low + j
            w = 1.0 - tl.abs((at * one + half - center).to(tl.float32)) * unit
            weights += tl.where((at < high) & (w > 0.0), w, 0.0)
        weights = tl.where(weights > 0.0, weights, 1.0)
        acc = tl.zeros([BLOCK], dtype=tl.int32) + most // 2
        for k in range(0, taps):
            place = low + k
            ok = mask & (place < high)
            v = 1.0 - tl.abs((place * one + half - center).to(tl.float32)) * unit
            v = tl.where(ok & (v > 0.0), v, 0.0)
            q = (tl.div_rn(v, weights) * most + 0.5).to(tl.int32)
            x = tl.reshape(tl.load((base + place * inner)[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.int32)
            acc += q * x
        acc = tl.minimum(tl.maximum(acc >> digits, 0), 255)
        tl.store(out_ptr + i, acc.to(tl.uint8), mask=mask)


def weight_digits(size, outs, scale, support, invscale):
    # How many binary digits leave the largest weight within 15 bits.
    top = 0.0
    for i in range(outs):
        center = scale * (i + 0.5)
        low = max(int(center - support + 0.5), 0)
        high = min(int(center + support + 0.5), size)
        whole = 0.0
        largest = 0.0
        for j in range(low, high):
            w = max(1.0 - abs((j - center + 0.5) * invscale), 0.0)
            whole += w
            largest = max(largest, w)
        if whole > 0.0:
            top = max(top, largest / whole)
    digits = 0
    while digits < 22 and int(0.5 + top * 2 ** (digits + 1)) < 32768:
        digits += 1
    return digits


def resize_bytes(x, out, total, inner, size, outs, taps, scale, support, invscale):
    digits = weight_digits(size, outs, scale, support, invscale)
    # As many digits behind the point as 63 bits leave room for.
    reach = int(2 * (scale * (2 * outs + 2) + 2 * support + size)) + 2
    point = max(min(37, 61 - reach.bit_length()), 1)
    one = 2 ** point
    kernel_bytes[(min(triton.cdiv(total, 512), 4096),)](
        x, out, total, inner, size, outs, taps, int(scale * one / 2 + 0.5), int(support * one + 0.5), one, one // 2,
        invscale / one, digits, 2 ** digits, BLOCK=512
    )


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def ratio(size, outs, align_corners, given):
    if align_corners:
        return (size - 1) / (outs - 1) if outs > 1 else 0.0
    if given is not None and given > 0:
        return 1.0 / given
    return size / outs


def resize(x, out, inner, size, outs, align_corners, given):
    # An axis that keeps its length is left as it is, whatever scale was given.
    scale = 1.0 if size == outs else ratio(size, outs, align_corners, given)
    support = scale if scale >= 1.0 else 1.0
    invscale = 1.0 / scale if scale >= 1.0 else 1.0
    taps = 1 if size == outs else min(math.ceil(support) * 2 + 1, size)
    total = out.numel()
    if x.dtype == torch.uint8:
        resize_bytes(x, out, total, inner, size, outs, taps, scale, support, invscale)
        return
    kernel_resize[(min(triton.cdiv(total, 512), 4096),)](
        x, out, total, inner, size, outs, taps, float(scale), float(support), float(invscale), BLOCK=512
    )


def wrapper(self, output_size, align_corners, scales_h=None, scales_w=None, *, out):
    if out.numel() == 0:
        return out
    N, C, H, W = list(self.shape)
    OH, OW = list(out.shape)[2:]
    work = torch.uint8 if self.dtype == torch.uint8 else torch.float32
    middle = torch.empty((N, C, H, OW), dtype=work, device=self.device)
    result = torch.empty((N, C, OH, OW), dtype=out.dtype, device=self.device)
    resize(aligned(self), middle, 1, W, OW, align_corners, scales_w)
    resize(middle, result, OW, H, OH, align_corners, scales_h)
    out.copy_(result)
    return out
