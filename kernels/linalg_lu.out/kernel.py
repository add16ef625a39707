# Generated: the kernel of aten::linalg_lu.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_lu(a_ptr, p_ptr, l_ptr, u_ptr, m, n, k, count, PIVOT: tl.constexpr, COLS: tl.constexpr,
              WIDTH: tl.constexpr):
    # Row j of a is column j of the matrix, in WIDTH elements; one program takes a whole matrix.
    lane = tl.arange(0, WIDTH)
    inside = lane < m
    for batch in range(tl.program_id(0).to(tl.int64), count, tl.num_programs(0)):
        base = a_ptr + batch * n * WIDTH
        order = lane
        for i in range(0, k):
            x = tl.load(base + i * WIDTH + lane, mask=inside, other=0.0)
            p = i + 0
            if PIVOT:
                size = tl.where(inside & (lane >= i), tl.abs(x), -1.0)
                size = tl.where(size != size, float("inf"), size)
                best = tl.max(size, axis=0)
                p = tl.min(tl.where(size == best, lane, WIDTH), axis=0)
                first = tl.sum(tl.where(lane == i, order, 0), axis=0)
                other = tl.sum(tl.where(lane == p, order, 0), axis=0)
                order = tl.where(lane == i, other, tl.where(lane == p, first, order))
            upper = tl.sum(tl.where(lane == i, x, 0.0), axis=0)
            pivot = tl.sum(tl.where(lane == p, x, 0.0), axis=0)
            x = tl.where(lane == i, pivot, tl.where(lane == p, upper, x))
            below = inside & (lane > i)
            whole = tl.where(pivot == 0.0, 1.0, pivot)
            factor = tl.where(below, x / whole, 0.0)
            for start in range(0, n, COLS):
                j = start + tl.arange(0, COLS)
                at = base + j[:, None] * WIDTH + lane[None, :]
                mask = (j < n)[:, None] & inside[None, :]
                c = tl.load(at, mask=mask, other=0.0)
                if PIVOT:
                    high = tl.sum(tl.where((lane == i)[None, :], c, 0.0), axis=1)
                    low = tl.sum(tl.where((lane == p)[None, :], c, 0.0), axis=1)
                    c = tl.where((lane == i)[None, :], low[:, None], tl.where((lane == p)[None, :], high[:, None], c))
                row = tl.sum(tl.where((lane == i)[None, :], c, 0.0), axis=1)
                changed = below[None, :] & (j > i)[:, None]
                c = tl.where(changed, c - row[:, None] * factor[None, :], c)
                c = tl.where(below[None, :] & (j == i)[:, None], tl.broadcast_to(factor[None, :], [COLS, WIDTH]), c)
                tl.store(at, c, mask=mask)
            tl.debug_barrier()
        # Column by column: P, L and U.
        if PIVOT:
            for j in range(0, m):
                source = tl.sum(tl.where(lane == j, order, 0), axis=0)
                tl.store(p_ptr + (batch * m + j) * WIDTH + lane, (lane == source).to(tl.float32), mask=inside)
        for j in range(0, k):
            x = tl.load(base + j * WIDTH + lane, mask=inside, other=0.0)
            low = tl.where(lane > j, x, tl.where(lane == j, 1.0, 0.0))
            tl.store(l_ptr + (batch * k + j) * WIDTH + lane, low, mask=inside)
        for j in range(0, n):
            x = tl.load(base + j * WIDTH + lane, mask=inside, other=0.0)
            tl.store(u_ptr + (batch * n + j) * WIDTH + lane, tl.where(lane <= j, x, 0.0), mask=inside)


def wrapper(A, *, pivot=True, P, L, U):
    m, n = A.shape[-2], A.shape[-1]
    k = min(m, n)
    batches = list(A.shape[:-2])
    count = math.prod(batches)
    if count == 0 or m == 0:
        return P, L, U
    width = max(triton.next_power_of_2(m), 16)
    a = torch.empty(batches + [max(n, 1), width], dtype=A.dtype, device=A.device)
    if n > 0:
        a.narrow(-1, 0, m).copy_(A.mT)
    p = torch.empty(batches + [m, width], dtype=A.dtype, device=A.device)
    l = torch.empty(batches + [max(k, 1), width], dtype=A.dtype, device=A.device)
    u = torch.empty(batches + [max(n, 1), width], dtype=A.dtype, device=A.device)
    block = max(min(triton.next_power_of_2(max(n, 1)), 16384 // width, 64), 1)
    kernel_lu[(min(count, 8192),)](a, p, l, u, m, n, k, count, PIVOT=True if pivot else False,
                                   COLS=block, WIDTH=width)
    if P.numel() > 0 and pivot:
        P.copy_(p.narrow(-1, 0, m).mT)
    if L.numel() > 0:
        L.copy_(l.narrow(-2, 0, k).narrow(-1, 0, m).mT)
    if U.numel() > 0:
        U.copy_(u.narrow(-2, 0, n).narrow(-1, 0, k).mT)
    return P, L, U
