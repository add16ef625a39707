# Generated: the kernel of aten::linalg_lu_solve.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
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


def wrapper(LU, pivots, B, *, left=True, adjoint=False, out):
    n = LU.shape[-1]
    # X A = B is A^T X^T = B^T.
    right = B if left else B.mT
    width = right.shape[-1]
    lead = list(torch.broadcast_shapes(LU.shape[:-2], pivots.shape[:-1], B.shape[:-2]))
    batch = math.prod(lead)
    if batch == 0 or n == 0 or width == 0:
        return out
    matrix = torch.empty((batch, n, n), dtype=LU.dtype, device=B.device)
    matrix.copy_(LU.expand(lead + [n, n]).reshape(batch, n, n))
    places = torch.empty((batch, n), dtype=pivots.dtype, device=B.device)
    places.copy_(pivots.expand(lead + [n]).reshape(batch, n))
    ld = triton.cdiv(width, 8) * 8
    work = torch.empty((batch, n, ld), dtype=B.dtype, device=B.device)
    work.narrow(2, 0, width).copy_(right.expand(lead + [n, width]).reshape(batch, n, width))
    rows = min(64, max(16, triton.next_power_of_2(n)))
    columns = min(64, max(8, triton.next_power_of_2(width)))
    if triton.cdiv(width, columns) > 32768:
        columns = triton.next_power_of_2(triton.cdiv(width, 32768))
    tiles = triton.cdiv(width, columns)
    grid = (tiles, max(1, min(batch, 32768 // tiles)))
    turned = bool(adjoint) == bool(left)
    if turned:
        # A^T = U^T L^T P^T
        kernel_substitute[grid](matrix, work, batch, n, width, 1, n, ld, UPPER=False, UNIT=False, R=rows, C=columns)
        kernel_substitute[grid](matrix, work, batch, n, width, 1, n, ld, UPPER=True, UNIT=True, R=rows, C=columns)
        kernel_swap[grid](places, work, batch, n, width, ld, BACKWARD=True, C=columns, enable_scatter_stores=True)
    else:
        kernel_swap[grid](places, work, batch, n, width, ld, BACKWARD=False, C=columns, enable_scatter_stores=True)
        kernel_substitute[grid](matrix, work, batch, n, width, n, 1, ld, UPPER=False, UNIT=True, R=rows, C=columns)
        kernel_substitute[grid](matrix, work, batch, n, width, n, 1, ld, UPPER=True, UNIT=False, R=rows, C=columns)
    solved = work.narrow(2, 0, width).reshape(lead + [n, width])
    out.copy_(solved if left else solved.mT)
    return out
