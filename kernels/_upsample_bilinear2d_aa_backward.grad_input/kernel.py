# Generated: the kernel of aten::_upsample_bilinear2d_aa_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_weights(out_ptr, outs, size, taps, scale, support, invscale, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, outs, step):
        o = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = o < outs
        center = scale * (o.to(tl.float32) + 0.5)
        low = tl.maximum((center - support + 0.5).to(tl.int64), 0)
        high = tl.minimum((center + support + 0.5).to(tl.int64), size)
        weights = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, taps):
            at = low + j
            w = 1.0 - tl.abs((at.to(tl.float32) - center + 0.5) * invscale)
            weights += tl.where((at < high) & (w > 0.0), w, 0.0)
        tl.store(out_ptr + o, tl.where(weights > 0.0, weights, 1.0), mask=mask)


@triton.jit
def kernel_back(
    g_ptr, sums_ptr, out_ptr, total, inner, size, outs, count, scale, support, invscale,
    ALL: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        line = i // inner
        at = line % size
        base = g_ptr + (line // size) * outs * inner + i % inner
        place = at.to(tl.float32)
        if ALL:
            begin = tl.zeros([BLOCK], dtype=tl.int64)
        else:
            begin = tl.floor((place + 0.5 - support) / scale - 0.5).to(tl.int64) - 1
            begin = tl.maximum(begin, 0)
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, count):
            o = begin + j
            center = scale * (o.to(tl.float32) + 0.5)
            low = tl.maximum((center - support + 0.5).to(tl.int64), 0)
            high = tl.minimum((center + support + 0.5).to(tl.int64), size)
            ok = mask & (o < outs) & (at >= low) & (at < high)
            w = 1.0 - tl.abs((place - center + 0.5) * invscale)
            w = tl.where(w > 0.0, w, 0.0)
            s = tl.reshape(tl.load((sums_ptr + o)[:, None], mask=ok[:, None], other=1), [BLOCK])
            g = tl.reshape(tl.load((base + o * inner)[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
            acc += tl.where(ok, tl.div_rn(w, tl.where(ok, s, 1.0)) * g, 0.0)
        tl.store(out_ptr + i, acc, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def ratio(size, outs, align_corners, given):
    if align_corners:
        return (size - 1) / (outs - 1) if outs > 1 else 0.0
    if given is not None and given > 0:
        return 1.0 / given
    return size / outs


def back(g, out, inner, size, outs, align_corners, given):
    scale = ratio(size, outs, align_corners, given)
    support = scale if scale >= 1.0 else 1.0
    invscale = 1.0 / scale if scale >= 1.0 else 1.0
    taps = min(math.ceil(support) * 2 + 1, size)
    everything = scale * outs <= 2.0 * support
    count = outs if everything else min(math.ceil(2.0 * support / scale) + 4, outs)
    sums = torch.empty((outs,), dtype=torch.float32, device=g.device)
    kernel_weights[(min(triton.cdiv(outs, 512), 4096),)](
        sums, outs, size, taps, float(scale), float(support), float(invscale), BLOCK=512
    )
    total = out.numel()
    kernel_back[(min(triton.cdiv(total, 512), 4096),)](
        g, sums, out, total, inner, size, outs, count, float(scale), float(support), float(invscale),
        ALL=everything, BLOCK=512,
    )


def wrapper(grad_output, output_size, input_size, align_corners, scales_h=None, scales_w=None, *, grad_input):
    if grad_input.numel() == 0:
        return grad_input
    N, C, H, W = list(grad_input.shape)
    OH, OW = list(grad_output.shape)[2:]
    middle = torch.empty((N, C, H, OW), dtype=torch.float32, device=grad_output.device)
    result = torch.empty((N, C, H, W), dtype=grad_input.dtype, device=grad_output.device)
    back(aligned(grad_output), middle, OW, H, OH, align_corners, scales_h)
    back(middle, result, 1, W, OW, align_corners, scales_w)
    grad_input.copy_(result)
    return grad_input
