@triton.jit
def kernel_tril(x_ptr, out_ptr, m, n, diagonal, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    matrix = tl.program_id(2).to(tl.int64) * m * n
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    at = matrix + i * n + j
    mask = (i < m) & (j < n)
    x = tl.load(x_ptr + at, mask=mask & (j - i <= diagonal), other=0)
    tl.store(out_ptr + at, x, mask=mask)


def wrapper(input, diagonal=0, *, out=None):
    if input.dim() < 2:
        raise RuntimeError("tril: the input must have at least two dimensions")
    x = input.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    m, n = x.shape[-2], x.shape[-1]
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 128), x.numel() // (m * n))
    kernel_tril[grid](x, out, m, n, diagonal, ROWS=64, COLUMNS=128, num_warps=8)
    return out
