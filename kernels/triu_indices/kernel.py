# Generated: the kernel of aten::triu_indices for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_triu(out_ptr, n, total, rect, tsize, nt, m, b, r0, col, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        p = start + tl.arange(0, BLOCK)
        second = p >= n
        k = tl.where(second, p - n, p)
        # full rows first, then a trapezoid, counted from its end: there row j begins at j * m + j * (j - 1) / 2
        full = k < rect
        kk = tl.maximum(tl.where(full, 0, tsize - 1 - (k - rect)), 0)
        twice = kk.to(tl.float32) * 2.0
        j = (twice / (b + tl.sqrt(b * b + twice))).to(tl.int64)
        j = tl.where(j * m + ((j * (j - 1)) >> 1) > kk, j - 1, j)
        j = tl.where(j * m + ((j * (j - 1)) >> 1) > kk, j - 1, j)
        j = tl.where((j + 1) * m + ((j * (j + 1)) >> 1) <= kk, j + 1, j)
        j = tl.where((j + 1) * m + ((j * (j + 1)) >> 1) <= kk, j + 1, j)
        back = kk - (j * m + ((j * (j - 1)) >> 1))
        row = tl.where(full, k // col, r0 + nt - 1 - j)
        column = tl.where(full, k % col, col - 1 - back)
        value = tl.where(second, column, row)
        tl.store(out_ptr + p, value.to(out_ptr.dtype.element_ty), mask=p < total)


def wrapper(row, col, offset=0, *, dtype=torch.int64, layout=None, device=None, pin_memory=None):
    if dtype is None:
        dtype = torch.int64
    rect = tsize = nt = r0 = 0
    last = 1
    if row > 0 and col > 0:
        r0 = min(row, max(0, -offset))
        rect = r0 * col
        widest = max(0, col - max(0, offset))
        nt = min(row - r0, widest)
        last = widest - nt + 1
        tsize = nt * last + nt * (nt - 1) // 2
    n = rect + tsize
    out = torch.empty((2, n), dtype=dtype, device=device)
    if n == 0:
        return out
    total = 2 * n
    kernel_triu[(min(triton.cdiv(total, 1024), 4096),)](out, n, total, rect, tsize, nt, last, last - 0.5, r0, col,
                                                        BLOCK=1024)
    return out
