# Generated: the kernel of aten::lu_unpack.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_triangle(x_ptr, out_ptr, total, m, n, rows, cols, LOWER: tl.constexpr, BLOCK: tl.constexpr):
    # A triangle of the packed matrices: the lower one with ones on the diagonal, or the upper one with it.
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, total, step):
        at = start + tl.arange(0, BLOCK)
        live = at < total
        j = at % cols
        i = (at // cols) % rows
        source = (at // cols // rows * m + i) * n + j
        if LOWER:
            keep = live & (j < i)
        else:
            keep = live & (j >= i)
        # Rows begin anywhere: a block whose last axis has length 1 is read element by element.
        t = tl.reshape(tl.load((x_ptr + source)[:, None], mask=keep[:, None], other=0.0), [BLOCK])
        if LOWER:
            t = tl.where(keep, t, tl.where(i == j, 1.0, 0.0).to(t.dtype))
        else:
            t = tl.where(keep, t, tl.zeros([BLOCK], dtype=t.dtype))
        tl.store(out_ptr + at, t, mask=live)


@triton.jit
def kernel_places(pivots_ptr, place_ptr, batch, m, steps, ld, C: tl.constexpr):
    # Column i of P has its one in the row that the swaps brought to place i: seen from the end, they lead back to it.
    for b in range(tl.program_id(1).to(tl.int64), batch, tl.num_programs(1)):
        for c0 in range(tl.program_id(0) * C, m, tl.num_programs(0) * C):
            cols = c0 + tl.arange(0, C)
            place = cols
            for s in range(0, steps):
                k = steps - 1 - s
                p = tl.load(pivots_ptr + b * steps + k) - 1
                place = tl.where(place == k, p, tl.where(place == p, k, place))
            tl.store(place_ptr + b * ld + cols, place, mask=cols < ld)


@triton.jit
def kernel_permutation(place_ptr, out_ptr, total, m, ld, BLOCK: tl.constexpr):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, total, step):
        at = start + tl.arange(0, BLOCK)
        live = at < total
        source = at // m // m * ld + at % m
        place = tl.reshape(tl.load((place_ptr + source)[:, None], mask=live[:, None], other=-1), [BLOCK])
        one = tl.where(place == (at // m) % m, 1.0, 0.0)
        tl.store(out_ptr + at, one.to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, P, L, U):
    sizes = list(LU_data.shape)
    lead = sizes[:-2]
    m, n = sizes[-2], sizes[-1]
    steps = min(m, n)
    batch = math.prod(lead)
    if batch == 0 or m == 0:
        return P, L, U
    dtype, device = LU_data.dtype, LU_data.device
    if unpack_data and steps > 0:
        packed = aligned(LU_data)
        lower = torch.empty(lead + [m, steps], dtype=dtype, device=device)
        upper = torch.empty(lead + [steps, n], dtype=dtype, device=device)
        total = lower.numel()
        kernel_triangle[(min(triton.cdiv(total, 1024), 4096),)](packed, lower, total, m, n, m, steps, LOWER=True, BLOCK=1024)
        total = upper.numel()
        if total > 0:
            kernel_triangle[(min(triton.cdiv(total, 1024), 4096),)](packed, upper, total, m, n, steps, n, LOWER=False, BLOCK=1024)
        L.copy_(lower)
        U.copy_(upper)
    if unpack_pivots:
        places = aligned(LU_pivots)
        block = min(256, max(16, triton.next_power_of_2(m)))
        ld = triton.cdiv(m, block) * block
        place = torch.empty((batch, ld), dtype=torch.int32, device=device)
        grid = (min(triton.cdiv(m, block), 256), min(batch, 128))
        kernel_places[grid](places, place, batch, m, steps, ld, C=block)
        square = torch.empty(lead + [m, m], dtype=P.dtype, device=device)
        total = square.numel()
        kernel_permutation[(min(triton.cdiv(total, 1024), 4096),)](place, square, total, m, ld, BLOCK=1024)
        P.copy_(square)
    return P, L, U
