# Generated: the kernel of aten::tril_indices for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_tril(out_ptr, n, total, tsize, nt, m, b, r0, col, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        p = start + tl.arange(0, BLOCK)
        second = p >= n
        k = tl.where(second, p - n, p)
        inside = k < tsize
        # the trapezoid on top: row j begins at j * m + j * (j - 1) / 2
        kk = tl.where(inside, k, 0)
        twice = kk.to(tl.float32) * 2.0
        j = (twice / (b + tl.sqrt(b * b + twice))).to(tl.int64)
        j = tl.where(j * m + ((j * (j - 1)) >> 1) > kk, j - 1, j)
        j = tl.where(j * m + ((j * (j - 1)) >> 1) > kk, j - 1, j)
        j = tl.where((j + 1) * m + ((j * (j + 1)) >> 1) <= kk, j + 1, j)
        j = tl.where((j + 1) * m + ((j * (j + 1)) >> 1) <= kk, j + 1, j)
        c = kk - (j * m + ((j * (j - 1)) >> 1))
        # the rectangle below it
        q = tl.where(inside, 0, k - tsize)
        row = tl.where(inside, j, q // col + nt) + r0
        column = tl.where(inside, c, q % col)
        value = tl.where(second, column, row)
        tl.store(out_ptr + p, value.to(out_ptr.dtype.element_ty), mask=p < total)


def wrapper(row, col, offset=0, *, dtype=torch.int64, layout=None, device=None, pin_memory=None):
    if dtype is None:
        dtype = torch.int64
    n = tsize = nt = r0 = 0
    m = 1
    if row > 0 and col > 0 and row + offset > 0:
        r0 = max(0, -offset)
        m = min(col, r0 + offset + 1)
        nt = min(row - r0, col - m + 1)
        tsize = nt * m + nt * (nt - 1) // 2
        n = tsize + (row - r0 - nt) * col
    out = torch.empty((2, n), dtype=dtype, device=device)
    if n == 0:
        return out
    total = 2 * n
    kernel_tril[(min(triton.cdiv(total, 1024), 4096),)](out, n, total, tsize, nt, m, m - 0.5, r0, col, BLOCK=1024)
    return out
