# Generated: the kernel of aten::_linalg_svd.U for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def other(x, turn, even):
    # The index that x meets in a round of a tournament of an even number of them.
    y = (2 * turn - x + even - 1) % (even - 1)
    y = tl.where(y == x, even - 1, y)
    return tl.where(x == even - 1, turn, y)


@triton.jit
def kernel_prepare(x_ptr, w_ptr, v_ptr, scale_ptr, batch, n, length, ld, v_ld, R: tl.constexpr, C: tl.constexpr):
    # The rows divided by a power of two, so that their squares do not overflow; and the identity.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        x = x_ptr + b * n * ld
        w = w_ptr + b * 2 * n * ld
        v = v_ptr + b * 2 * n * v_ld
        largest = tl.zeros([R], dtype=tl.float32)
        for i0 in range(0, n, R):
            i = i0 + tl.arange(0, R)[:, None]
            for j0 in range(0, length, C):
                j = j0 + tl.arange(0, C)[None, :]
                a = tl.load(x + i * ld + j, mask=(i < n) & (j < length), other=0.0)
                largest = tl.maximum(largest, tl.max(tl.abs(a), axis=1))
        top = tl.max(largest, axis=0)
        scale = (top.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)
        scale = tl.where((scale > 0.0) & (scale < 3.0e38), scale, 1.0)
        tl.store(scale_ptr + b, scale)
        for r0 in range(0, n, R):
            r = r0 + tl.arange(0, R)[:, None]
            for c0 in range(0, length, C):
                c = c0 + tl.arange(0, C)[None, :]
                mask = (r < n) & (c < length)
                a = tl.load(x + r * ld + c, mask=mask, other=0.0)
                tl.store(w + r * ld + c, a / scale, mask=mask)
            for d0 in range(0, n, C):
                d = d0 + tl.arange(0, C)[None, :]
                tl.store(v + r * v_ld + d, tl.where(r == d, 1.0, 0.0), mask=(r < n) & (d < n))


