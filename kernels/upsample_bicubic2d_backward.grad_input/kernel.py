# Generated: the kernel of aten::upsample_bicubic2d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def near(t):
    return (1.0 - t) * (1.0 + t - 1.25 * t * t)


@triton.jit
def beyond(t):
    return -0.75 * t * (1.0 - t) * (1.0 - t)


@triton.jit
def kernel_axis(g_ptr, out_ptr, total, n_in, n_out, inner, tiles, scale, head, tail, inv, cap, last,
                ALIGN: tl.constexpr, SAME: tl.constexpr, ALL: tl.constexpr, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
        e = tile * BLOCK + tl.arange(0, BLOCK)
        live = e < total
        k = e % inner
        row = e // inner
        i = row % n_in
        o = row // n_in
        f = i.to(tl.float32)
        if SAME:
            lo = i
            hi = i + 1
        elif ALL:
            lo = i * 0
            hi = lo + n_out
        else:
            lo = tl.maximum(tl.minimum((f - 2.0) * inv, cap).to(tl.int64) - 3, 0)
            lo = tl.where(i <= 2, 0, lo)
            hi = tl.minimum(tl.minimum((f + 2.5) * inv, cap).to(tl.int64) + 3, n_out)
            hi = tl.where(i >= n_in - 2, n_out, hi)
        turns = tl.max(tl.where(live, hi - lo, 0), axis=0)
        base = o * n_out * inner + k
        acc = tl.zeros([BLOCK, 1], dtype=tl.float32)
        for t in range(0, turns):
            j = lo + t
            ok = live & (j < hi)
            at = base + j * inner
            v = tl.load(g_ptr + at[:, None], mask=ok[:, None], other=0.0).to(tl.float32)
            if SAME:
                acc += v
            else:
                # The place in float32 says which elements take part; how far it lies beyond the first of them is
                # computed with the scale in two pieces, of which the first has so few bits that its product is exact.
                if ALIGN:
                    x = j.to(tl.float32)
                    real = x * scale
                    whole = x * head
                else:
                    x = j.to(tl.float32) + 0.5
                    real = x * scale - 0.5
                    whole = x * head - 0.5
                low = tl.minimum(tl.floor(real), last)
                part = tl.minimum((whole - low) + x * tail, 1.0)
                rest = 1.0 - part
                i1 = low.to(tl.int64)
                a = tl.minimum(tl.maximum(i1 - 1, 0), n_in - 1) == i
                b = tl.minimum(tl.maximum(i1, 0), n_in - 1) == i
                c = tl.minimum(tl.maximum(i1 + 1, 0), n_in - 1) == i
                d = tl.minimum(tl.maximum(i1 + 2, 0), n_in - 1) == i
                acc += tl.where((ok & a)[:, None], v * beyond(part)[:, None], 0.0)
                acc += tl.where((ok & b)[:, None], v * near(part)[:, None], 0.0)
                acc += tl.where((ok & c)[:, None], v * near(rest)[:, None], 0.0)
                acc += tl.where((ok & d)[:, None], v * beyond(rest)[:, None], 0.0)
        tl.store(out_ptr + e, tl.sum(acc, axis=1).to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def one_axis(g, result, outer, n_in, n_out, inner, align, scales, same):
    if align:
        scale = (n_in - 1) / (n_out - 1) if n_out > 1 else 0.0
    elif scales is not None and scales > 0:
        scale = 1.0 / scales
    else:
        scale = n_in / max(n_out, 1)
    inv = 1.0 / scale if scale > 0 else 0.0
    spread = scale * 4398046511105.0
    head = spread - (spread - scale)
    total = outer * n_in * inner
    block = min(256, max(16, triton.next_power_of_2(triton.cdiv(total, 64))))
    tiles = triton.cdiv(total, block)
    kernel_axis[(min(tiles, 4096),)](g, result, total, n_in, n_out, inner, tiles, float(scale), float(head),
                                     float(scale - head), float(inv), float(n_out + 4), float(n_in - 1),
                                     ALIGN=bool(align), SAME=same,
                                     ALL=scale == 0, BLOCK=block)


def wrapper(grad_output, output_size, input_size, align_corners, scales_h=None, scales_w=None, *, grad_input):
    if grad_input.numel() == 0:
        return grad_input
    g = aligned(grad_output)
    n, c, h, w = input_size
    oh, ow = output_size
    nc = n * c
    # Sizes that stay as they are leave the gradient as it is.
    same = h == oh and w == ow
    direct = grad_input.is_contiguous() and grad_input.storage_offset() * grad_input.element_size() % 32 == 0
    result = grad_input if direct else torch.empty(list(grad_input.shape), dtype=grad_input.dtype,
                                                   device=grad_input.device)
    middle = torch.empty([nc, h, ow], dtype=torch.float32, device=g.device)
    one_axis(g, middle, nc, h, oh, ow, align_corners, scales_h, same)
    one_axis(middle, result, nc * h, w, ow, 1, align_corners, scales_w, same)
    if not direct:
        grad_input.copy_(result)
    return grad_input
