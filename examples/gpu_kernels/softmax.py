@triton.jit
def kernel_softmax(x_ptr, out_ptr, rows, n, ACC: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # 16 rows a program; the running maximum and sum are corrected chunk by chunk, so that n is not limited.
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    in_rows = row[:, None] < rows
    top = tl.full([ROWS], float("-inf"), dtype=ACC)
    total = tl.zeros([ROWS], dtype=ACC)
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        mask = in_rows & (col[None, :] < n)
        x = tl.load(x_ptr + row[:, None] * n + col[None, :], mask=mask, other=float("-inf")).to(ACC)
        new_top = tl.maximum(top, tl.max(x, axis=1))
        shift = tl.where(new_top == float("-inf"), 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift[:, None]), axis=1)
        top = new_top
    for start in range(0, n, BLOCK):
        col = start + tl.arange(0, BLOCK)
        mask = in_rows & (col[None, :] < n)
        x = tl.load(x_ptr + row[:, None] * n + col[None, :], mask=mask, other=0).to(ACC)
        tl.store(out_ptr + row[:, None] * n + col[None, :], tl.exp(x - top[:, None]) / total[:, None], mask=mask)


@triton.jit
def kernel_cast(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


def wrapper(input, dim, *, dtype=None):
    rank = max(input.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"softmax: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
    dtype = input.dtype if dtype is None else dtype
    x = input.reshape(1) if input.dim() == 0 else input
    x = x.transpose(dim, -1).contiguous()
    if x.dtype != dtype and x.numel() > 0:
        cast = torch.empty(x.shape, dtype=dtype, device=x.device)
        kernel_cast[(triton.cdiv(x.numel(), 1024),)](x, cast, x.numel(), BLOCK=1024)
        x = cast
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    n = x.shape[-1]
    if out.numel() > 0:
        rows = x.numel() // n
        acc = tl.float64 if dtype == torch.float64 else tl.float32
        kernel_softmax[(triton.cdiv(rows, 16),)](x, out, rows, n, ACC=acc, ROWS=16, BLOCK=4096, num_warps=16)
    return out.transpose(dim, -1).contiguous().reshape(input.shape)
