# Generated: the kernel of aten::lu_unpack.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_triangle(x_ptr, out_ptr, batch, m, rows, cols, x_ld, out_ld, LOWER: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    # A triangle of the packed matrices: the lower one with ones on the diagonal, or the upper one with it.
    for b in range(tl.program_id(1).to(tl.int64), batch, tl.num_programs(1)):
        x = x_ptr + b * m * x_ld
        out = out_ptr + b * rows * out_ld
        for r0 in range(tl.program_id(0) * R, rows, tl.num_programs(0) * R):
            i = (r0 + tl.arange(0, R)).to(tl.int64)[:, None]
            for c0 in range(0, cols, C):
                j = (c0 + tl.arange(0, C))[None, :]
                mask = (i < rows) & (j < cols)
                if LOWER:
                    keep = mask & (j < i)
                    t = tl.load(x + i * x_ld + j, mask=keep, other=0.0)
                    t = tl.where(keep, t, tl.where(i == j, 1.0, 0.0).to(t.dtype))
                else:
                    keep = mask & (j >= i)
                    t = tl.load(x + i * x_ld + j, mask=keep, other=0.0)
                    t = tl.where(keep, t, tl.zeros([R, C], dtype=t.dtype))
                tl.store(out + i * out_ld + j, t, mask=mask)


@triton.jit
def kernel_permutation(pivots_ptr, out_ptr, batch, m, steps, ld, R: tl.constexpr, C: tl.constexpr):
    # Column i of P has its one in the row that the swaps brought to place i: seen from the end, they lead back to it.
    for b in range(tl.program_id(1).to(tl.int64), batch, tl.num_programs(1)):
        out = out_ptr + b * m * ld
        for c0 in range(tl.program_id(0) * C, m, tl.num_programs(0) * C):
            cols = c0 + tl.arange(0, C)
            place = cols
            for s in range(0, steps):
                k = steps - 1 - s
                p = tl.load(pivots_ptr + b * steps + k) - 1
                place = tl.where(place == k, p, tl.where(place == p, k, place))
            for r0 in range(0, m, R):
                rows = r0 + tl.arange(0, R)
                one = tl.where(rows[:, None] == place[None, :], 1.0, 0.0)
                mask = (rows < m)[:, None] & (cols < m)[None, :]
                at = out + rows.to(tl.int64)[:, None] * ld + cols[None, :]
                tl.store(at, one.to(out_ptr.dtype.element_ty), mask=mask)


def wrapper(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, P, L, U):
    sizes = list(LU_data.shape)
    lead = sizes[:-2]
    m, n = sizes[-2], sizes[-1]
    steps = min(m, n)
    batch = math.prod(lead)
    if batch == 0 or m == 0:
        return P, L, U
    dtype, device = LU_data.dtype, LU_data.device
    places = torch.empty((batch, max(steps, 1)), dtype=LU_pivots.dtype, device=device)
    if unpack_pivots and steps > 0:
        places.copy_(LU_pivots.reshape(batch, steps))
    if unpack_data and steps > 0:
        ld = triton.cdiv(n, 16) * 16
        packed = torch.empty((batch, m, ld), dtype=dtype, device=device)
        packed.narrow(2, 0, n).copy_(LU_data.reshape(batch, m, n))
        deep = triton.cdiv(steps, 16) * 16
        block = min(64, max(16, triton.next_power_of_2(max(m, n))))
        lower = torch.empty((batch, m, deep), dtype=dtype, device=device)
        grid = (min(triton.cdiv(m, block), 256), min(batch, 128))
        kernel_triangle[grid](packed, lower, batch, m, m, steps, ld, deep, LOWER=True, R=block, C=block)
        upper = torch.empty((batch, steps, ld), dtype=dtype, device=device)
        grid = (min(triton.cdiv(steps, block), 256), min(batch, 128))
        kernel_triangle[grid](packed, upper, batch, m, steps, n, ld, ld, LOWER=False, R=block, C=block)
        L.copy_(lower.narrow(2, 0, steps).reshape(lead + [m, steps]))
        U.copy_(upper.narrow(2, 0, n).reshape(lead + [steps, n]))
    if unpack_pivots:
        wide = triton.cdiv(m, 16) * 16
        square = torch.empty((batch, m, wide), dtype=P.dtype, device=device)
        block = min(64, max(16, triton.next_power_of_2(m)))
        grid = (min(triton.cdiv(m, block), 256), min(batch, 128))
        kernel_permutation[grid](places, square, batch, m, steps, wide, R=block, C=block)
        P.copy_(square.narrow(2, 0, m).reshape(lead + [m, m]))
    return P, L, U
