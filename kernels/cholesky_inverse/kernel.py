# Generated: the kernel of aten::cholesky_inverse for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_one(x_ptr, total, n, ld, R: tl.constexpr, C: tl.constexpr):
    # Identity matrices: row `row` of all of them has its one in column row % n.
    for r0 in range(tl.program_id(0).to(tl.int64) * R, total, tl.num_programs(0).to(tl.int64) * R):
        rows = r0 + tl.arange(0, R)
        for c0 in range(0, ld, C):
            cols = c0 + tl.arange(0, C)
            one = tl.where((rows % n)[:, None] == cols[None, :], 1.0, 0.0)
            tl.store(x_ptr + rows[:, None] * ld + cols[None, :], one, mask=(rows < total)[:, None] & (cols < ld)[None, :])


@triton.jit
def kernel_substitute(a_ptr, x_ptr, batch, n, width, row_step, column_step, ld, UPPER: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
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


def wrapper(self, upper=False):
    sizes = list(self.shape)
    n = sizes[-1]
    batch = math.prod(sizes[:-2])
    # PyTorch's result has its columns side by side.
    result = torch.empty(sizes, dtype=self.dtype, device=self.device).mT
    if batch == 0 or n == 0:
        return result
    matrix = torch.empty((batch, n, n), dtype=self.dtype, device=self.device)
    matrix.copy_(self.reshape(batch, n, n))
    ld = triton.cdiv(n, 8) * 8
    work = torch.empty((batch, n, ld), dtype=self.dtype, device=self.device)
    block = min(64, max(16, triton.next_power_of_2(n)))
    kernel_one[(min(triton.cdiv(batch * n, block), 4096),)](work, batch * n, n, ld, R=block, C=block)
    tiles = triton.cdiv(n, block)
    grid = (tiles, max(1, min(batch, 32768 // tiles)))
    # With L = U^T, either way first L Y = I, then L^T X = Y; only the half that is meant is read.
    row_step, column_step = (1, n) if upper else (n, 1)
    kernel_substitute[grid](matrix, work, batch, n, n, row_step, column_step, ld, UPPER=False, R=block, C=block)
    kernel_substitute[grid](matrix, work, batch, n, n, column_step, row_step, ld, UPPER=True, R=block, C=block)
    result.copy_(work.narrow(2, 0, n).reshape(sizes))
    return result
