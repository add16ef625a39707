# Generated: the kernel of aten::linalg_householder_product for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_product(v_ptr, tau_ptr, out_ptr, m, n, k, tiles, total, COLS: tl.constexpr, WIDTH: tl.constexpr):
    # Row i of v is the i-th reflector's column; row j of the result is the j-th column of the product.
    rows = tl.arange(0, WIDTH)
    for work in range(tl.program_id(0), total, tl.num_programs(0)):
        batch = (work // tiles).to(tl.int64)
        j = (work % tiles) * COLS + tl.arange(0, COLS)
        c = (rows[None, :] == j[:, None]).to(tl.float32)
        for back in range(0, k):
            i = k - 1 - back
            v = tl.load(v_ptr + (batch * k + i) * WIDTH + rows, mask=(rows > i) & (rows < m), other=0.0)
            v = tl.where(rows == i, 1.0, v)
            tau = tl.load(tau_ptr + batch * k + i)
            w = tl.sum(c * v[None, :], axis=1) * tau
            c = c - w[:, None] * v[None, :]
        at = (batch * n + j.to(tl.int64)) * WIDTH
        tl.store(out_ptr + at[:, None] + rows[None, :], c, mask=(j < n)[:, None] & (rows < m)[None, :])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(input, tau):
    m, n = input.shape[-2], input.shape[-1]
    k = tau.shape[-1]
    batches = list(input.shape[:-2])
    result = torch.empty(batches + [n, m], dtype=input.dtype, device=input.device)
    if result.numel() == 0:
        return result.mT
    width = max(triton.next_power_of_2(m), 16)
    v = torch.empty(batches + [max(k, 1), width], dtype=input.dtype, device=input.device)
    taus = v
    if k > 0:
        v.narrow(-1, 0, m).copy_(input.narrow(-1, 0, k).mT)
        taus = aligned(tau)
    columns = torch.empty(batches + [n, width], dtype=input.dtype, device=input.device)
    block = max(min(triton.next_power_of_2(n), 16384 // width, 64), 1)
    tiles = triton.cdiv(n, block)
    total = math.prod(batches) * tiles
    kernel_product[(min(total, 8192),)](v, taus, columns, m, n, k, tiles, total, COLS=block, WIDTH=width)
    result.copy_(columns.narrow(-1, 0, m))
    return result.mT
