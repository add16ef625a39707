# Generated: the kernel of aten::upsample_nearest3d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_axis(g_ptr, out_ptr, total, n_in, n_out, inner, tiles, scale, inv, cap, last, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
        e = tile * BLOCK + tl.arange(0, BLOCK)
        live = e < total
        k = e % inner
        row = e // inner
        i = row % n_in
        o = row // n_in
        f = i.to(tl.float32)
        lo = tl.maximum(tl.minimum(f * inv, cap).to(tl.int64) - 2, 0)
        hi = tl.minimum(tl.minimum((f + 1.0) * inv, cap).to(tl.int64) + 3, n_out)
        hi = tl.where(i == n_in - 1, n_out, hi)
        turns = tl.max(tl.where(live, hi - lo, 0), axis=0)
        base = o * n_out * inner + k
        acc = tl.zeros([BLOCK, 1], dtype=tl.float32)
        for t in range(0, turns):
            j = lo + t
            source = tl.minimum(tl.floor(j.to(tl.float32) * scale), last).to(tl.int64)
            ok = live & (j < hi) & (source == i)
            at = base + j * inner
            acc += tl.load(g_ptr + at[:, None], mask=ok[:, None], other=0.0).to(tl.float32)
        tl.store(out_ptr + e, tl.sum(acc, axis=1).to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def one_axis(g, result, outer, n_in, n_out, inner, scales):
    if n_in == n_out:
        scale = 1.0
    elif n_out == 2 * n_in:
        scale = 0.5
    elif scales is not None and scales > 0:
        scale = 1.0 / scales
    else:
        scale = n_in / max(n_out, 1)
    total = outer * n_in * inner
    block = min(256, max(16, triton.next_power_of_2(triton.cdiv(total, 64))))
    tiles = triton.cdiv(total, block)
    kernel_axis[(min(tiles, 4096),)](g, result, total, n_in, n_out, inner, tiles, float(scale), float(1.0 / scale),
                                     float(n_out + 4), float(n_in - 1), BLOCK=block)


def wrapper(grad_output, output_size, input_size, scales_d=None, scales_h=None, scales_w=None, *, grad_input):
    if grad_input.numel() == 0:
        return grad_input
    g = aligned(grad_output)
    n, c, d, h, w = input_size
    od, oh, ow = output_size
    nc = n * c
    direct = grad_input.is_contiguous() and grad_input.storage_offset() * grad_input.element_size() % 32 == 0
    result = grad_input if direct else torch.empty(list(grad_input.shape), dtype=grad_input.dtype,
                                                   device=grad_input.device)
    first = torch.empty([nc, d, oh, ow], dtype=torch.float32, device=g.device)
    second = torch.empty([nc, d, h, ow], dtype=torch.float32, device=g.device)
    one_axis(g, first, nc, d, od, oh * ow, scales_d)
    one_axis(first, second, nc * d, h, oh, ow, scales_h)
    one_axis(second, result, nc * d * h, w, ow, 1, scales_w)
    if not direct:
        grad_input.copy_(result)
    return grad_input
