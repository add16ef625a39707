@triton.jit
def kernel_layer_norm(
    x_ptr, weight_ptr, bias_ptr, out_ptr, n, eps, HAS_WEIGHT: tl.constexpr, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr
):
    # One program a row, the row in registers.
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * n
    out_ptr += row * n
    column = tl.arange(0, BLOCK)
    mask = column < n
    x = tl.load(x_ptr + column, mask=mask, other=0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n
    y = centred / tl.sqrt(variance + eps)
    if HAS_WEIGHT:
        y *= tl.load(weight_ptr + column, mask=mask).to(tl.float32)
    if HAS_BIAS:
        y += tl.load(bias_ptr + column, mask=mask).to(tl.float32)
    tl.store(out_ptr + column, y, mask=mask)


def wrapper(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    shape = list(normalized_shape)
    if not shape or list(input.shape[input.dim() - len(shape) :]) != shape:
        raise RuntimeError("layer_norm: normalized_shape must be the last dimensions of the input")
    x = input.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    n = math.prod(shape)
    has_weight = weight is not None
    has_bias = bias is not None
    kernel_layer_norm[(x.numel() // n,)](
        x, weight.contiguous() if has_weight else x, bias.contiguous() if has_bias else x, out, n, eps,
        HAS_WEIGHT=has_weight, HAS_BIAS=has_bias, BLOCK=max(triton.next_power_of_2(n), 1024), num_warps=8,
    )  # fmt: skip
    return out
