# Generated: the kernel of aten::_linalg_solve_ex.result for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_lu(w_ptr, pivots_ptr, info_ptr, batch, n, ld, R: tl.constexpr):
    # P A = L U in place, one matrix after another.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + b * n * ld
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
            # The first of equal ones.
            p = tl.min(tl.where(best == top, best_at, 2147483647), axis=0)
            p = tl.where(top < 0.0, k, p)
            tl.store(pivots_ptr + b * n + k, p + 1)
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
            info = tl.where((info == 0) & (pivot == 0.0), k + 1, info)
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
        tl.store(info_ptr + b, info)


@triton.jit
def kernel_swap(pivots_ptr, x_ptr, batch, n, width, ld, BACKWARD: tl.constexpr, C: tl.constexpr):
    # The row swaps of the factorization, in their order or the other way round.
    cols = tl.program_id(0) * C + tl.arange(0, C)
    cmask = cols < width
    for b in range(tl.program_id(1).to(tl.int64), batch, tl.num_programs(1)):
        x = x_ptr + b * n * ld
        for j in range(0, n):
            k = j
            if BACKWARD:
                k = n - 1 - j
            p = tl.load(pivots_ptr + b * n + k) - 1
            if p != k:
                upper = tl.load(x + k * ld + cols, mask=cmask, other=0.0)
                lower = tl.load(x + p * ld + cols, mask=cmask, other=0.0)
                tl.store(x + k * ld + cols, lower, mask=cmask)
                tl.store(x + p * ld + cols, upper, mask=cmask)
            tl.debug_barrier()


@triton.jit
def kernel_substitute(a_ptr, x_ptr, batch, n, width, row_step, column_step, ld, UPPER: tl.constexpr, UNIT: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    # Solves T X = B in place; a program has some columns of X.
    cols = tl.program_id(0) * C + tl.arange(0, C)
    cmask = cols < width
    for b in range(tl.program_id(1).to(tl.int64), batch, tl.num_programs(1)):
        a = a_ptr + b * n * n
        x = x_ptr + b * n * ld
        for j in range(0, n):
            if UPPER:
                k = n - 1 - j
                low = 0
                high = k
            else:
                k = j
                low = k + 1
                high = n
            y = tl.load(x + k * ld + cols, mask=cmask, other=0.0)
            if not UNIT:
                y = y / tl.load(a + k * row_step + k * column_step)
                tl.store(x + k * ld + cols, y, mask=cmask)
            for r0 in range(low // R * R, high, R):
                rows = r0 + tl.arange(0, R)
                rmask = (rows >= low) & (rows < high)
                factor = tl.load(a + (rows * row_step + k * column_step)[:, None], mask=rmask[:, None], other=0.0)
                at = x + rows[:, None] * ld + cols[None, :]
                m = rmask[:, None] & cmask[None, :]
                t = tl.load(at, mask=m, other=0.0)
                tl.store(at, t - factor * y[None, :], mask=m)
            tl.debug_barrier()


def wrapper(A, B, *, left=True, check_errors=False, result, LU, pivots, info):
    sizes = list(A.shape)
    n = sizes[-1]
    batch = math.prod(sizes[:-2])
    if batch == 0:
        return result, LU, pivots, info
    vector = B.dim() == 1 or (B.dim() == A.dim() - 1 and list(B.shape) == sizes[:-1])
    sides = B.unsqueeze(-1) if vector else B
    right = sides if left else sides.mT
    width = right.shape[-1]
    lead = list(torch.broadcast_shapes(A.shape[:-2], right.shape[:-2]))
    total = math.prod(lead)

    pad = max(triton.cdiv(n, 8) * 8, 8)
    factors = torch.empty((batch, max(n, 1), pad), dtype=torch.float32, device=A.device)
    places = torch.empty((batch, max(n, 1)), dtype=torch.int32, device=A.device)
    codes = torch.empty((batch,), dtype=torch.int32, device=A.device)
    if n > 0:
        factors.narrow(2, 0, n).copy_(A.reshape(batch, n, n))
        ld = max(triton.cdiv(width, 8) * 8, 8)
        work = torch.empty((max(total, 1), n, ld), dtype=torch.float32, device=A.device)
        if total * width > 0:
            # Before any output is written: one may lie where B does.
            work.narrow(2, 0, width).copy_(right.expand(lead + [n, width]).reshape(total, n, width))
    rows = min(64, max(16, triton.next_power_of_2(max(n, 1))))
    kernel_lu[(min(batch, 4096),)](factors, places, codes, batch, n, pad, R=rows, enable_scatter_stores=True)
    info.copy_(codes.reshape(info.shape))
    if n == 0:
        return result, LU, pivots, info
    packed = factors.narrow(2, 0, n).reshape(sizes)
    steps = places.reshape(sizes[:-1])
    LU.copy_(packed)
    pivots.copy_(steps)
    if total == 0 or width == 0:
        return result, LU, pivots, info

    matrix = torch.empty((total, n, n), dtype=torch.float32, device=A.device)
    matrix.copy_(packed.expand(lead + [n, n]).reshape(total, n, n))
    order = torch.empty((total, n), dtype=torch.int32, device=A.device)
    order.copy_(steps.expand(lead + [n]).reshape(total, n))
    columns = min(64, max(8, triton.next_power_of_2(width)))
    if triton.cdiv(width, columns) > 32768:
        columns = triton.next_power_of_2(triton.cdiv(width, 32768))
    tiles = triton.cdiv(width, columns)
    grid = (tiles, max(1, min(total, 32768 // tiles)))
    # X A = B is A^T X^T = B^T.
    if not left:
        kernel_substitute[grid](matrix, work, total, n, width, 1, n, ld, UPPER=False, UNIT=False, R=rows, C=columns)
        kernel_substitute[grid](matrix, work, total, n, width, 1, n, ld, UPPER=True, UNIT=True, R=rows, C=columns)
        kernel_swap[grid](order, work, total, n, width, ld, BACKWARD=True, C=columns, enable_scatter_stores=True)
    else:
        kernel_swap[grid](order, work, total, n, width, ld, BACKWARD=False, C=columns, enable_scatter_stores=True)
        kernel_substitute[grid](matrix, work, total, n, width, n, 1, ld, UPPER=False, UNIT=True, R=rows, C=columns)
        kernel_substitute[grid](matrix, work, total, n, width, n, 1, ld, UPPER=True, UNIT=False, R=rows, C=columns)
    solved = work.narrow(2, 0, width).reshape(lead + [n, width])
    if not left:
        solved = solved.mT
    result.copy_(solved.squeeze(-1) if vector else solved)
    return result, LU, pivots, info
