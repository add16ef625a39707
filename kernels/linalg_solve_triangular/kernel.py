# Generated: the kernel of aten::linalg_solve_triangular for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
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


def wrapper(self, B, *, upper, left=True, unitriangular=False):
    n = self.shape[-1]
    lead = list(torch.broadcast_shapes(self.shape[:-2], B.shape[:-2]))
    # X A = B is A^T X^T = B^T.
    right = B if left else B.mT
    width = right.shape[-1]
    batch = math.prod(lead)
    # PyTorch's result has its columns side by side.
    result = torch.empty(lead + [B.shape[-1], B.shape[-2]], dtype=B.dtype, device=B.device).mT
    if batch == 0 or n == 0 or width == 0:
        return result
    matrix = torch.empty((batch, n, n), dtype=self.dtype, device=B.device)
    matrix.copy_(self.expand(lead + [n, n]).reshape(batch, n, n))
    ld = triton.cdiv(width, 8) * 8
    work = torch.empty((batch, n, ld), dtype=B.dtype, device=B.device)
    work.narrow(2, 0, width).copy_(right.expand(lead + [n, width]).reshape(batch, n, width))
    rows = min(64, max(16, triton.next_power_of_2(n)))
    columns = min(64, max(8, triton.next_power_of_2(width)))
    # A launch has a limited number of programs: more columns for each where there are very many.
    if triton.cdiv(width, columns) > 32768:
        columns = triton.next_power_of_2(triton.cdiv(width, 32768))
    tiles = triton.cdiv(width, columns)
    grid = (tiles, max(1, min(batch, 32768 // tiles)))
    row_step, column_step = (n, 1) if left else (1, n)
    backward = bool(upper) == bool(left)
    kernel_substitute[grid](matrix, work, batch, n, width, row_step, column_step, ld, UPPER=backward, UNIT=bool(unitriangular), R=rows, C=columns)
    solved = work.narrow(2, 0, width).reshape(lead + [n, width])
    result.copy_(solved if left else solved.mT)
    return result
