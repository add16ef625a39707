@triton.jit
def kernel_logsumexp(x_ptr, out_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # 16 rows a program; maximum and sum are corrected chunk by chunk.
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    in_rows = row[:, None] < rows
    top = tl.full([ROWS], float("-inf"), dtype=tl.float32)
    total = tl.zeros([ROWS], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = in_rows & (column[None, :] < n)
        x = tl.load(x_ptr + row[:, None] * n + column[None, :], mask=mask, other=0).to(tl.float32)
        x = tl.where(mask, x, float("-inf"))
        new_top = tl.maximum(top, tl.max(x, axis=1))
        # Infinite maxima are not subtracted: inf - inf would be NaN.
        shift = tl.where(tl.abs(new_top) == float("inf"), 0.0, new_top)
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift[:, None]), axis=1)
        top = new_top
    shift = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    tl.store(out_ptr + row, tl.log(total) + shift, mask=row < rows)


def wrapper(input, dim, keepdim=False, *, out=None):
    dims = [dim] if isinstance(dim, int) else list(dim)
    rank = max(input.dim(), 1)
    for d in dims:
        if not -rank <= d < rank:
            raise IndexError(f"logsumexp: dim {d} is out of range for a tensor of {input.dim()} dimensions")
    x = input.reshape(1) if input.dim() == 0 else input
    reduced = sorted([d % rank for d in dims]) or list(range(rank))
    kept = [d for d in range(rank) if d not in reduced]
    shape = [1 if d in reduced else x.shape[d] for d in range(rank)] if keepdim else [x.shape[d] for d in kept]
    if input.dim() == 0:
        shape = []
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    out = torch.empty(shape, dtype=dtype, device=x.device)
    rows = out.numel()
    if rows > 0:
        n = math.prod([x.shape[d] for d in reduced])
        x = x.permute(kept + reduced).contiguous()
        kernel_logsumexp[(triton.cdiv(rows, 16),)](x, out, rows, n, ROWS=16, BLOCK=4096, num_warps=16)
    return out
