# Generated: the kernel of aten::_linalg_eigh.eigenvalues for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_symmetric(a_ptr, t_ptr, w_ptr, v_ptr, batch, n, ld, R: tl.constexpr):
    # The whole symmetric matrix from the lower triangles of a, whose transpose is t; and the identity.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        for r0 in range(0, n, R):
            i = r0 + tl.arange(0, R)[:, None]
            for c0 in range(0, n, R):
                j = c0 + tl.arange(0, R)[None, :]
                mask = (i < n) & (j < n)
                low = tl.load(a_ptr + b * n * ld + i * ld + j, mask=mask & (i >= j), other=0.0)
                high = tl.load(t_ptr + b * n * ld + i * ld + j, mask=mask & (i < j), other=0.0)
                tl.store(w_ptr + b * 2 * n * ld + i * ld + j, tl.where(i >= j, low, high), mask=mask)
                tl.store(v_ptr + b * 2 * n * ld + i * ld + j, tl.where(i == j, 1.0, 0.0), mask=mask)


@triton.jit
def other(x, turn, even):
    # The index that x meets in a round of a tournament of an even number of them.
    y = (2 * turn - x + even - 1) % (even - 1)
    y = tl.where(y == x, even - 1, y)
    return tl.where(x == even - 1, turn, y)


@triton.jit
def kernel_jacobi(w_ptr, v_ptr, s_ptr, side_ptr, batch, n, even, ld, VECTORS: tl.constexpr, R: tl.constexpr):
    # Rounds of rotations J of disjoint pairs: A becomes J^T A J, as two times the transpose of J^T A, from one half of
    # the memory to the other and back. V^T becomes J^T V^T, its halves take turns.
    size = n * ld
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + b * 2 * size
        v = v_ptr + b * 2 * size
        s = s_ptr + b * ld
        go = 1
        side = 0
        for sweep in range(0, 16):
            if go > 0:
                largest = tl.zeros([R], dtype=tl.float32)
                diagonal = tl.zeros([R], dtype=tl.float32)
                for turn in range(0, even - 1):
                    for x0 in range(0, n, R):
                        x = x0 + tl.arange(0, R)
                        y = other(x, turn, even)
                        pair = (x < n) & (y < n)
                        p = tl.minimum(x, y)
                        q = tl.maximum(x, y)
                        one = pair[:, None]
                        app = tl.reshape(tl.load(w + (p * ld + p)[:, None], mask=one, other=0.0), [R])
                        aqq = tl.reshape(tl.load(w + (q * ld + q)[:, None], mask=one, other=0.0), [R])
                        apq = tl.reshape(tl.load(w + (p * ld + q)[:, None], mask=one, other=0.0), [R])
                        largest = tl.maximum(largest, tl.abs(apq))
                        diagonal = tl.maximum(diagonal, tl.maximum(tl.abs(app), tl.abs(aqq)))
                        some = pair & (apq != 0.0)
                        theta = (aqq * 0.5 - app * 0.5) / tl.where(some, apq, 1.0)
                        t = 1.0 / (tl.abs(theta) + tl.sqrt_rn(1.0 + theta * theta))
                        t = tl.where(theta < 0.0, -t, t)
                        sine = t / tl.sqrt_rn(1.0 + t * t)
                        sine = tl.where(some, tl.where(x == p, -sine, sine), 0.0)
                        tl.store(s + x, sine, mask=x < n)
                    tl.debug_barrier()
                    for half in range(0, 2):
                        source = w + half * size
                        target = w + (1 - half) * size
                        for r0 in range(0, n, R):
                            rows = r0 + tl.arange(0, R)
                            partner = other(rows, turn, even)
                            partner = tl.where((rows < n) & (partner < n), partner, rows)
                            sine2 = tl.load(s + rows, mask=rows < n, other=0.0)
                            less = sine2 * sine2 / (1.0 + tl.sqrt_rn(1.0 - sine2 * sine2))
                            for c0 in range(0, n, R):
                                cols = c0 + tl.arange(0, R)
                                mask = (rows < n)[:, None] & (cols < n)[None, :]
                                mine = tl.load(source + rows[:, None] * ld + cols[None, :], mask=mask, other=0.0)
                                its = tl.load(source + partner[:, None] * ld + cols[None, :], mask=mask, other=0.0)
                                new = mine + (sine2[:, None] * its - less[:, None] * mine)
                                back = (cols < n)[:, None] & (rows < n)[None, :]
                                tl.store(target + cols[:, None] * ld + rows[None, :], tl.trans(new), mask=back)
                        tl.debug_barrier()
                    if VECTORS:
                        vsource = v + side * size
                        vtarget = v + (1 - side) * size
                        for k0 in range(0, n, R):
                            krows = k0 + tl.arange(0, R)
                            friend = other(krows, turn, even)
                            friend = tl.where((krows < n) & (friend < n), friend, krows)
                            sine3 = tl.load(s + krows, mask=krows < n, other=0.0)
                            less3 = sine3 * sine3 / (1.0 + tl.sqrt_rn(1.0 - sine3 * sine3))
                            for l0 in range(0, n, R):
                                kcols = l0 + tl.arange(0, R)
                                kmask = (krows < n)[:, None] & (kcols < n)[None, :]
                                own = tl.load(vsource + krows[:, None] * ld + kcols[None, :], mask=kmask, other=0.0)
                                far = tl.load(vsource + friend[:, None] * ld + kcols[None, :], mask=kmask, other=0.0)
                                turned = own + (sine3[:, None] * far - less3[:, None] * own)
                                tl.store(vtarget + krows[:, None] * ld + kcols[None, :], turned, mask=kmask)
                    side = 1 - side
                    tl.debug_barrier()
                top = tl.max(largest, axis=0)
                scale = tl.max(diagonal, axis=0)
                go = tl.where(top <= scale * 4.76837158203125e-07, 0, 1)
        # In which half the vectors end.
        tl.store(side_ptr + b, side)


