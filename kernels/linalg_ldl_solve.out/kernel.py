# Generated: the kernel of aten::linalg_ldl_solve.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_ldl(a_ptr, piv_ptr, b_ptr, x_ptr, m, k, tiles, total, RHS: tl.constexpr, WIDTH: tl.constexpr):
    # Row i of a is column i of the factor; b and x have a row for each right-hand side.
    lane = tl.arange(0, WIDTH)
    inside = lane < m
    for work in range(tl.program_id(0), total, tl.num_programs(0)):
        batch = (work // tiles).to(tl.int64)
        rhs = (work % tiles) * RHS + tl.arange(0, RHS)
        at = (batch * k + rhs.to(tl.int64)) * WIDTH
        mask = (rhs < k)[:, None] & inside[None, :]
        x = tl.load(b_ptr + at[:, None] + lane[None, :], mask=mask, other=0.0)
        base = a_ptr + batch * m * WIDTH
        piv = piv_ptr + batch * m
        second = tl.program_id(0) * 0
        for i in range(0, m):
            p = tl.load(piv + i).to(tl.int32)
            one = p > 0
            two = (p < 0) & (second == 0)
            r = tl.where(two, i + 1, i)
            q = tl.where(one, p - 1, tl.where(two, 0 - p - 1, i))
            vr = tl.sum(tl.where((lane == r)[None, :], x, 0.0), axis=1)
            vq = tl.sum(tl.where((lane == q)[None, :], x, 0.0), axis=1)
            x = tl.where((lane == r)[None, :], vq[:, None], tl.where((lane == q)[None, :], vr[:, None], x))
            c0 = tl.load(base + i * WIDTH + lane, mask=inside & (lane >= i), other=0.0)
            c1 = tl.load(base + (i + 1) * WIDTH + lane, mask=inside & (lane > i) & two, other=0.0)
            b0 = tl.sum(tl.where((lane == i)[None, :], x, 0.0), axis=1)
            b1 = tl.sum(tl.where((lane == i + 1)[None, :], x, 0.0), axis=1)
            d00 = tl.sum(tl.where(lane == i, c0, 0.0), axis=0)
            d10 = tl.sum(tl.where(lane == i + 1, c0, 0.0), axis=0)
            d11 = tl.sum(tl.where(lane == i + 1, c1, 0.0), axis=0)
            part = tl.where(two, d10, 1.0)
            e0 = d00 / part
            e1 = d11 / part
            denom = tl.where(two, e0 * e1 - 1.0, 1.0)
            f0 = b0 / part
            f1 = b1 / part
            y0 = (e1 * f0 - f1) / denom
            y1 = (e0 * f1 - f0) / denom
            single = b0 / tl.where(one, d00, 1.0)
            lower = tl.where(one, (lane > i), (lane > i + 1)) & (one | two)
            less = x - b0[:, None] * c0[None, :]
            less = tl.where(two, less - b1[:, None] * c1[None, :], less)
            x = tl.where(lower[None, :], less, x)
            first = tl.where(one, single, tl.where(two, y0, b0))
            after = tl.where(two, y1, tl.sum(tl.where((lane == i + 1)[None, :], x, 0.0), axis=1))
            x = tl.where((lane == i)[None, :], first[:, None], x)
            x = tl.where((lane == i + 1)[None, :], after[:, None], x)
            second = two.to(tl.int32)
        second = tl.program_id(0) * 0
        for back in range(0, m):
            i = m - 1 - back
            p = tl.load(piv + i).to(tl.int32)
            one = p > 0
            # From below, the second row of a pair comes first.
            two = (p < 0) & (second == 0)
            c1 = tl.load(base + i * WIDTH + lane, mask=inside & (lane > i), other=0.0)
            c0 = tl.load(base + (i - 1) * WIDTH + lane, mask=inside & (lane > i) & two, other=0.0)
            s1 = tl.sum(x * c1[None, :], axis=1)
            s0 = tl.sum(x * c0[None, :], axis=1)
            go = one | two
            x = tl.where((lane == i)[None, :] & go, x - s1[:, None], x)
            x = tl.where((lane == i - 1)[None, :] & two, x - s0[:, None], x)
            q = tl.where(one, p - 1, tl.where(two, 0 - p - 1, i))
            vr = tl.sum(tl.where((lane == i)[None, :], x, 0.0), axis=1)
            vq = tl.sum(tl.where((lane == q)[None, :], x, 0.0), axis=1)
            x = tl.where((lane == i)[None, :], vq[:, None], tl.where((lane == q)[None, :], vr[:, None], x))
            second = two.to(tl.int32)
        tl.store(x_ptr + at[:, None] + lane[None, :], x, mask=mask)


def wrapper(LD, pivots, B, *, hermitian=False, out):
    if out.numel() == 0:
        return out
    m, k = out.shape[-2], out.shape[-1]
    batches = list(out.shape[:-2])
    width = max(triton.next_power_of_2(m), 16)
    a = torch.empty(batches + [m, width], dtype=LD.dtype, device=LD.device)
    a.narrow(-1, 0, m).copy_(LD.expand(batches + [m, m]).mT)
    p = pivots.expand(batches + [m]).clone(memory_format=torch.contiguous_format)
    b = torch.empty(batches + [k, width], dtype=LD.dtype, device=LD.device)
    b.narrow(-1, 0, m).copy_(B.expand(batches + [m, k]).mT)
    x = torch.empty(batches + [k, width], dtype=LD.dtype, device=LD.device)
    block = max(min(triton.next_power_of_2(k), 8192 // width, 64), 1)
    tiles = triton.cdiv(k, block)
    total = math.prod(batches) * tiles
    kernel_ldl[(min(total, 8192),)](a, p, b, x, m, k, tiles, total, RHS=block, WIDTH=width)
    out.copy_(x.narrow(-1, 0, m).mT)
    return out
