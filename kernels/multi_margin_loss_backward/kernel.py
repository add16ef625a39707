# Generated: the kernel of aten::multi_margin_loss_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_margin(go_ptr, x_ptr, y_ptr, w_ptr, out_ptr, rows, n, margin, g, go_step,
                  SQUARE: tl.constexpr, WEIGHT: tl.constexpr, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0).to(tl.int64), rows, tl.num_programs(0)):
        y = tl.load(y_ptr + row)
        x = x_ptr + row * n
        chosen = tl.load(x + y)
        go = tl.load(go_ptr + row * go_step)
        factor = 1.0
        if WEIGHT:
            factor = tl.load(w_ptr + y)
        total = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK).to(tl.int64)
            v = tl.reshape(tl.load((x + i)[:, None], mask=(i < n)[:, None], other=0), [BLOCK])
            z = margin - chosen + v
            h = tl.zeros([BLOCK], dtype=tl.float32) + g
            if SQUARE:
                h = 2 * h * z
            h = h * factor
            total += tl.where((i < n) & (i != y) & (z > 0), h, 0.0)
        own = 0.0 - tl.sum(total, axis=0)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK).to(tl.int64)
            v = tl.reshape(tl.load((x + i)[:, None], mask=(i < n)[:, None], other=0), [BLOCK])
            z = margin - chosen + v
            h = tl.zeros([BLOCK], dtype=tl.float32) + g
            if SQUARE:
                h = 2 * h * z
            h = h * factor
            r = tl.where(i == y, own, tl.where(z > 0, h, 0.0)) * go
            tl.store((out_ptr + row * n + i)[:, None], tl.reshape(r, [BLOCK, 1]), mask=(i < n)[:, None])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad_output, self, target, p, margin, weight=None, reduction=1):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel() == 0:
        return out
    if self.dim() <= 1:
        rows, n = 1, self.numel()
    else:
        rows, n = self.shape[0], self.shape[1]
    g = 1.0 / (rows * n) if reduction == 1 else 1.0 / n
    go_step = 1 if reduction == 0 and grad_output.dim() > 0 else 0
    x = aligned(self)
    kernel_margin[(min(rows, 4096),)](
        aligned(grad_output), x, aligned(target), x if weight is None else aligned(weight), out, rows, n,
        float(margin), g, go_step, SQUARE=p == 2, WEIGHT=weight is not None,
        BLOCK=min(triton.next_power_of_2(n), 1024))
    return out
