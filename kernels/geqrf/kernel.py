# Generated: the kernel of aten::geqrf for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_qr(a_ptr, tau_ptr, m, n, k, count, COLS: tl.constexpr, WIDTH: tl.constexpr):
    # Row j of a is column j of the matrix. One program takes a whole matrix, in place.
    lane = tl.arange(0, WIDTH)
    for batch in range(tl.program_id(0).to(tl.int64), count, tl.num_programs(0)):
        base = a_ptr + batch * n * WIDTH
        for i in range(0, k):
            x = tl.load(base + i * WIDTH + lane, mask=lane < m, other=0.0)
            below = (lane > i) & (lane < m)
            alpha = tl.sum(tl.where(lane == i, x, 0.0), axis=0)
            tail = tl.where(below, x, 0.0)
            top = tl.max(tl.abs(tail), axis=0)
            scale = tl.maximum(top, tl.abs(alpha))
            safe = tl.where(scale > 0.0, scale, 1.0)
            part = tail / safe
            lead = alpha / safe
            norm = tl.sqrt_rn(tl.sum(part * part, axis=0) + lead * lead)
            # In units of `safe`, so that nothing overflows.
            beta = tl.where(alpha >= 0.0, 0.0 - norm, norm)
            idle = top == 0.0
            gap = tl.where(idle, 1.0, lead - beta)
            tau = tl.where(idle, 0.0, (beta - lead) / tl.where(idle, 1.0, beta))
            v = tl.where(below, part / gap, 0.0)
            v = tl.where(idle, 0.0, v)
            kept = tl.where(idle, alpha, beta * safe)
            new = tl.where(below, v, tl.where(lane == i, kept, x))
            tl.store(base + i * WIDTH + lane, new, mask=lane < m)
            tl.store(tau_ptr + batch * k + i, tau)
            v = tl.where(lane == i, 1.0, v)
            for start in range(i + 1, n, COLS):
                j = start + tl.arange(0, COLS)
                at = base + j[:, None] * WIDTH + lane[None, :]
                mask = (j < n)[:, None] & (lane < m)[None, :]
                c = tl.load(at, mask=mask, other=0.0)
                w = tl.sum(c * v[None, :], axis=1) * tau
                tl.store(at, c - w[:, None] * v[None, :], mask=mask)
            tl.debug_barrier()


def wrapper(self):
    m, n = self.shape[-2], self.shape[-1]
    k = min(m, n)
    batches = list(self.shape[:-2])
    result = torch.empty(batches + [n, m], dtype=self.dtype, device=self.device)
    tau = torch.empty(batches + [k], dtype=self.dtype, device=self.device)
    if result.numel() == 0:
        return result.mT, tau
    width = max(triton.next_power_of_2(m), 16)
    work = torch.empty(batches + [n, width], dtype=self.dtype, device=self.device)
    work.narrow(-1, 0, m).copy_(self.mT)
    block = max(min(triton.next_power_of_2(n), 16384 // width, 64), 1)
    count = math.prod(batches)
    kernel_qr[(min(count, 8192),)](work, tau, m, n, k, count, COLS=block, WIDTH=width)
    result.copy_(work.narrow(-1, 0, m))
    return result.mT, tau
