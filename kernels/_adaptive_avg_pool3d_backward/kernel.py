# Generated: the kernel of aten::_adaptive_avg_pool3d_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_spread(g_ptr, out_ptr, total, inner, size, outs, count, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        line = i // inner
        at = line % size
        base = g_ptr + (line // size) * outs * inner + i % inner
        begin = at * outs // size
        end = ((at + 1) * outs + size - 1) // size
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, count):
            o = begin + j
            ok = mask & (o < end)
            o = tl.where(ok, o, 0)
            g = tl.reshape(tl.load((base + o * inner)[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
            low = o * size // outs
            high = ((o + 1) * size + outs - 1) // outs
            acc += tl.where(ok, tl.div_rn(g, (high - low).to(tl.float32)), 0.0)
        tl.store(out_ptr + i, acc, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def covers(size, outs):
    return outs // size if outs % size == 0 else min(outs // size + 2, outs)


def wrapper(grad_output, self):
    shape = list(self.shape)
    grad_input = torch.empty(shape, dtype=self.dtype, device=self.device)
    if grad_input.numel() == 0:
        return grad_input
    sizes = shape[-3:]
    outs = list(grad_output.shape)[-3:]
    planes = math.prod(shape[:-3])
    empty = grad_output.numel() == 0
    if empty:
        outs = [1, 1, 1]
    g = grad_input if empty else aligned(grad_output)
    for axis in (2, 1, 0):
        if empty and axis > 0:
            continue
        middle = [planes] + outs[:axis] + sizes[axis:]
        result = grad_input
        if axis > 0:
            result = torch.empty(middle, dtype=torch.float32, device=self.device)
        total = math.prod(middle)
        count = 0 if empty else covers(sizes[axis], outs[axis])
        kernel_spread[(min(triton.cdiv(total, 512), 8192),)](
            g, result, total, math.prod(sizes[axis + 1 :]), sizes[axis], outs[axis], count, BLOCK=512
        )
        g = result
    return grad_input
