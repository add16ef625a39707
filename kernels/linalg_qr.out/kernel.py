# Generated: the kernel of aten::linalg_qr.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_reflect(w_ptr, v_ptr, tau_ptr, batch, m, n, steps, ld, v_ld, R: tl.constexpr, C: tl.constexpr):
    # Householder reflections as LAPACK takes them: w becomes the triangle, row k of v the vector of step k.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + b * m * ld
        for k in range(0, steps):
            v = v_ptr + (b * steps + k) * v_ld
            alpha = tl.load(w + k * ld + k)
            largest = tl.zeros([R], dtype=tl.float32)
            for p0 in range((k + 1) // R * R, m, R):
                prows = p0 + tl.arange(0, R)
                pmask = (prows > k) & (prows < m)
                x = tl.load(w + (prows * ld + k)[:, None], mask=pmask[:, None], other=0.0)
                largest = tl.maximum(largest, tl.abs(tl.reshape(x, [R])))
            below = tl.max(largest, axis=0)
            scale = tl.maximum(below, tl.abs(alpha))
            scale = tl.where(scale > 0.0, scale, 1.0)
            squares = tl.zeros([R], dtype=tl.float32)
            for s0 in range((k + 1) // R * R, m, R):
                srows = s0 + tl.arange(0, R)
                smask = (srows > k) & (srows < m)
                x = tl.load(w + (srows * ld + k)[:, None], mask=smask[:, None], other=0.0)
                x = tl.reshape(x, [R]) / scale
                squares += x * x
            total = tl.sum(squares, axis=0)
            head = alpha / scale
            norm = tl.sqrt_rn(total + head * head)
            trivial = (below == 0.0) & (total == 0.0)
            # Everything in units of `scale`, which does not overflow.
            beta = tl.where(alpha < 0.0, norm, -norm)
            tau = tl.where(trivial, 0.0, (beta - head) / tl.where(trivial, 1.0, beta))
            pivot = tl.where(trivial, 1.0, head - beta)
            tl.store(tau_ptr + b * steps + k, tau)
            for t0 in range(k // R * R, m, R):
                trows = t0 + tl.arange(0, R)
                tmask = (trows >= k) & (trows < m)
                column = w + (trows * ld + k)[:, None]
                x = tl.load(column, mask=tmask[:, None], other=0.0)
                y = tl.reshape(x, [R]) / scale / pivot
                y = tl.where(trows == k, 1.0, tl.where(trivial, 0.0, y))
                tl.store(v + trows, y, mask=tmask)
                end = tl.where(trivial, alpha, beta * scale)
                new = tl.where(trows == k, end, 0.0)
                tl.store(column, new[:, None], mask=tmask[:, None])
            tl.debug_barrier()
            for c0 in range((k + 1) // C * C, n, C):
                cols = c0 + tl.arange(0, C)
                cmask = (cols > k) & (cols < n)
                dots = tl.zeros([C], dtype=tl.float32)
                for q0 in range(k // R * R, m, R):
                    qrows = q0 + tl.arange(0, R)
                    qmask = (qrows >= k) & (qrows < m)
                    y = tl.load(v + qrows, mask=qmask, other=0.0)
                    a = tl.load(w + qrows[:, None] * ld + cols[None, :], mask=qmask[:, None] & cmask[None, :], other=0.0)
                    dots += tl.sum(y[:, None] * a, axis=0)
                dots = dots * tau
                for r0 in range(k // R * R, m, R):
                    rows = r0 + tl.arange(0, R)
                    rmask = (rows >= k) & (rows < m)
                    y = tl.load(v + rows, mask=rmask, other=0.0)
                    at = w + rows[:, None] * ld + cols[None, :]
                    both = rmask[:, None] & cmask[None, :]
                    a = tl.load(at, mask=both, other=0.0)
                    tl.store(at, a - y[:, None] * dots[None, :], mask=both)
            tl.debug_barrier()


@triton.jit
def kernel_collect(q_ptr, v_ptr, tau_ptr, batch, m, width, steps, ld, v_ld, R: tl.constexpr, C: tl.constexpr):
    # The product of the reflections, from the last to the first, on the identity; a program has some columns.
    cols = tl.program_id(0) * C + tl.arange(0, C)
    cmask = cols < width
    for b in range(tl.program_id(1).to(tl.int64), batch, tl.num_programs(1)):
        q = q_ptr + b * m * ld
        for i0 in range(0, m, R):
            irows = i0 + tl.arange(0, R)
            one = tl.where(irows[:, None] == cols[None, :], 1.0, 0.0)
            tl.store(q + irows[:, None] * ld + cols[None, :], one, mask=(irows < m)[:, None] & cmask[None, :])
        tl.debug_barrier()
        for j in range(0, steps):
            k = steps - 1 - j
            v = v_ptr + (b * steps + k) * v_ld
            tau = tl.load(tau_ptr + b * steps + k)
            dots = tl.zeros([C], dtype=tl.float32)
            for q0 in range(k // R * R, m, R):
                qrows = q0 + tl.arange(0, R)
                qmask = (qrows >= k) & (qrows < m)
                y = tl.load(v + qrows, mask=qmask, other=0.0)
                a = tl.load(q + qrows[:, None] * ld + cols[None, :], mask=qmask[:, None] & cmask[None, :], other=0.0)
                dots += tl.sum(y[:, None] * a, axis=0)
            dots = dots * tau
            for r0 in range(k // R * R, m, R):
                rows = r0 + tl.arange(0, R)
                rmask = (rows >= k) & (rows < m)
                y = tl.load(v + rows, mask=rmask, other=0.0)
                at = q + rows[:, None] * ld + cols[None, :]
                both = rmask[:, None] & cmask[None, :]
                a = tl.load(at, mask=both, other=0.0)
                tl.store(at, a - y[:, None] * dots[None, :], mask=both)
            tl.debug_barrier()


def wrapper(A, mode="reduced", *, Q, R):
    sizes = list(A.shape)
    lead = sizes[:-2]
    m, n = sizes[-2], sizes[-1]
    steps = min(m, n)
    batch = math.prod(lead)
    if batch == 0 or m == 0:
        return Q, R
    ld = max(triton.cdiv(n, 8) * 8, 8)
    v_ld = triton.cdiv(m, 8) * 8
    vectors = torch.empty((batch, max(steps, 1), v_ld), dtype=torch.float32, device=A.device)
    taus = torch.empty((batch, max(steps, 1)), dtype=torch.float32, device=A.device)
    rows = min(64, max(16, triton.next_power_of_2(m)))
    columns = min(64, max(16, triton.next_power_of_2(max(n, 1))))
    if steps > 0:
        work = torch.empty((batch, m, ld), dtype=torch.float32, device=A.device)
        work.narrow(2, 0, n).copy_(A.reshape(batch, m, n))
        kernel_reflect[(min(batch, 4096),)](work, vectors, taus, batch, m, n, steps, ld, v_ld, R=rows, C=columns)
    if mode != "r":
        width = m if mode == "complete" else steps
        if width > 0:
            q_ld = triton.cdiv(width, 8) * 8
            product = torch.empty((batch, m, q_ld), dtype=torch.float32, device=A.device)
            block = min(64, max(16, triton.next_power_of_2(width)))
            tiles = triton.cdiv(width, block)
            grid = (tiles, max(1, min(batch, 32768 // tiles)))
            kernel_collect[grid](product, vectors, taus, batch, m, width, steps, q_ld, v_ld, R=rows, C=block)
            Q.copy_(product.narrow(2, 0, width).reshape(lead + [m, width]))
    if steps > 0:
        high = m if mode == "complete" else steps
        R.copy_(work.narrow(2, 0, n).narrow(1, 0, high).reshape(lead + [high, n]))
    return Q, R