@triton.jit
def kernel_rank(w_ptr, rank_ptr, batch, n, ld, R: tl.constexpr):
    # How many diagonal elements come before each.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + b * 2 * n * ld
        for x0 in range(0, n, R):
            x = x0 + tl.arange(0, R)
            mine = tl.load(w + (x * ld + x)[:, None], mask=(x < n)[:, None], other=0.0)
            rank = tl.zeros([R], dtype=tl.int32)
            for y0 in range(0, n, R):
                y = y0 + tl.arange(0, R)
                its = tl.load(w + (y * ld + y)[:, None], mask=(y < n)[:, None], other=0.0)
                its = tl.reshape(its, [1, R])
                before = (its < mine) | ((its == mine) & (y[None, :] < x[:, None]))
                before = before & (y < n)[None, :]
                rank += tl.sum(tl.where(before, 1, 0), axis=1)
            tl.store(rank_ptr + b * ld + x, rank, mask=x < n)


@triton.jit
def kernel_order(w_ptr, v_ptr, side_ptr, rank_ptr, value_ptr, vector_ptr, batch, n, ld, VECTORS: tl.constexpr, R: tl.constexpr):
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        v = v_ptr + (b * 2 + tl.load(side_ptr + b)) * n * ld
        for j0 in range(0, n, R):
            j = j0 + tl.arange(0, R)
            source = tl.zeros([R], dtype=tl.int32)
            for x0 in range(0, n, R):
                x = x0 + tl.arange(0, R)
                rank = tl.load(rank_ptr + b * ld + x, mask=x < n, other=-1)
                source += tl.sum(tl.where(rank[None, :] == j[:, None], x[None, :], 0), axis=1)
            source = tl.minimum(source, n - 1)
            value = tl.load(w_ptr + b * 2 * n * ld + (source * ld + source)[:, None], mask=(j < n)[:, None], other=0.0)
            tl.store(value_ptr + b * ld + j, tl.reshape(value, [R]), mask=j < n)
            if VECTORS:
                for c0 in range(0, n, R):
                    cols = c0 + tl.arange(0, R)
                    mask = (j < n)[:, None] & (cols < n)[None, :]
                    row = tl.load(v + source[:, None] * ld + cols[None, :], mask=mask, other=0.0)
                    tl.store(vector_ptr + b * n * ld + j[:, None] * ld + cols[None, :], row, mask=mask)


def wrapper(A, UPLO="L", compute_v=True, *, eigenvalues, eigenvectors):
    sizes = list(A.shape)
    lead = sizes[:-2]
    n = sizes[-1]
    batch = math.prod(lead)
    if batch == 0 or n == 0:
        return eigenvalues, eigenvectors
    device = A.device
    ld = triton.cdiv(n, 8) * 8
    source = A if UPLO in ("L", "l") else A.mT
    straight = torch.empty((batch, n, ld), dtype=torch.float32, device=device)
    straight.narrow(2, 0, n).copy_(source.reshape(batch, n, n))
    across = torch.empty((batch, n, ld), dtype=torch.float32, device=device)
    across.narrow(2, 0, n).copy_(source.mT.reshape(batch, n, n))
    work = torch.empty((batch, 2, n, ld), dtype=torch.float32, device=device)
    turned = torch.empty((batch, 2, n, ld), dtype=torch.float32, device=device)
    sines = torch.empty((batch, ld), dtype=torch.float32, device=device)
    ranks = torch.empty((batch, ld), dtype=torch.int32, device=device)
    sides = torch.empty((batch,), dtype=torch.int32, device=device)
    values = torch.empty((batch, ld), dtype=torch.float32, device=device)
    vectors = torch.empty((batch, n, ld), dtype=torch.float32, device=device)
    block = min(64, max(16, triton.next_power_of_2(n)))
    grid = (min(batch, 4096),)
    wanted = bool(compute_v)
    kernel_symmetric[grid](straight, across, work, turned, batch, n, ld, R=block)
    kernel_jacobi[grid](work, turned, sines, sides, batch, n, n + n % 2, ld, VECTORS=wanted, R=block)
    kernel_rank[grid](work, ranks, batch, n, ld, R=block)
    kernel_order[grid](work, turned, sides, ranks, values, vectors, batch, n, ld, VECTORS=wanted, R=block)
    eigenvalues.copy_(values.narrow(1, 0, n).reshape(lead + [n]))
    if wanted:
        eigenvectors.copy_(vectors.narrow(2, 0, n).reshape(sizes).mT)
    return eigenvalues, eigenvectors
