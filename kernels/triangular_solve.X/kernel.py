# Generated: the kernel of aten::triangular_solve.X for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_move(from_ptr, to_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, tl.num_programs(0).to(tl.int64) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(to_ptr + at, tl.load(from_ptr + at, mask=at < n), mask=at < n)


def moved(x):
    # The coefficients are a result as well, and a kernel writes each element of a result.
    source = torch.empty(list(x.shape), dtype=x.dtype, device=x.device)
    source.copy_(x)
    target = torch.empty(list(x.shape), dtype=x.dtype, device=x.device)
    n = target.numel()
    kernel_move[(min(triton.cdiv(n, 1024), 16384),)](source, target, n, BLOCK=1024)
    return target


@triton.jit
def kernel_solve(
    a_ptr, b_ptr, x_ptr, m, k, tiles, total,
    FORWARD: tl.constexpr, UNIT: tl.constexpr, RHS: tl.constexpr, WIDTH: tl.constexpr,
):
    # a: per batch, row i is column i of the coefficients; b and x: per batch, one row for each right-hand side.
    # All rows are WIDTH elements apart, so that each begins aligned.
    cols = tl.arange(0, WIDTH)
    inside = cols < m
    for work in range(tl.program_id(0), total, tl.num_programs(0)):
        batch = (work // tiles).to(tl.int64)
        rhs = (work % tiles) * RHS + tl.arange(0, RHS)
        where = (batch * k + rhs.to(tl.int64)) * WIDTH
        mask = (rhs < k)[:, None] & inside[None, :]
        x = tl.load(b_ptr + where[:, None] + cols[None, :], mask=mask, other=0.0)
        a_batch = a_ptr + batch * m * WIDTH
        for step in range(0, m):
            if FORWARD:
                i = step
                below = inside & (cols > i)
            else:
                i = m - 1 - step
                below = cols < i
            at = cols == i
            if UNIT:
                column = tl.load(a_batch + i * WIDTH + cols, mask=below, other=0.0)
                solved = tl.sum(tl.where(at[None, :], x, 0.0), axis=1)
            else:
                column = tl.load(a_batch + i * WIDTH + cols, mask=below | at, other=0.0)
                diagonal = tl.sum(tl.where(at, column, 0.0), axis=0)
                solved = tl.sum(tl.where(at[None, :], x, 0.0), axis=1) / diagonal
            rest = tl.where(below[None, :], x - solved[:, None] * column[None, :], x)
            x = tl.where(at[None, :], solved[:, None], rest)
        tl.store(x_ptr + where[:, None] + cols[None, :], x, mask=mask)


def wrapper(self, A, upper=True, transpose=False, unitriangular=False, *, X, M):
    m, k = self.shape[-2], self.shape[-1]
    batches = list(X.shape[:-2])
    count = math.prod(batches)
    all_a = A.expand(batches + [m, m])
    result = None
    if X.numel() > 0:
        width = max(triton.next_power_of_2(m), 16)
        a_rows = torch.empty(batches + [m, width], dtype=A.dtype, device=A.device)
        a_rows.narrow(-1, 0, m).copy_(all_a if transpose else all_a.mT)
        b_rows = torch.empty(batches + [k, width], dtype=A.dtype, device=A.device)
        b_rows.narrow(-1, 0, m).copy_(self.expand(batches + [m, k]).mT)
        x_rows = torch.empty(batches + [k, width], dtype=A.dtype, device=A.device)
        block = max(min(triton.next_power_of_2(k), 16384 // width, 128), 1)
        tiles = triton.cdiv(k, block)
        total = count * tiles
        forward = (not upper) != (not not transpose)
        kernel_solve[(min(total, 16384),)](
            a_rows, b_rows, x_rows, m, k, tiles, total,
            FORWARD=forward, UNIT=not not unitriangular, RHS=block, WIDTH=width,
        )
        result = x_rows.narrow(-1, 0, m).mT
    if M.numel() > 0:
        M.copy_(moved(all_a))
    if result is not None:
        X.copy_(result)
    return X, M
