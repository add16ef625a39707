# Generated: the kernel of aten::adaptive_max_pool2d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_pool_backward(
    g_ptr, index_ptr, out_ptr, total, H, W, OH, OW, KH, KW, BLOCK: tl.constexpr,
):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for first in range(tl.program_id(0).to(tl.int64) * BLOCK, total, step):
        e = first + tl.arange(0, BLOCK).to(tl.int64)
        there = e < total
        w = e % W
        h = (e // W) % H
        plane = e // W // H
        mine = h * W + w
        oh0 = h * OH // H
        oh1 = ((h + 1) * OH + H - 1) // H
        ow0 = w * OW // W
        ow1 = ((w + 1) * OW + W - 1) // W
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for i in range(0, KH):
            for j in range(0, KW):
                oh = oh0 + i
                ow = ow0 + j
                ok = there & (oh < oh1) & (ow < ow1)
                at = (plane * OH + oh) * OW + ow
                place = tl.load(index_ptr + at[:, None], mask=ok[:, None], other=-1)
                grad = tl.load(g_ptr + at[:, None], mask=ok[:, None], other=0).to(tl.float32)
                place = tl.reshape(place, [BLOCK])
                grad = tl.reshape(grad, [BLOCK])
                acc += tl.where(ok & (place == mine), grad, 0.0)
        tl.store(out_ptr + e, acc, mask=there)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad_output, self, indices, *, grad_input):
    total = grad_input.numel()
    if total == 0:
        return grad_input
    h, w = self.shape[-2], self.shape[-1]
    oh, ow = grad_output.shape[-2], grad_output.shape[-1]
    result = torch.empty(grad_input.shape, dtype=grad_input.dtype, device=grad_input.device)
    if grad_output.numel() == 0:
        kh, kw = 0, 0
        grad, places = result, result
    else:
        kh, kw = min(oh, triton.cdiv(oh, h) + 1), min(ow, triton.cdiv(ow, w) + 1)
        grad, places = aligned(grad_output), aligned(indices)
    block = max(min(triton.next_power_of_2(total), 1024), 16)
    grid = (min(triton.cdiv(total, block), 8192),)
    kernel_pool_backward[grid](
        grad, places, result, total, h, w, oh, ow, kh, kw, BLOCK=block
    )
    grad_input.copy_(result)
    return grad_input
