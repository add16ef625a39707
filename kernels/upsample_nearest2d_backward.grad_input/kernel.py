# Generated: the kernel of aten::upsample_nearest2d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def source(o, scale, size, MODE: tl.constexpr):
    if MODE == 1:
        s = o
    elif MODE == 2:
        s = o // 2
    else:
        s = tl.floor(o.to(tl.float32) * scale).to(tl.int64)
    return tl.minimum(s, size - 1)


@triton.jit
def first_from(target, scale, size, length, steps, MODE: tl.constexpr):
    # The first place of the output whose source is at or behind the target; the sources never fall.
    lo = target * 0
    hi = target * 0 + length
    for step in range(0, steps):
        active = lo < hi
        mid = (lo + hi) // 2
        reached = source(mid, scale, size, MODE) >= target
        next_lo = tl.where(active & (reached == 0), mid + 1, lo)
        hi = tl.where(active & reached, mid, hi)
        lo = next_lo
    return lo


@triton.jit
def kernel_nearest(g_ptr, out_ptr, total, H, W, OH, OW, scale_h, scale_w, steps_h, steps_w, MODE_H: tl.constexpr,
                   MODE_W: tl.constexpr, BLOCK: tl.constexpr):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        live = i < total
        plane = i // W // H
        y = i // W % H
        x = i % W
        top = first_from(y, scale_h, H, OH, steps_h, MODE_H)
        bottom = first_from(y + 1, scale_h, H, OH, steps_h, MODE_H)
        left = first_from(x, scale_w, W, OW, steps_w, MODE_W)
        right = first_from(x + 1, scale_w, W, OW, steps_w, MODE_W)
        tall = tl.max(bottom - top, axis=0)
        wide = tl.max(right - left, axis=0)
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for a in range(0, tall):
            oy = top + a
            for b in range(0, wide):
                ox = left + b
                inside = live & (oy < bottom) & (ox < right)
                at = (plane * OH + oy) * OW + ox
                g = tl.load(g_ptr + at[:, None], mask=inside[:, None], other=0)
                acc += tl.reshape(g, [BLOCK]).to(tl.float32)
        tl.store(out_ptr + i, acc.to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def ratio(size, length, scale):
    if scale is not None and scale > 0:
        return 1.0 / scale
    return size / length


def mode(size, length):
    return 1 if length == size else 2 if length == 2 * size else 0


def wrapper(grad_output, output_size, input_size, scales_h=None, scales_w=None, *, grad_input):
    total = grad_input.numel()
    if total == 0:
        return grad_input
    H, W = input_size[2], input_size[3]
    OH, OW = output_size[0], output_size[1]
    g = aligned(grad_output)
    result = torch.empty(list(grad_input.shape), dtype=grad_input.dtype, device=grad_input.device)
    kernel_nearest[(min(triton.cdiv(total, 1024), 4096),)](
        g, result, total, H, W, OH, OW, ratio(H, OH, scales_h), ratio(W, OW, scales_w), OH.bit_length(),
        OW.bit_length(), MODE_H=mode(H, OH), MODE_W=mode(W, OW), BLOCK=1024)
    grad_input.copy_(result)
    return grad_input
