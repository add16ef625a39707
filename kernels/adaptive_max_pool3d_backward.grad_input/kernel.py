# Generated: the kernel of aten::adaptive_max_pool3d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_back(
    g_ptr, at_ptr, out_ptr, total, D, H, W, OD, OH, OW, CD, CH, CW, BLOCK: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        w = i % W
        h = (i // W) % H
        d = (i // W // H) % D
        plane = i // W // H // D
        here = (d * H + h) * W + w
        d0 = d * OD // D
        h0 = h * OH // H
        w0 = w * OW // W
        d1 = ((d + 1) * OD + D - 1) // D
        h1 = ((h + 1) * OH + H - 1) // H
        w1 = ((w + 1) * OW + W - 1) // W
        base = plane * OD * OH * OW
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for a in range(0, CD):
            for b in range(0, CH):
                for c in range(0, CW):
                    od = d0 + a
                    oh = h0 + b
                    ow = w0 + c
                    ok = mask & (od < d1) & (oh < h1) & (ow < w1)
                    o = base + (od * OH + oh) * OW + ow
                    o = tl.where(ok, o, 0)
                    at = tl.reshape(tl.load((at_ptr + o)[:, None], mask=ok[:, None], other=-1), [BLOCK])
                    g = tl.reshape(tl.load((g_ptr + o)[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
                    acc += tl.where(ok & (at == here), g, 0.0)
        tl.store(out_ptr + i, acc, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def covers(size, outs):
    return outs // size if outs % size == 0 else min(outs // size + 2, outs)


def wrapper(grad_output, self, indices, *, grad_input):
    total = grad_input.numel()
    if total == 0:
        return grad_input
    D, H, W = list(self.shape)[-3:]
    OD, OH, OW = list(grad_output.shape)[-3:]
    result = torch.empty(list(grad_input.shape), dtype=grad_input.dtype, device=self.device)
    empty = grad_output.numel() == 0
    g = result if empty else aligned(grad_output)
    places = result if empty else aligned(indices)
    kernel_back[(min(triton.cdiv(total, 512), 8192),)](
        g, places, result, total, D, H, W, OD, OH, OW,
        0 if empty else covers(D, OD), 0 if empty else covers(H, OH), 0 if empty else covers(W, OW), BLOCK=512,
    )
    grad_input.copy_(result)
    return grad_input
