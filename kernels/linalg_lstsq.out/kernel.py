# Generated: the kernel of aten::linalg_lstsq.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_begin(a_ptr, work_ptr, total, columns, height, even, pitch, offset, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        t = start + tl.arange(0, BLOCK)
        i = t % pitch
        left = t // pitch
        c = left % even
        b = left // even
        mask = (t < total) & (i < height) & (c < columns)
        x = tl.load(a_ptr + (b * columns * height + c * height + i)[:, None], mask=mask[:, None], other=0.0)
        x = tl.reshape(x, [BLOCK])
        x = tl.where((i == offset + c) & (c < columns), 1.0, x)
        tl.store(work_ptr + t, x, mask=t < total)


@triton.jit
def kernel_jacobi(work_ptr, even, height, pitch, PB: tl.constexpr, IB: tl.constexpr):
    # Columns of one matrix are turned in pairs until they are orthogonal; the rotations gather behind them.
    base = work_ptr + tl.program_id(0).to(tl.int64) * even * pitch
    ring = even - 1
    half = even // 2
    sweep = 0
    moved = 1
    while (sweep < 14) & (moved > 0):
        moved = 0
        for turn in range(0, ring):
            for k0 in range(0, half, PB):
                k = k0 + tl.arange(0, PB)
                live = k < half
                p = (turn + k) % ring
                q = tl.where(k == 0, ring, (turn + ring - k) % ring)
                p = tl.where(live, p, 0)[:, None]
                q = tl.where(live, q, 0)[:, None]
                alpha = tl.zeros([PB], tl.float32)
                beta = tl.zeros([PB], tl.float32)
                gamma = tl.zeros([PB], tl.float32)
                for i0 in range(0, height, IB):
                    i = (i0 + tl.arange(0, IB))[None, :]
                    mask = live[:, None] & (i < height)
                    x = tl.load(base + p * pitch + i, mask=mask, other=0.0)
                    y = tl.load(base + q * pitch + i, mask=mask, other=0.0)
                    alpha += tl.sum(x * x, axis=1)
                    beta += tl.sum(y * y, axis=1)
                    gamma += tl.sum(x * y, axis=1)
                act = live & (tl.abs(gamma) > 1.5e-7 * tl.sqrt(alpha) * tl.sqrt(beta)) & (gamma != 0.0)
                safe = tl.where(act, gamma, 1.0)
                zeta = tl.where(act, (beta - alpha) / (2.0 * safe), 0.0)
                t = 1.0 / (tl.abs(zeta) + tl.sqrt(1.0 + zeta * zeta))
                t = tl.where(zeta < 0.0, -t, t)
                cs = 1.0 / tl.sqrt(1.0 + t * t)
                sn = tl.where(act, cs * t, 0.0)[:, None]
                cs = tl.where(act, cs, 1.0)[:, None]
                moved += tl.sum(act.to(tl.int32), axis=0)
                for i0 in range(0, pitch, IB):
                    i = (i0 + tl.arange(0, IB))[None, :]
                    mask = act[:, None] & (i < pitch)
                    x = tl.load(base + p * pitch + i, mask=mask, other=0.0)
                    y = tl.load(base + q * pitch + i, mask=mask, other=0.0)
                    tl.store(base + p * pitch + i, cs * x - sn * y, mask=mask)
                    tl.store(base + q * pitch + i, sn * x + cs * y, mask=mask)
            tl.debug_barrier()
        sweep += 1


@triton.jit
def kernel_values(work_ptr, sigma_ptr, values_ptr, rank_ptr, columns, height, even, pitch, space, rcond,
                  CB: tl.constexpr, IB: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, CB)
    base = work_ptr + b * even * pitch
    total = tl.zeros([CB], tl.float32)
    for i0 in range(0, height, IB):
        i = (i0 + tl.arange(0, IB))[None, :]
        x = tl.load(base + c[:, None] * pitch + i, mask=(c < columns)[:, None] & (i < height), other=0.0)
        total += tl.sum(x * x, axis=1)
    sigma = tl.sqrt_rn(total)
    tl.store(sigma_ptr + b * space + c, sigma, mask=c < columns)
    tl.debug_barrier()
    place = tl.zeros([CB], tl.int32)
    for j in range(0, columns):
        other = tl.load(sigma_ptr + b * space + j)
        place += ((other > sigma) | ((other == sigma) & (j < c))).to(tl.int32)
    tl.store(values_ptr + (b * columns + place)[:, None], sigma[:, None], mask=(c < columns)[:, None])
    most = tl.max(sigma, axis=0)
    kept = (c < columns) & (sigma > rcond * most)
    tl.store(rank_ptr + b, tl.sum(kept.to(tl.int32), axis=0).to(tl.int64))


