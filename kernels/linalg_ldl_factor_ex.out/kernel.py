# Generated: the kernel of aten::linalg_ldl_factor_ex.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
ALPHA = tl.constexpr(0.6403882032022076)


@triton.jit
def kernel_factor(work_ptr, pivots_ptr, info_ptr, first_matrix, n, pitch, IB: tl.constexpr, JB: tl.constexpr):
    # One matrix of a program, stored by columns of `pitch` elements; only its lower triangle is used.
    b = tl.program_id(0).to(tl.int64) + first_matrix
    base = work_ptr + b * n * pitch
    pivots = pivots_ptr + b * n
    pair = tl.arange(0, 2)
    four = tl.arange(0, 4)
    info = 0
    second = 0
    for k in range(0, n):
        # The second column of a block of two has nothing left to do: all loops are empty then.
        run = second == 0
        begin = (k // JB) * JB
        upto = tl.where(run, n, begin)

        # The largest element below the diagonal of column k.
        colmax = 0.0
        imax = k
        akk = 0.0
        for i0 in range(begin, upto, IB):
            i = i0 + tl.arange(0, IB)
            x = tl.load(base + k * pitch + i, mask=(i >= k) & (i < n), other=0.0)
            akk += tl.sum(tl.where(i == k, x, 0.0), axis=0)
            size = tl.where(i > k, tl.abs(x), 0.0)
            most = tl.max(size, axis=0)
            place = tl.min(tl.where((size == most) & (i > k), i, n), axis=0)
            better = most > colmax
            imax = tl.where(better, place, imax)
            colmax = tl.where(better, most, colmax)
        absakk = tl.abs(akk)
        good = (absakk == absakk) & ((absakk > 0.0) | (colmax > 0.0))
        need = run & good & (absakk < ALPHA * colmax)

        # The largest element beside the diagonal of row imax.
        rowmax = 0.0
        aii = 0.0
        for i0 in range(begin, tl.where(need, n, begin), IB):
            i = i0 + tl.arange(0, IB)
            at = tl.where(i < imax, i * pitch + imax, imax * pitch + i)
            x = tl.load(base + at[:, None], mask=((i >= k) & (i < n))[:, None], other=0.0)
            x = tl.reshape(x, [IB])
            aii += tl.sum(tl.where(i == imax, x, 0.0), axis=0)
            rowmax = tl.maximum(rowmax, tl.max(tl.where(i == imax, 0.0, tl.abs(x)), axis=0))
        ratio = colmax / tl.where(need, rowmax, 1.0)
        move = need & (absakk < ALPHA * colmax * ratio)
        two = move & (tl.abs(aii) < ALPHA * rowmax)
        kp = tl.where(move, imax, k)
        kstep = tl.where(two, 2, 1)
        kk = k + kstep - 1

        # Rows and columns kk and kp change places in what is left of the matrix.
        for i0 in range(begin, tl.where(run & (kp != kk), n, begin), IB):
            i = i0 + tl.arange(0, IB)
            at_kk = tl.where(i >= kk, kk * pitch + i, i * pitch + kk)
            at_kp = tl.where(i >= kp, kp * pitch + i, i * pitch + kp)
            at_kp = tl.where(i == kk, kp * pitch + kp, at_kp)
            mask = (i >= k) & (i < n) & (i != kp)
            x = tl.load(base + at_kk[:, None], mask=mask[:, None], other=0.0)
            y = tl.load(base + at_kp[:, None], mask=mask[:, None], other=0.0)
            tl.store(base + at_kk[:, None], y, mask=mask[:, None])
            tl.store(base + at_kp[:, None], x, mask=mask[:, None])
        tl.debug_barrier()

        # The block of D.
        at = tl.where(four == 0, k * pitch + k, tl.where(four == 1, k * pitch + k + 1, (k + 1) * pitch + k + 1))
        known = (four == 0) | ((four < 3) & (k + 1 < n))
        d = tl.reshape(tl.load(base + at[:, None], mask=known[:, None], other=0.0), [4])
        dkk = tl.sum(tl.where(four == 0, d, 0.0), axis=0)
        d21 = tl.sum(tl.where(four == 1, d, 0.0), axis=0)
        dll = tl.sum(tl.where(four == 2, d, 0.0), axis=0)
        inverse = 1.0 / tl.where(good & (dkk != 0.0), dkk, 1.0)
        d21 = tl.where(two, d21, 1.0)
        p = tl.where(two, dll / d21, 2.0)
        q = tl.where(two, dkk / d21, 1.0)
        f = (1.0 / (p * q - 1.0)) / d21

        # What is left of the matrix, then the columns of L.
        start = k + kstep
        left = (start // JB) * JB
        chosen = pair < kstep
        for j0 in range(left, tl.where(run & good, n, left), JB):
            j = j0 + tl.arange(0, JB)
            wanted = (j >= start) & (j < n)
            columns = base + (k + pair)[:, None] * pitch
            xy = tl.load(columns + j[None, :], mask=chosen[:, None] & wanted[None, :], other=0.0)
            x = tl.sum(tl.where((pair == 0)[:, None], xy, 0.0), axis=0)
            y = tl.sum(tl.where((pair == 1)[:, None], xy, 0.0), axis=0)
            w1 = tl.where(two, f * (p * x - y), inverse * x)
            w2 = tl.where(two, f * (q * y - x), 0.0)
            for i0 in range(j0, n, IB):
                i = i0 + tl.arange(0, IB)
                uv = tl.load(columns + i[None, :], mask=chosen[:, None] & ((i >= start) & (i < n))[None, :], other=0.0)
                u = tl.sum(tl.where((pair == 0)[:, None], uv, 0.0), axis=0)
                v = tl.sum(tl.where((pair == 1)[:, None], uv, 0.0), axis=0)
                tile = base + j[:, None] * pitch + i[None, :]
                mask = wanted[:, None] & (i < n)[None, :] & (i[None, :] >= j[:, None])
                a = tl.load(tile, mask=mask, other=0.0)
                a = a - u[None, :] * w1[:, None]
                a = a - tl.where(two, v[None, :] * w2[:, None], 0.0)
                tl.store(tile, a, mask=mask)
            tl.debug_barrier()
            w = tl.where((pair == 0)[:, None], w1[None, :], w2[None, :])
            tl.store(columns + j[None, :], w, mask=chosen[:, None] & wanted[None, :])
        tl.debug_barrier()

        tl.store(pivots + k, tl.where(run, tl.where(two, -(kp + 1), kp + 1), second))
        info = tl.where(run & (good == 0) & (info == 0), k + 1, info)
        second = tl.where(run & two, -(kp + 1), 0)
    tl.store(info_ptr + b, info)


@triton.jit
def kernel_lower(work_ptr, out_ptr, total, n, pitch, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row = t % n
    column = t // n
    mask = (t < total) & (row >= column % n)
    x = tl.load(work_ptr + (column * pitch + row)[:, None], mask=mask[:, None], other=0.0)
    tl.store(out_ptr + t, tl.reshape(x, [BLOCK]), mask=t < total)


def wrapper(self, *, hermitian=False, check_errors=False, LD, pivots, info):
    A = self
    out = (LD, pivots, info)
    shape = list(A.shape)
    n = shape[-1]
    batch = math.prod(shape[:-2])
    device = A.device
    stored = torch.empty(shape, dtype=A.dtype, device=device)
    pivots = torch.empty(shape[:-1], dtype=torch.int32, device=device)
    info = torch.empty(shape[:-2], dtype=torch.int32, device=device)
    if batch > 0:
        pitch = max(triton.cdiv(n, 32) * 32, 32)
        work = torch.empty(shape[:-2] + [max(n, 1), pitch], dtype=A.dtype, device=device)
        if n > 0:
            # By columns: work[..., column, row].
            work.narrow(-1, 0, n).copy_(A.transpose(-2, -1))
        places = pivots if n > 0 else torch.empty((1,), dtype=torch.int32, device=device)
        for first in range(0, batch, 65535):
            grid = (min(batch - first, 65535),)
            kernel_factor[grid](work, places, info, first, n, pitch, IB=128, JB=32, enable_scatter_stores=True)
        if n > 0:
            total = batch * n * n
            kernel_lower[(triton.cdiv(total, 1024),)](work, stored, total, n, pitch, BLOCK=1024)
    result = (stored.transpose(-2, -1), pivots, info)
    for o, r in zip(out, result):
        if o.numel() > 0:
            o.copy_(r)
    return out
