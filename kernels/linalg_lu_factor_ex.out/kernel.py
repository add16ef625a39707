# Generated: the kernel of aten::linalg_lu_factor_ex.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_lu(w_ptr, pivots_ptr, info_ptr, batch, m, n, steps, ld, R: tl.constexpr, C: tl.constexpr):
    # P A = L U in place, one matrix after another.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + b * m * ld
        info = 0
        for k in range(0, steps):
            best = tl.full([R], -1.0, dtype=tl.float32)
            best_at = tl.zeros([R], dtype=tl.int32)
            for s0 in range(k // R * R, m, R):
                srows = s0 + tl.arange(0, R)
                valid = (srows >= k) & (srows < m)
                x = tl.load(w + (srows * ld + k)[:, None], mask=valid[:, None], other=0.0)
                x = tl.abs(tl.reshape(x, [R]))
                x = tl.where(valid & (x == x), x, -1.0)
                better = x > best
                best = tl.where(better, x, best)
                best_at = tl.where(better, srows, best_at)
            top = tl.max(best, axis=0)
            # The first of equal ones.
            p = tl.min(tl.where(best == top, best_at, 2147483647), axis=0)
            p = tl.where(top < 0.0, k, p)
            tl.store(pivots_ptr + b * steps + k, p + 1)
            tl.debug_barrier()
            # Also of a row with itself: each element of the result is written here.
            for q0 in range(0, n, C):
                qcols = q0 + tl.arange(0, C)
                qmask = qcols < n
                upper = tl.load(w + k * ld + qcols, mask=qmask, other=0.0)
                lower = tl.load(w + p * ld + qcols, mask=qmask, other=0.0)
                # Several threads may hold the same elements: all have read before one writes.
                tl.debug_barrier()
                tl.store(w + k * ld + qcols, lower, mask=qmask)
                tl.store(w + p * ld + qcols, upper, mask=qmask)
            tl.debug_barrier()
            pivot = tl.load(w + k * ld + k)
            info = tl.where((info == 0) & (pivot == 0.0), k + 1, info)
            for r0 in range((k + 1) // R * R, m, R):
                rows = r0 + tl.arange(0, R)
                rmask = (rows > k) & (rows < m)
                at_column = w + (rows * ld + k)[:, None]
                a = tl.load(at_column, mask=rmask[:, None], other=0.0)
                factor = tl.where(pivot == 0.0, a, a / pivot)
                tl.debug_barrier()
                tl.store(at_column, factor, mask=rmask[:, None])
                for c0 in range((k + 1) // C * C, n, C):
                    cols = c0 + tl.arange(0, C)
                    cmask = (cols > k) & (cols < n)
                    u = tl.load(w + k * ld + cols, mask=cmask, other=0.0)
                    at = w + rows[:, None] * ld + cols[None, :]
                    both = rmask[:, None] & cmask[None, :]
                    t = tl.load(at, mask=both, other=0.0)
                    tl.debug_barrier()
                    tl.store(at, t - factor * u[None, :], mask=both)
            tl.debug_barrier()
        tl.store(info_ptr + b, info)


def wrapper(A, *, pivot=True, check_errors=False, LU, pivots, info):
    sizes = list(A.shape)
    m, n = sizes[-2], sizes[-1]
    steps = min(m, n)
    batch = math.prod(sizes[:-2])
    if batch == 0:
        return LU, pivots, info
    ld = max(triton.cdiv(n, 8) * 8, 8)
    work = torch.empty((batch, max(m, 1), ld), dtype=torch.float32, device=A.device)
    places = torch.empty((batch, max(steps, 1)), dtype=torch.int32, device=A.device)
    codes = torch.empty((batch,), dtype=torch.int32, device=A.device)
    if steps > 0:
        work.narrow(2, 0, n).copy_(A.reshape(batch, m, n))
    rows = min(64, max(16, triton.next_power_of_2(max(m, 1))))
    columns = min(64, max(16, triton.next_power_of_2(max(n, 1))))
    kernel_lu[(min(batch, 4096),)](work, places, codes, batch, m, n, steps, ld, R=rows, C=columns, enable_scatter_stores=True)
    info.copy_(codes.reshape(info.shape))
    if steps > 0:
        pivots.copy_(places.reshape(pivots.shape))
        LU.copy_(work.narrow(2, 0, n).reshape(sizes))
    return LU, pivots, info