@triton.jit
def kernel_apply(work_ptr, sigma_ptr, rhs_ptr, x_ptr, m, n, many, columns, even, pitch, space, rcond, from_at, to_at,
                 ADD: tl.constexpr, CB: tl.constexpr, IB: tl.constexpr):
    item = tl.program_id(0).to(tl.int64)
    b = item // many
    c = tl.arange(0, CB)
    base = work_ptr + b * even * pitch + c[:, None] * pitch
    have = (c < columns)[:, None]
    sigma = tl.load(sigma_ptr + b * space + c, mask=c < columns, other=0.0)
    kept = (sigma > rcond * tl.max(sigma, axis=0)) & (sigma > 0.0)
    dots = tl.zeros([CB], tl.float32)
    for i0 in range(0, m, IB):
        i = i0 + tl.arange(0, IB)
        r = tl.reshape(tl.load(rhs_ptr + item * m + i[:, None], mask=(i < m)[:, None], other=0.0), [IB])
        u = tl.load(base + (from_at + i)[None, :], mask=have & (i < m)[None, :], other=0.0)
        dots += tl.sum(u * r[None, :], axis=1)
    safe = tl.where(kept, sigma, 1.0)
    parts = tl.where(kept, dots / safe / safe, 0.0)
    for i0 in range(0, n, IB):
        i = i0 + tl.arange(0, IB)
        z = tl.load(base + (to_at + i)[None, :], mask=have & (i < n)[None, :], other=0.0)
        y = tl.sum(z * parts[:, None], axis=0)[:, None]
        at = x_ptr + item * n + i[:, None]
        if ADD:
            y = y + tl.load(at, mask=(i < n)[:, None], other=0.0)
        tl.store(at, y, mask=(i < n)[:, None])


@triton.jit
def kernel_residual(a_ptr, rhs_ptr, x_ptr, left_ptr, squares_ptr, m, n, many, IB: tl.constexpr, JB: tl.constexpr):
    item = tl.program_id(0).to(tl.int64)
    b = item // many
    total = 0.0
    for i0 in range(0, m, IB):
        i = i0 + tl.arange(0, IB)
        acc = tl.reshape(tl.load(rhs_ptr + item * m + i[:, None], mask=(i < m)[:, None], other=0.0), [IB])
        for j0 in range(0, n, JB):
            j = j0 + tl.arange(0, JB)
            at = b * m * n + i[:, None] * n + j[None, :]
            mask = (i < m)[:, None] & (j < n)[None, :]
            a = tl.reshape(tl.load(a_ptr + at[:, :, None], mask=mask[:, :, None], other=0.0), [IB, JB])
            x = tl.reshape(tl.load(x_ptr + item * n + j[:, None], mask=(j < n)[:, None], other=0.0), [JB])
            acc = acc - tl.sum(a * x[None, :], axis=1)
        tl.store(left_ptr + item * m + i[:, None], acc[:, None], mask=(i < m)[:, None])
        total += tl.sum(acc * acc, axis=0)
    tl.store(squares_ptr + item, total)


@triton.jit
def kernel_full(rank_ptr, flag_ptr, batch, n, BLOCK: tl.constexpr):
    missing = tl.zeros([BLOCK], tl.int32)
    for start in range(0, batch, BLOCK):
        at = start + tl.arange(0, BLOCK)
        r = tl.load(rank_ptr + at, mask=at < batch, other=0)
        missing += ((at < batch) & (r != n)).to(tl.int32)
    tl.store(flag_ptr, tl.minimum(tl.sum(missing, axis=0), 1))


@triton.jit
def kernel_zero(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.zeros([BLOCK], x_ptr.dtype.element_ty), mask=at < n)


def zero(x):
    if x.numel() > 0:
        kernel_zero[(triton.cdiv(x.numel(), 4096),)](x, x.numel(), BLOCK=4096)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def put(out, shape, result):
    if list(out.shape) != list(shape):
        out.resize_(shape)
    if result is not None and out.numel() > 0:
        out.copy_(result)


