@triton.jit
def kernel_logsumexp(x_ptr, out_ptr, rows, n, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr, CHUNK: tl.constexpr):
    # The first BLOCK columns of 64 rows stay in local memory (1 MiB in fp32) for both passes, maximum and sum;
    # what is longer streams past them in chunks.
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    in_rows = (row < rows)[:, None]
    x_row = x_ptr + (row * stride)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    tile = tl.load(x_row + column, mask=in_rows & (column < n), other=float("-inf"))
    top = tl.max(tile, axis=1)
    for start in range(BLOCK, n, CHUNK):
        at = start + tl.arange(0, CHUNK)[None, :]
        x = tl.load(x_row + at, mask=in_rows & (at < n), other=float("-inf"))
        top = tl.maximum(top, tl.max(x, axis=1))
    # Infinite maxima are not subtracted: inf - inf would be NaN.
    top = tl.where(tl.abs(top) == float("inf"), 0.0, top)
    total = tl.sum(tl.exp(tile - top[:, None]), axis=1)
    for start in range(BLOCK, n, CHUNK):
        at = start + tl.arange(0, CHUNK)[None, :]
        x = tl.load(x_row + at, mask=in_rows & (at < n), other=float("-inf"))
        total += tl.sum(tl.exp(x - top[:, None]), axis=1)
    tl.store(out_ptr + row, tl.log(total) + top, mask=row < rows)


@triton.jit
def kernel_widen(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32), mask=mask)


def wrapper(input, dim, keepdim=False, *, out=None):
    rank = input.dim()
    limit = max(rank, 1)
    dims = [dim] if isinstance(dim, int) else list(dim)
    for d in dims:
        if not -limit <= d < limit:
            raise IndexError(f"logsumexp: dim {d} is out of range for a tensor of {rank} dimensions")
    reduced = sorted({d % limit for d in dims})
    if len(reduced) != len(dims):
        raise RuntimeError("logsumexp: a dim appears more than once")
    if not reduced or rank == 0:
        reduced = list(range(rank))
    kept = [d for d in range(rank) if d not in reduced]
    shape = [1 if d in reduced else input.shape[d] for d in range(rank) if keepdim or d in kept]
    rows = math.prod([input.shape[d] for d in kept])
    n = math.prod([input.shape[d] for d in reduced])
    dtype = input.dtype if input.is_floating_point() else torch.get_default_dtype()
    if out is not None:
        if not out.is_floating_point():
            raise RuntimeError("logsumexp: out must have a floating point dtype")
        dtype = out.dtype

    result = torch.empty(shape, dtype=dtype, device=input.device)
    if rows > 0:
        x = input.permute(kept + reduced).reshape(rows, n)
        if x.dtype != torch.float32 and n > 0:
            # The tile is fp32, whatever comes in: 1 MiB, no conversion in either pass.
            x = x.clone(memory_format=torch.contiguous_format)
            wide = torch.empty((rows, n), dtype=torch.float32, device=x.device)
            kernel_widen[(triton.cdiv(rows * n, 65536),)](x, wide, rows * n, BLOCK=65536)
            x = wide
        # Rows of a multiple of 32 elements are aligned.
        stride = max(triton.cdiv(n, 32), 1) * 32
        padded = torch.empty((rows, stride), dtype=torch.float32, device=x.device)
        if n > 0:
            padded[:, :n].copy_(x)
        kernel_logsumexp[(triton.cdiv(rows, 64),)](padded, result, rows, n, stride, ROWS=64, BLOCK=4096, CHUNK=2048)
    if out is None:
        return result
    if list(out.shape) != shape:
        out.resize_(shape)
    out.copy_(result)
    return out
