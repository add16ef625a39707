# Generated: the kernel of aten::multilabel_margin_loss_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def column(ptr, i, mask, BLOCK: tl.constexpr):
    return tl.reshape(tl.load((ptr + i)[:, None], mask=mask[:, None], other=0), [BLOCK])


@triton.jit
def kernel_margin(go_ptr, x_ptr, y_ptr, is_ptr, out_ptr, total, tiles, n, g, go_step, BLOCK: tl.constexpr):
    for work in range(tl.program_id(0).to(tl.int64), total, tl.num_programs(0)):
        row = work // tiles
        at = (work % tiles) * BLOCK + tl.arange(0, BLOCK)
        go = tl.load(go_ptr + row * go_step)
        x = x_ptr + row * n
        y = y_ptr + row * n
        goal = is_ptr + row * n
        # The labels end at the first negative one.
        ends = tl.zeros([BLOCK], dtype=tl.int64) + n
        for start in range(0, n, BLOCK):
            j = start + tl.arange(0, BLOCK).to(tl.int64)
            label = column(y, j, j < n, BLOCK)
            ends = tl.minimum(ends, tl.where((j < n) & (label < 0), j, n))
        count = tl.min(ends, axis=0)
        mine = column(x, at, at < n, BLOCK)
        is_goal = column(goal, at, at < n, BLOCK) != 0
        above = tl.zeros([BLOCK], dtype=tl.int32)
        times = tl.zeros([BLOCK], dtype=tl.int32)
        below = tl.zeros([BLOCK], dtype=tl.int32)
        for start in range(0, n, BLOCK):
            j = start + tl.arange(0, BLOCK).to(tl.int64)
            used = j < count
            label = column(y, j, used, BLOCK)
            picked = column(x, label, used, BLOCK)
            z = (1.0 - picked)[None, :] + mine[:, None]
            above += tl.sum(((z > 0) & used[None, :]).to(tl.int32), axis=1)
            times += tl.sum(((label[None, :] == at[:, None]) & used[None, :]).to(tl.int32), axis=1)
            other = column(x, j, j < n, BLOCK)
            free = (column(goal, j, j < n, BLOCK) == 0) & (j < n)
            z = (1.0 - mine)[:, None] + other[None, :]
            below += tl.sum(((z > 0) & free[None, :]).to(tl.int32), axis=1)
        # g is added k times in float32. Within a binade every addition adds the same, so that runs of them are one step.
        k = tl.where(is_goal, times.to(tl.int64) * below.to(tl.int64), above.to(tl.int64))
        s = tl.zeros([BLOCK], dtype=tl.float32)
        most = tl.max(k, axis=0)
        while most > 0:
            s1 = tl.where(k > 0, s + g, s)
            s2 = tl.where(k > 1, s1 + g, s1)
            s3 = tl.where(k > 2, s2 + g, s2)
            k = tl.maximum(k - 3, 0)
            d = s3 - s2
            b1 = s1.to(tl.int32, bitcast=True) & 0x7F800000
            b2 = s2.to(tl.int32, bitcast=True) & 0x7F800000
            upper = 2.0 * b2.to(tl.float32, bitcast=True)
            q = tl.floor((upper - s3) / tl.where(d > 0, d, 1.0)) - 2.0
            q = tl.where((b1 == b2) & (d > 0), q, 0.0)
            q = tl.minimum(tl.maximum(q, 0.0), 16777216.0)
            run = tl.minimum(q.to(tl.int64), k)
            s = s3 + run.to(tl.float32) * d
            k = tl.where(d > 0, k - run, 0)
            most = tl.max(k, axis=0)
        r = tl.where(is_goal, 0.0 - s, s) * go
        tl.store((out_ptr + row * n + at)[:, None], tl.reshape(r, [BLOCK, 1]), mask=(at < n)[:, None])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad_output, self, target, reduction, is_target):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel() == 0:
        return out
    if self.dim() <= 1:
        rows, n = 1, self.numel()
    else:
        rows, n = self.shape[0], self.shape[1]
    g = 1.0 / (rows * n) if reduction == 1 else 1.0 / n
    go_step = 1 if reduction == 0 and grad_output.dim() > 0 else 0
    block = min(max(triton.next_power_of_2(n), 8), 128)
    tiles = triton.cdiv(n, block)
    total = rows * tiles
    kernel_margin[(min(total, 8192),)](
        aligned(grad_output), aligned(self), aligned(target), aligned(is_target), out, total, tiles, n, g, go_step,
        BLOCK=block)
    return out