def wrapper(self, b, rcond=None, *, driver=None, solution, residuals, rank, singular_values):
    driver = "gelsy" if driver is None else driver
    m, n = self.shape[-2], self.shape[-1]
    vector = b.dim() == 1 or (self.dim() - 1 == b.dim() and list(b.shape) == list(self.shape)[:-1])
    rhs = b.unsqueeze(-1) if vector else b
    many = rhs.shape[-1]
    shape = list(torch.broadcast_shapes(self.shape[:-2], rhs.shape[:-2]))
    batch = math.prod(shape)
    device = self.device
    least = min(m, n)
    height = max(m, n)
    cut = torch.finfo(torch.float32).eps * height if rcond is None else float(rcond)
    if cut < 0.0:
        cut = torch.finfo(torch.float32).eps
    x = torch.empty(shape + [many, n], dtype=torch.float32, device=device)
    ranks = torch.empty(shape, dtype=torch.int64, device=device)
    values = torch.empty(shape + [least], dtype=torch.float32, device=device)
    squares = torch.empty(shape + [many], dtype=torch.float32, device=device)
    a = self.expand(shape + [m, n])
    r = rhs.expand(shape + [m, many])
    if batch > 0 and m * many > 0:
        r = aligned(r.transpose(-2, -1))
    if batch > 0 and least > 0:
        flat = aligned(a)
        tall = aligned(flat.transpose(-2, -1)) if m >= n else flat
        even = (least + 1) // 2 * 2
        offset = triton.cdiv(height, 32) * 32
        pitch = offset + triton.cdiv(least, 32) * 32
        space = triton.cdiv(least, 32) * 32
        work = torch.empty((batch, even, pitch), dtype=torch.float32, device=device)
        sigma = torch.empty((batch, space), dtype=torch.float32, device=device)
        total = batch * even * pitch
        kernel_begin[(min(triton.cdiv(total, 1024), 4096),)](
            tall, work, total, least, height, even, pitch, offset, BLOCK=1024)
        pairs = min(max(triton.next_power_of_2(even // 2), 2), 64)
        kernel_jacobi[(batch,)](work, even, height, pitch, PB=pairs, IB=64, enable_scatter_stores=True)
        every = max(triton.next_power_of_2(least), 16)
        kernel_values[(batch,)](work, sigma, values, ranks, least, height, even, pitch, space, cut, CB=every, IB=32,
                                enable_scatter_stores=True)
        if many > 0:
            limit = 0.0 if driver == "gels" else cut
            from_at, to_at = (0, offset) if m >= n else (offset, 0)
            left = torch.empty(shape + [many, m], dtype=torch.float32, device=device)
            grid = (batch * many,)
            kernel_apply[grid](work, sigma, r, x, m, n, many, least, even, pitch, space, limit, from_at, to_at,
                               ADD=False, CB=every, IB=32)
            kernel_residual[grid](flat, r, x, left, squares, m, n, many, IB=32, JB=32)
            kernel_apply[grid](work, sigma, left, x, m, n, many, least, even, pitch, space, limit, from_at, to_at,
                               ADD=True, CB=every, IB=32)
            kernel_residual[grid](flat, r, x, left, squares, m, n, many, IB=32, JB=32)
    else:
        zero(x)
        zero(ranks)
        zero(values)
        zero(squares)
        if batch > 0 and m > 0 and many > 0:
            left = torch.empty(shape + [many, m], dtype=torch.float32, device=device)
            kernel_residual[(batch * many,)](r, r, r, left, squares, m, n, many, IB=32, JB=32)
    compute = m > n and driver != "gelsy"
    if compute and driver != "gels" and batch > 0:
        flag = torch.empty((1,), dtype=torch.int32, device=device)
        kernel_full[(1,)](ranks, flag, batch, n, BLOCK=1024)
        compute = flag.item() == 0
    if vector:
        put(solution, shape + [n], x.reshape(shape + [n]))
    else:
        put(solution, shape + [n, many], x.transpose(-2, -1))
    if compute:
        put(residuals, shape + [many], squares)
    else:
        put(residuals, [0], None)
    if driver != "gels":
        put(rank, shape, ranks)
    else:
        put(rank, [0], None)
    if driver == "gelsd" or driver == "gelss":
        put(singular_values, shape + [least], values)
    else:
        put(singular_values, [0], None)
    return solution, residuals, rank, singular_values
