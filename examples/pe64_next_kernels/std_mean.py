@triton.jit
def kernel_std_mean(
    x_ptr,
    std_ptr,
    mean_ptr,
    rows,
    n,
    stride,
    count,
    divisor,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    CHUNK: tl.constexpr,
):
    # The first BLOCK columns of 64 rows stay in local memory (1 MiB in fp32) for both passes, mean and squared
    # distances; what is longer streams past them in chunks.
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    in_rows = (row < rows)[:, None]
    x_row = x_ptr + (row * stride)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = in_rows & (column < n)
    tile = tl.load(x_row + column, mask=mask, other=0).to(tl.float32)
    total = tl.sum(tile, axis=1)
    for start in range(BLOCK, n, CHUNK):
        at = start + tl.arange(0, CHUNK)[None, :]
        total += tl.sum(tl.load(x_row + at, mask=in_rows & (at < n), other=0).to(tl.float32), axis=1)
    # The counts are spread over tensors, so that no elements give 0 / 0 = NaN and not a trap of the scalar unit.
    mean = total / (tl.zeros([ROWS], dtype=tl.float32) + count)
    distance = tl.where(mask, tile - mean[:, None], 0.0)
    squares = tl.sum(distance * distance, axis=1)
    for start in range(BLOCK, n, CHUNK):
        at = start + tl.arange(0, CHUNK)[None, :]
        inside = in_rows & (at < n)
        rest = tl.load(x_row + at, mask=inside, other=0).to(tl.float32)
        rest = tl.where(inside, rest - mean[:, None], 0.0)
        squares += tl.sum(rest * rest, axis=1)
    std = tl.sqrt(squares / (tl.zeros([ROWS], dtype=tl.float32) + divisor))
    tl.store(std_ptr + row, std, mask=row < rows)
    tl.store(mean_ptr + row, mean, mask=row < rows)


def wrapper(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    if out is not None:
        raise TypeError("std_mean: out is not supported")
    if isinstance(dim, bool):
        if unbiased is not None:
            raise TypeError("std_mean: unbiased is given twice")
        unbiased, dim = dim, None
    if unbiased is not None:
        if correction is not None:
            raise TypeError("std_mean: give either unbiased or correction")
        correction = 1 if unbiased else 0
    if correction is None:
        correction = 1
    if not input.is_floating_point():
        raise RuntimeError("std_mean: only floating point dtypes are supported")

    rank = input.dim()
    limit = max(rank, 1)
    dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    for d in dims:
        if not -limit <= d < limit:
            raise IndexError(f"std_mean: dim {d} is out of range for a tensor of {rank} dimensions")
    reduced = sorted({d % limit for d in dims})
    if len(reduced) != len(dims):
        raise RuntimeError("std_mean: a dim appears more than once")
    if not reduced or rank == 0:
        reduced = list(range(rank))
    kept = [d for d in range(rank) if d not in reduced]
    shape = [1 if d in reduced else input.shape[d] for d in range(rank) if keepdim or d in kept]
    rows = math.prod([input.shape[d] for d in kept])
    n = math.prod([input.shape[d] for d in reduced])

    std = torch.empty(shape, dtype=input.dtype, device=input.device)
    mean = torch.empty(shape, dtype=input.dtype, device=input.device)
    if rows == 0:
        return std, mean
    # Rows of a multiple of 32 elements are aligned for every dtype.
    stride = max(triton.cdiv(n, 32), 1) * 32
    padded = torch.empty((rows, stride), dtype=input.dtype, device=input.device)
    if n > 0:
        padded[:, :n].copy_(input.permute(kept + reduced).reshape(rows, n))
    kernel_std_mean[(triton.cdiv(rows, 64),)](
        padded, std, mean, rows, n, stride, float(n), float(max(0, n - correction)), ROWS=64, BLOCK=4096, CHUNK=2048
    )
    return std, mean
