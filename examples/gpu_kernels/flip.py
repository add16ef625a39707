@triton.jit
def kernel_flip(x_ptr, out_ptr, n, inner, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    # Rows are read forwards and stored backwards.
    outer = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (row[:, None] < n) & (column[None, :] < inner)
    base = outer * n * inner
    x = tl.load(x_ptr + base + row[:, None] * inner + column[None, :], mask=mask)
    tl.store(out_ptr + base + (n - 1 - row)[:, None] * inner + column[None, :], x, mask=mask)


@triton.jit
def kernel_flip_line(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    line = tl.program_id(1).to(tl.int64) * n
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + line + i, mask=i < n)
    tl.store(out_ptr + line + n - 1 - i, x, mask=i < n)


def wrapper(input, dims):
    dims = [dims] if isinstance(dims, int) else list(dims)
    rank = max(input.dim(), 1)
    for dim in dims:
        if not -rank <= dim < rank:
            raise IndexError(f"flip: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
    dims = [dim % rank for dim in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError("flip: a dimension appears more than once")
    x = input.contiguous()
    if input.numel() == 0 or input.dim() == 0 or not dims:
        return x.clone()
    for dim in dims:
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        n = x.shape[dim]
        inner = math.prod(x.shape[dim + 1 :])
        outer = x.numel() // (n * inner)
        if inner == 1:
            kernel_flip_line[(triton.cdiv(n, 1024), outer)](x, out, n, BLOCK=1024)
        else:
            kernel_flip[(triton.cdiv(n, 32), triton.cdiv(inner, 128), outer)](x, out, n, inner, ROWS=32, COLUMNS=128)
        x = out
    return x