@triton.jit
def kernel_jacobi(w_ptr, v_ptr, side_ptr, batch, n, even, length, ld, v_ld, VECTORS: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    # Rounds of rotations of disjoint pairs of rows, until all are orthogonal; from one half of the memory to the other.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        go = 1
        side = 0
        for sweep in range(0, 20):
            if go > 0:
                worst = tl.zeros([R], dtype=tl.float32)
                for turn in range(0, even - 1):
                    source = w_ptr + (b * 2 + side) * n * ld
                    target = w_ptr + (b * 2 + 1 - side) * n * ld
                    vsource = v_ptr + (b * 2 + side) * n * v_ld
                    vtarget = v_ptr + (b * 2 + 1 - side) * n * v_ld
                    for x0 in range(0, n, R):
                        x = x0 + tl.arange(0, R)
                        y = other(x, turn, even)
                        pair = (x < n) & (y < n)
                        y = tl.where(pair, y, x)
                        inside = (x < n)[:, None]
                        axx = tl.zeros([R], dtype=tl.float32)
                        ayy = tl.zeros([R], dtype=tl.float32)
                        axy = tl.zeros([R], dtype=tl.float32)
                        for s0 in range(0, length, C):
                            s = s0 + tl.arange(0, C)[None, :]
                            smask = inside & (s < length)
                            first = tl.load(source + x[:, None] * ld + s, mask=smask, other=0.0)
                            second = tl.load(source + y[:, None] * ld + s, mask=smask, other=0.0)
                            axx += tl.sum(first * first, axis=1)
                            ayy += tl.sum(second * second, axis=1)
                            axy += tl.sum(first * second, axis=1)
                        some = pair & (axy != 0.0) & (axx > 0.0) & (ayy > 0.0)
                        norms = tl.sqrt_rn(tl.where(some, axx, 1.0)) * tl.sqrt_rn(tl.where(some, ayy, 1.0))
                        worst = tl.maximum(worst, tl.where(some, tl.abs(axy) / norms, 0.0))
                        theta = (ayy * 0.5 - axx * 0.5) / tl.where(some, axy, 1.0)
                        t = 1.0 / (tl.abs(theta) + tl.sqrt_rn(1.0 + theta * theta))
                        t = tl.where((theta < 0.0) | ((theta == 0.0) & (x > y)), -t, t)
                        sine = tl.where(some, -t / tl.sqrt_rn(1.0 + t * t), 0.0)
                        less = sine * sine / (1.0 + tl.sqrt_rn(1.0 - sine * sine))
                        for c0 in range(0, length, C):
                            c = c0 + tl.arange(0, C)[None, :]
                            cmask = inside & (c < length)
                            mine = tl.load(source + x[:, None] * ld + c, mask=cmask, other=0.0)
                            its = tl.load(source + y[:, None] * ld + c, mask=cmask, other=0.0)
                            new = mine + (sine[:, None] * its - less[:, None] * mine)
                            tl.store(target + x[:, None] * ld + c, new, mask=cmask)
                        if VECTORS:
                            for d0 in range(0, n, C):
                                d = d0 + tl.arange(0, C)[None, :]
                                dmask = inside & (d < n)
                                own = tl.load(vsource + x[:, None] * v_ld + d, mask=dmask, other=0.0)
                                far = tl.load(vsource + y[:, None] * v_ld + d, mask=dmask, other=0.0)
                                turned = own + (sine[:, None] * far - less[:, None] * own)
                                tl.store(vtarget + x[:, None] * v_ld + d, turned, mask=dmask)
                    side = 1 - side
                    tl.debug_barrier()
                go = tl.where(tl.max(worst, axis=0) <= 9.5367431640625e-07, 0, 1)
        # In which half all is at the end.
        tl.store(side_ptr + b, side)


@triton.jit
def kernel_norms(w_ptr, side_ptr, norm_ptr, batch, n, length, ld, v_ld, R: tl.constexpr, C: tl.constexpr):
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + (b * 2 + tl.load(side_ptr + b)) * n * ld
        for x0 in range(0, n, R):
            x = x0 + tl.arange(0, R)
            total = tl.zeros([R], dtype=tl.float32)
            for c0 in range(0, length, C):
                c = c0 + tl.arange(0, C)[None, :]
                a = tl.load(w + x[:, None] * ld + c, mask=(x < n)[:, None] & (c < length), other=0.0)
                total += tl.sum(a * a, axis=1)
            tl.store(norm_ptr + b * v_ld + x, tl.sqrt_rn(total), mask=x < n)


@triton.jit
def kernel_rank(norm_ptr, rank_ptr, batch, n, v_ld, R: tl.constexpr):
    # How many norms come before each.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        for x0 in range(0, n, R):
            x = x0 + tl.arange(0, R)
            mine = tl.load(norm_ptr + b * v_ld + x, mask=x < n, other=0.0)[:, None]
            rank = tl.zeros([R], dtype=tl.int32)
            for y0 in range(0, n, R):
                y = y0 + tl.arange(0, R)
                its = tl.load(norm_ptr + b * v_ld + y, mask=y < n, other=0.0)[None, :]
                before = (its > mine) | ((its == mine) & (y[None, :] < x[:, None]))
                before = before & (y < n)[None, :]
                rank += tl.sum(tl.where(before, 1, 0), axis=1)
            tl.store(rank_ptr + b * v_ld + x, rank, mask=x < n)


@triton.jit
def kernel_order(w_ptr, v_ptr, side_ptr, norm_ptr, rank_ptr, scale_ptr, s_ptr, size_ptr, long_ptr, copy_ptr, short_ptr, batch, n, length, ld, v_ld, VECTORS: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        side = tl.load(side_ptr + b)
        scale = tl.load(scale_ptr + b)
        w = w_ptr + (b * 2 + side) * n * ld
        v = v_ptr + (b * 2 + side) * n * v_ld
        for j0 in range(0, n, R):
            j = j0 + tl.arange(0, R)
            source = tl.zeros([R], dtype=tl.int32)
            for x0 in range(0, n, R):
                x = x0 + tl.arange(0, R)
                rank = tl.load(rank_ptr + b * v_ld + x, mask=x < n, other=-1)
                source += tl.sum(tl.where(rank[None, :] == j[:, None], x[None, :], 0), axis=1)
            source = tl.minimum(source, n - 1)
            norm = tl.load((norm_ptr + b * v_ld + source)[:, None], mask=(j < n)[:, None], other=0.0)
            norm = tl.reshape(norm, [R])
            tl.store(s_ptr + b * v_ld + j, norm * scale, mask=j < n)
            if VECTORS:
                tl.store(size_ptr + b * v_ld + j, norm, mask=j < n)
                divisor = tl.where(norm == 0.0, 1.0, norm)
                for c0 in range(0, length, C):
                    c = c0 + tl.arange(0, C)[None, :]
                    cmask = (j < n)[:, None] & (c < length)
                    row = tl.load(w + source[:, None] * ld + c, mask=cmask, other=0.0)
                    row = tl.where((norm == 0.0)[:, None], 0.0, row / divisor[:, None])
                    tl.store(long_ptr + b * n * ld + j[:, None] * ld + c, row, mask=cmask)
                    tl.store(copy_ptr + b * n * ld + j[:, None] * ld + c, row, mask=cmask)
                for d0 in range(0, n, C):
                    d = d0 + tl.arange(0, C)[None, :]
                    dmask = (j < n)[:, None] & (d < n)
                    row = tl.load(v + source[:, None] * v_ld + d, mask=dmask, other=0.0)
                    tl.store(short_ptr + b * n * v_ld + j[:, None] * v_ld + d, row, mask=dmask)


@triton.jit
def kernel_reflect(x_ptr, y_ptr, tau_ptr, batch, n, length, ld, v_ld, R: tl.constexpr, C: tl.constexpr):
    # Householder vectors of the rows, which are orthonormal or zero.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        x = x_ptr + b * n * ld
        y = y_ptr + b * n * ld
        for k in range(0, n):
            alpha = tl.load(x + k * ld + k)
            squares = tl.zeros([C], dtype=tl.float32)
            for p0 in range((k + 1) // C * C, length, C):
                p = p0 + tl.arange(0, C)
                a = tl.load(x + k * ld + p, mask=(p > k) & (p < length), other=0.0)
                squares += a * a
            total = tl.sum(squares, axis=0)
            trivial = total == 0.0
            norm = tl.sqrt_rn(total + alpha * alpha)
            beta = tl.where(alpha < 0.0, norm, -norm)
            tau = tl.where(trivial, 0.0, (beta - alpha) / tl.where(trivial, 1.0, beta))
            pivot = tl.where(trivial, 1.0, alpha - beta)
            tl.store(tau_ptr + b * v_ld + k, tau)
            for q0 in range(k // C * C, length, C):
                q = q0 + tl.arange(0, C)
                qmask = (q >= k) & (q < length)
                a = tl.load(x + k * ld + q, mask=qmask, other=0.0)
                a = tl.where(q == k, 1.0, tl.where(trivial, 0.0, a / pivot))
                tl.store(y + k * ld + q, a, mask=qmask)
            tl.debug_barrier()
            for r0 in range((k + 1) // R * R, n, R):
                r = r0 + tl.arange(0, R)[:, None]
                rmask = (r > k) & (r < n)
                dots = tl.zeros([R], dtype=tl.float32)
                for s0 in range(k // C * C, length, C):
                    s = s0 + tl.arange(0, C)
                    smask = (s >= k) & (s < length)
                    v = tl.load(y + k * ld + s, mask=smask, other=0.0)
                    a = tl.load(x + r * ld + s[None, :], mask=rmask & smask[None, :], other=0.0)
                    dots += tl.sum(a * v[None, :], axis=1)
                dots = dots * tau
                for c0 in range(k // C * C, length, C):
                    c = c0 + tl.arange(0, C)
                    cmask = (c >= k) & (c < length)
                    v = tl.load(y + k * ld + c, mask=cmask, other=0.0)
                    at = x + r * ld + c[None, :]
                    a = tl.load(at, mask=rmask & cmask[None, :], other=0.0)
                    tl.store(at, a - dots[:, None] * v[None, :], mask=rmask & cmask[None, :])
            tl.debug_barrier()


@triton.jit
def kernel_complete(q_ptr, y_ptr, tau_ptr, size_ptr, long_ptr, batch, total, n, length, ld, v_ld, R: tl.constexpr, C: tl.constexpr):
    # The orthonormal basis: the vectors that there are, and where there is none, a unit vector reflected.
    j = tl.program_id(0) * R + tl.arange(0, R)
    for b in range(tl.program_id(1).to(tl.int64), batch, tl.num_programs(1)):
        q = q_ptr + b * total * ld
        y = y_ptr + b * n * ld
        for i0 in range(0, length, C):
            i = i0 + tl.arange(0, C)[None, :]
            tl.store(q + j[:, None] * ld + i, tl.where(j[:, None] == i, 1.0, 0.0), mask=(j < total)[:, None] & (i < length))
        tl.debug_barrier()
        for step in range(0, n):
            k = n - 1 - step
            tau = tl.load(tau_ptr + b * v_ld + k)
            dots = tl.zeros([R], dtype=tl.float32)
            for s0 in range(k // C * C, length, C):
                s = s0 + tl.arange(0, C)
                smask = (s >= k) & (s < length)
                v = tl.load(y + k * ld + s, mask=smask, other=0.0)
                a = tl.load(q + j[:, None] * ld + s[None, :], mask=(j < total)[:, None] & smask[None, :], other=0.0)
                dots += tl.sum(a * v[None, :], axis=1)
            dots = dots * tau
            for c0 in range(k // C * C, length, C):
                c = c0 + tl.arange(0, C)
                cmask = (c >= k) & (c < length)
                v = tl.load(y + k * ld + c, mask=cmask, other=0.0)
                at = q + j[:, None] * ld + c[None, :]
                mask = (j < total)[:, None] & cmask[None, :]
                a = tl.load(at, mask=mask, other=0.0)
                tl.store(at, a - dots[:, None] * v[None, :], mask=mask)
            tl.debug_barrier()
        size = tl.load(size_ptr + b * v_ld + j, mask=j < n, other=0.0)
        there = (j < n) & (size != 0.0)
        for f0 in range(0, length, C):
            f = f0 + tl.arange(0, C)[None, :]
            fmask = there[:, None] & (f < length)
            known = tl.load(long_ptr + b * n * ld + j[:, None] * ld + f, mask=fmask, other=0.0)
            tl.store(q + j[:, None] * ld + f, known, mask=fmask)


@triton.jit
def kernel_cast(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=at < n)


def converted(x, dtype):
    if x.dtype == dtype or x.numel() == 0:
        return x
    x = x.contiguous()
    if x.storage_offset() * x.element_size() % 32 != 0:
        x = x.clone()
    result = torch.empty(list(x.shape), dtype=dtype, device=x.device)
    kernel_cast[(min(triton.cdiv(x.numel(), 1024), 4096),)](x, result, x.numel(), BLOCK=1024)
    return result


def wrapper(A, full_matrices=False, compute_uv=True, *, driver=None, U, S, Vh):
    sizes = list(A.shape)
    lead = sizes[:-2]
    high, across = sizes[-2], sizes[-1]
    batch = math.prod(lead)
    n, length = min(high, across), max(high, across)
    wanted = bool(compute_uv)
    if batch == 0 or length == 0 or (n == 0 and not (wanted and full_matrices)):
        return U, S, Vh
    device = A.device
    tall = high >= across
    ld = triton.cdiv(length, 8) * 8
    v_ld = max(triton.cdiv(n, 8) * 8, 8)
    spots = max(n, 1)
    # Rows that are rotated until they are orthogonal: the columns of a tall matrix, the rows of a wide one.
    R = min(32, max(16, triton.next_power_of_2(spots)))
    C = min(128, max(16, triton.next_power_of_2(length)))
    grid = (min(batch, 4096),)
    sizes_buffer = torch.empty((batch, v_ld), dtype=torch.float32, device=device)
    taus = torch.empty((batch, v_ld), dtype=torch.float32, device=device)
    found = torch.empty((batch, spots, ld), dtype=torch.float32, device=device)
    reflectors = torch.empty((batch, spots, ld), dtype=torch.float32, device=device)
    short = torch.empty((batch, spots, v_ld), dtype=torch.float32, device=device)
    if n > 0:
        rows = torch.empty((batch, n, ld), dtype=torch.float32, device=device)
        source = converted(A, torch.float32)
        source = source.mT if tall else source
        rows.narrow(2, 0, length).copy_(source.reshape(batch, n, length))
        work = torch.empty((batch, 2, n, ld), dtype=torch.float32, device=device)
        turned = torch.empty((batch, 2, n, v_ld), dtype=torch.float32, device=device)
        scales = torch.empty((batch,), dtype=torch.float32, device=device)
        sides = torch.empty((batch,), dtype=torch.int32, device=device)
        norms = torch.empty((batch, v_ld), dtype=torch.float32, device=device)
        ranks = torch.empty((batch, v_ld), dtype=torch.int32, device=device)
        values = torch.empty((batch, v_ld), dtype=torch.float32, device=device)
        scratch = torch.empty((batch, n, ld), dtype=torch.float32, device=device)
        kernel_prepare[grid](rows, work, turned, scales, batch, n, length, ld, v_ld, R=R, C=C)
        kernel_jacobi[grid](work, turned, sides, batch, n, n + n % 2, length, ld, v_ld, VECTORS=wanted, R=R, C=C)
        kernel_norms[grid](work, sides, norms, batch, n, length, ld, v_ld, R=R, C=C)
        kernel_rank[grid](norms, ranks, batch, n, v_ld, R=R)
        kernel_order[grid](work, turned, sides, norms, ranks, scales, values, sizes_buffer, found, scratch, short, batch, n, length, ld, v_ld, VECTORS=wanted, R=R, C=C)
        S.copy_(converted(values.narrow(1, 0, n).reshape(lead + [n]), S.dtype))
        if wanted:
            kernel_reflect[grid](scratch, reflectors, taus, batch, n, length, ld, v_ld, R=R, C=C)
    if wanted:
        total = length if full_matrices else n
        basis = torch.empty((batch, total, ld), dtype=torch.float32, device=device)
        tiles = triton.cdiv(total, R)
        kernel_complete[(tiles, max(1, min(batch, 32768 // tiles)))](basis, reflectors, taus, sizes_buffer, found, batch, total, n, length, ld, v_ld, R=R, C=C)
        long_side = converted(basis.narrow(2, 0, length).reshape(lead + [total, length]), U.dtype)
        short_side = converted(short.narrow(2, 0, n).narrow(1, 0, n).reshape(lead + [n, n]), U.dtype)
        if tall:
            U.copy_(long_side.mT)
            if n > 0:
                Vh.copy_(short_side)
        else:
            Vh.copy_(long_side)
            if n > 0:
                U.copy_(short_side.mT)
    return U, S, Vh
