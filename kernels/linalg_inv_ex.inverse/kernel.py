# Generated: the kernel of aten::linalg_inv_ex.inverse for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_eliminate(w_ptr, info_ptr, batch, n, ld, R: tl.constexpr, C: tl.constexpr):
    # Gaussian elimination with row pivoting of [A | I], in place.
    width = 2 * n
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + b * n * ld
        for i0 in range(0, n, R):
            irows = i0 + tl.arange(0, R)
            for j0 in range(n // C * C, width, C):
                jcols = j0 + tl.arange(0, C)
                one = tl.where(irows[:, None] + n == jcols[None, :], 1.0, 0.0)
                imask = (irows < n)[:, None] & ((jcols >= n) & (jcols < width))[None, :]
                tl.store(w + irows[:, None] * ld + jcols[None, :], one, mask=imask)
        tl.debug_barrier()
        info = 0
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
            p = tl.min(tl.where(best == top, best_at, 2147483647), axis=0)
            p = tl.where(top < 0.0, k, p)
            if p != k:
                for q0 in range(k // C * C, width, C):
                    qcols = q0 + tl.arange(0, C)
                    qmask = (qcols >= k) & (qcols < width)
                    upper = tl.load(w + k * ld + qcols, mask=qmask, other=0.0)
                    lower = tl.load(w + p * ld + qcols, mask=qmask, other=0.0)
                    tl.store(w + k * ld + qcols, lower, mask=qmask)
                    tl.store(w + p * ld + qcols, upper, mask=qmask)
            tl.debug_barrier()
            pivot = tl.load(w + k * ld + k)
            info = tl.where((info == 0) & (pivot == 0.0), k + 1, info)
            for r0 in range((k + 1) // R * R, n, R):
                rows = r0 + tl.arange(0, R)
                rmask = (rows > k) & (rows < n)
                a = tl.load(w + (rows * ld + k)[:, None], mask=rmask[:, None], other=0.0)
                factor = tl.where(pivot == 0.0, a, a / pivot)
                for c0 in range((k + 1) // C * C, width, C):
                    cols = c0 + tl.arange(0, C)
                    cmask = (cols > k) & (cols < width)
                    u = tl.load(w + k * ld + cols, mask=cmask, other=0.0)
                    at = w + rows[:, None] * ld + cols[None, :]
                    m = rmask[:, None] & cmask[None, :]
                    t = tl.load(at, mask=m, other=0.0)
                    tl.store(at, t - factor * u[None, :], mask=m)
            tl.debug_barrier()
        tl.store(info_ptr + b, info)


@triton.jit
def kernel_back(w_ptr, batch, n, ld, R: tl.constexpr, C: tl.constexpr):
    # Solves U X = Y for the right half; a program has some columns of it.
    cols = (n // C + tl.program_id(0)) * C + tl.arange(0, C)
    cmask = (cols >= n) & (cols < 2 * n)
    for b in range(tl.program_id(1).to(tl.int64), batch, tl.num_programs(1)):
        w = w_ptr + b * n * ld
        for j in range(0, n):
            k = n - 1 - j
            d = tl.load(w + k * ld + k)
            y = tl.load(w + k * ld + cols, mask=cmask, other=0.0) / d
            tl.store(w + k * ld + cols, y, mask=cmask)
            for r0 in range(0, k, R):
                rows = r0 + tl.arange(0, R)
                rmask = rows < k
                a = tl.load(w + (rows * ld + k)[:, None], mask=rmask[:, None], other=0.0)
                at = w + rows[:, None] * ld + cols[None, :]
                m = rmask[:, None] & cmask[None, :]
                t = tl.load(at, mask=m, other=0.0)
                tl.store(at, t - a * y[None, :], mask=m)
            tl.debug_barrier()


def wrapper(A, *, check_errors=False, inverse, info):
    sizes = list(A.shape)
    n = sizes[-1]
    batch = math.prod(sizes[:-2])
    if batch == 0:
        return inverse, info
    # PyTorch factors the transpose of a contiguous matrix, which shows in `info` alone.
    turned = A.is_contiguous()
    ld = max(triton.cdiv(2 * n, 8) * 8, 8)
    work = torch.empty((batch, max(n, 1), ld), dtype=torch.float32, device=A.device)
    codes = torch.empty((batch,), dtype=torch.int32, device=A.device)
    if n > 0:
        source = A.mT if turned else A
        work.narrow(2, 0, n).copy_(source.reshape(batch, n, n))
    block = min(64, max(16, triton.next_power_of_2(max(n, 1))))
    kernel_eliminate[(min(batch, 4096),)](work, codes, batch, n, ld, R=block, C=block, enable_scatter_stores=True)
    info.copy_(codes.reshape(info.shape))
    if n > 0:
        tiles = triton.cdiv(2 * n, block) - n // block
        kernel_back[(tiles, min(batch, 1024))](work, batch, n, ld, R=block, C=block)
        result = work.narrow(2, n, n).reshape(sizes)
        inverse.copy_(result.mT if turned else result)
    return inverse, info
