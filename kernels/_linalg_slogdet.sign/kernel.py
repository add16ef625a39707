# Generated: the kernel of aten::_linalg_slogdet.sign for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_lu(w_ptr, pivots_ptr, sign_ptr, log_ptr, batch, n, ld, R: tl.constexpr):
    # P A = L U in place, one matrix after another; the determinant's sign and logarithm along the way.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + b * n * ld
        sign = 1.0
        total = 0.0
        for k in range(0, n):
            best = tl.full([R], -1.0, dtype=tl.float32)
            best_at = tl.zeros([R], dtype=tl.int32)
            for s0 in range(k // R * R, n, R):
                srows = s0 + tl.arange(0, R)
                valid = (srows >= k) & (srows < n)
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
            tl.store(pivots_ptr + b * n + k, p + 1)
            sign = tl.where(p != k, -sign, sign)
            # Also where nothing is swapped: every row of the result is written here.
            for q0 in range(0, n, R):
                qcols = q0 + tl.arange(0, R)
                qmask = qcols < n
                upper = tl.load(w + k * ld + qcols, mask=qmask, other=0.0)
                lower = tl.load(w + p * ld + qcols, mask=qmask, other=0.0)
                tl.store(w + p * ld + qcols, upper, mask=qmask)
                tl.store(w + k * ld + qcols, lower, mask=qmask)
            tl.debug_barrier()
            pivot = tl.load(w + k * ld + k)
            sign = sign * tl.where(pivot > 0.0, 1.0, tl.where(pivot < 0.0, -1.0, 0.0))
            total = total + tl.log(tl.abs(pivot))
            for r0 in range((k + 1) // R * R, n, R):
                rows = r0 + tl.arange(0, R)
                rmask = (rows > k) & (rows < n)
                at_column = w + (rows * ld + k)[:, None]
                a = tl.load(at_column, mask=rmask[:, None], other=0.0)
                factor = tl.where(pivot == 0.0, a, a / pivot)
                tl.store(at_column, factor, mask=rmask[:, None])
                for c0 in range((k + 1) // R * R, n, R):
                    cols = c0 + tl.arange(0, R)
                    cmask = (cols > k) & (cols < n)
                    u = tl.load(w + k * ld + cols, mask=cmask, other=0.0)
                    at = w + rows[:, None] * ld + cols[None, :]
                    both = rmask[:, None] & cmask[None, :]
                    t = tl.load(at, mask=both, other=0.0)
                    tl.store(at, t - factor * u[None, :], mask=both)
            tl.debug_barrier()
        tl.store(sign_ptr + b, sign)
        tl.store(log_ptr + b, total)


def wrapper(A, *, sign, logabsdet, LU, pivots):
    sizes = list(A.shape)
    n = sizes[-1]
    batch = math.prod(sizes[:-2])
    if batch == 0:
        return sign, logabsdet, LU, pivots
    # PyTorch factors the transpose of a contiguous matrix.
    turned = A.is_contiguous()
    ld = max(triton.cdiv(n, 8) * 8, 8)
    work = torch.empty((batch, max(n, 1), ld), dtype=torch.float32, device=A.device)
    places = torch.empty((batch, max(n, 1)), dtype=torch.int32, device=A.device)
    signs = torch.empty((batch,), dtype=torch.float32, device=A.device)
    logs = torch.empty((batch,), dtype=torch.float32, device=A.device)
    if n > 0:
        source = A.mT if turned else A
        work.narrow(2, 0, n).copy_(source.reshape(batch, n, n))
    rows = min(64, max(16, triton.next_power_of_2(max(n, 1))))
    kernel_lu[(min(batch, 4096),)](work, places, signs, logs, batch, n, ld, R=rows, enable_scatter_stores=True)
    sign.copy_(signs.reshape(sign.shape))
    logabsdet.copy_(logs.reshape(logabsdet.shape))
    if n > 0:
        LU.copy_(work.narrow(2, 0, n).reshape(sizes))
        pivots.copy_(places.reshape(pivots.shape))
    return sign, logabsdet, LU, pivots
