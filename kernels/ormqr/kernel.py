# Generated: the kernel of aten::ormqr for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_reflect(v_ptr, tau_ptr, c_ptr, out_ptr, m, n, k, tiles, total, UP: tl.constexpr,
                   COLS: tl.constexpr, WIDTH: tl.constexpr):
    # Row i of v is the i-th reflector; the n rows of c are vectors of m elements, each of them reflected k times.
    lane = tl.arange(0, WIDTH)
    inside = lane < m
    for work in range(tl.program_id(0), total, tl.num_programs(0)):
        batch = (work // tiles).to(tl.int64)
        j = (work % tiles) * COLS + tl.arange(0, COLS)
        at = (batch * n + j.to(tl.int64)) * WIDTH
        mask = (j < n)[:, None] & inside[None, :]
        c = tl.load(c_ptr + at[:, None] + lane[None, :], mask=mask, other=0.0)
        for step in range(0, k):
            if UP:
                i = step
            else:
                i = k - 1 - step
            v = tl.load(v_ptr + (batch * k + i) * WIDTH + lane, mask=inside & (lane > i), other=0.0)
            v = tl.where(lane == i, 1.0, v)
            tau = tl.load(tau_ptr + batch * k + i)
            w = tl.sum(c * v[None, :], axis=1) * tau
            c = c - w[:, None] * v[None, :]
        tl.store(out_ptr + at[:, None] + lane[None, :], c, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, input2, input3, left=True, transpose=False):
    tau, other = input2, input3
    k = tau.shape[-1]
    batches = list(other.shape[:-2])
    rows, columns = other.shape[-2], other.shape[-1]
    result = torch.empty(batches + [columns, rows], dtype=other.dtype, device=other.device).mT
    if result.numel() == 0:
        return result
    vectors = other.mT if left else other
    n, m = vectors.shape[-2], vectors.shape[-1]
    width = max(triton.next_power_of_2(m), 16)
    v = torch.empty(batches + [max(k, 1), width], dtype=other.dtype, device=other.device)
    taus = v
    if k > 0:
        v.narrow(-1, 0, m).copy_(self.narrow(-1, 0, k).mT)
        taus = aligned(tau)
    c = torch.empty(batches + [n, width], dtype=other.dtype, device=other.device)
    c.narrow(-1, 0, m).copy_(vectors)
    d = torch.empty(batches + [n, width], dtype=other.dtype, device=other.device)
    block = max(min(triton.next_power_of_2(n), 16384 // width, 64), 1)
    tiles = triton.cdiv(n, block)
    total = math.prod(batches) * tiles
    # Q is H_1 ... H_k: applied from the left, the last reflector comes first.
    up = (not not transpose) == (not not left)
    kernel_reflect[(min(total, 8192),)](v, taus, c, d, m, n, k, tiles, total, UP=up, COLS=block, WIDTH=width)
    done = d.narrow(-1, 0, m)
    result.copy_(done.mT if left else done)
    return result
