@triton.jit
def affine(y, weight_ptr, bias_ptr, at, n, HAS_WEIGHT: tl.constexpr, HAS_BIAS: tl.constexpr):
    if HAS_WEIGHT:
        y *= tl.load(weight_ptr + at, mask=at < n, other=0).to(tl.float32)[None, :]
    if HAS_BIAS:
        y += tl.load(bias_ptr + at, mask=at < n, other=0).to(tl.float32)[None, :]
    return y


@triton.jit
def kernel_layer_norm(
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    rows,
    n,
    stride,
    eps,
    HAS_WEIGHT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    CHUNK: tl.constexpr,
):
    # The first BLOCK columns of 32 rows stay in local memory for all three passes, mean, variance and result, and the
    # result takes as much again: half a MiB of fp32 each. What is longer streams past them in chunks.
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    in_rows = (row < rows)[:, None]
    x_row = x_ptr + (row * stride)[:, None]
    out_row = out_ptr + (row * stride)[:, None]
    column = tl.arange(0, BLOCK)
    mask = in_rows & (column < n)[None, :]
    tile = tl.load(x_row + column[None, :], mask=mask, other=0).to(tl.float32)
    total = tl.sum(tile, axis=1)
    for start in range(BLOCK, n, CHUNK):
        at = start + tl.arange(0, CHUNK)
        inside = in_rows & (at < n)[None, :]
        total += tl.sum(tl.load(x_row + at[None, :], mask=inside, other=0).to(tl.float32), axis=1)
    mean = (total / n)[:, None]
    distance = tl.where(mask, tile - mean, 0.0)
    squares = tl.sum(distance * distance, axis=1)
    for start in range(BLOCK, n, CHUNK):
        at = start + tl.arange(0, CHUNK)
        inside = in_rows & (at < n)[None, :]
        rest = tl.load(x_row + at[None, :], mask=inside, other=0).to(tl.float32)
        away = tl.where(inside, rest - mean, 0.0)
        squares += tl.sum(away * away, axis=1)
    scale = (1.0 / tl.sqrt(squares / n + eps))[:, None]
    first = affine((tile - mean) * scale, weight_ptr, bias_ptr, column, n, HAS_WEIGHT, HAS_BIAS)
    tl.store(out_row + column[None, :], first, mask=mask)
    for start in range(BLOCK, n, CHUNK):
        at = start + tl.arange(0, CHUNK)
        inside = in_rows & (at < n)[None, :]
        rest = tl.load(x_row + at[None, :], mask=inside, other=0).to(tl.float32)
        y = affine((rest - mean) * scale, weight_ptr, bias_ptr, at, n, HAS_WEIGHT, HAS_BIAS)
        tl.store(out_row + at[None, :], y, mask=inside)


def wrapper(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    shape = list(normalized_shape)
    if not shape or list(input.shape[input.dim() - len(shape) :]) != shape:
        raise RuntimeError("layer_norm: normalized_shape must be the last dimensions of the input")
    for parameter in (weight, bias):
        if parameter is not None and list(parameter.shape) != shape:
            raise RuntimeError("layer_norm: weight and bias must have the shape normalized_shape")
    if input.numel() == 0:
        return torch.empty(input.shape, dtype=input.dtype, device=input.device)
    n = math.prod(shape)
    rows = input.numel() // n
    # Rows of a multiple of 32 elements are aligned for every dtype.
    stride = triton.cdiv(n, 32) * 32
    padded = torch.empty((rows, stride), dtype=input.dtype, device=input.device)
    padded[:, :n].copy_(input.reshape(rows, n))
    out = torch.empty((rows, stride), dtype=input.dtype, device=input.device)
    kernel_layer_norm[(triton.cdiv(rows, 32),)](
        padded,
        padded if weight is None else weight.clone(memory_format=torch.contiguous_format),
        padded if bias is None else bias.clone(memory_format=torch.contiguous_format),
        out, rows, n, stride, float(eps),
        HAS_WEIGHT=weight is not None, HAS_BIAS=bias is not None, ROWS=32, BLOCK=4096, CHUNK=2048,
    )  # fmt: skip
    return out[:, :n].reshape(input.shape).contiguous()
