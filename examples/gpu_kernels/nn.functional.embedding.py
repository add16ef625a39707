@triton.jit
def kernel_embedding(index_ptr, weight_ptr, out_ptr, width, stride_row, stride_column, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    row = tl.load(index_ptr + program).to(tl.int64)
    for start in range(0, width, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < width
        x = tl.load(weight_ptr + row * stride_row + column * stride_column, mask=mask)
        tl.store(out_ptr + program * width + column, x, mask=mask)


@triton.jit
def kernel_renorm(
    index_ptr, weight_ptr, count, width, stride_row, stride_column, max_norm, norm_type,
    INFINITE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # One program a row of the table; rows that no index names stay as they are.
    row = tl.program_id(0).to(tl.int64)
    used = 0
    for start in range(0, count, BLOCK):
        i = start + tl.arange(0, BLOCK)
        index = tl.load(index_ptr + i, mask=i < count, other=-1)
        used += tl.sum((index == row).to(tl.int32), axis=0)
    if used > 0:
        total = 0.0
        for start in range(0, width, BLOCK):
            column = start + tl.arange(0, BLOCK)
            at = weight_ptr + row * stride_row + column * stride_column
            x = tl.abs(tl.load(at, mask=column < width, other=0).to(tl.float32))
            if INFINITE:
                total = tl.maximum(total, tl.max(x, axis=0))
            else:
                total += tl.sum(tl.where(x > 0, tl.exp2(norm_type * tl.log2(tl.where(x > 0, x, 1.0))), 0.0), axis=0)
        if INFINITE:
            norm = total
        else:
            norm = tl.where(total > 0, tl.exp2(tl.log2(tl.where(total > 0, total, 1.0)) / norm_type), 0.0)
        if norm > max_norm:
            scale = max_norm / (norm + 1e-7)
            for start in range(0, width, BLOCK):
                column = start + tl.arange(0, BLOCK)
                at = weight_ptr + row * stride_row + column * stride_column
                x = tl.load(at, mask=column < width, other=0).to(tl.float32)
                tl.store(at, x * scale, mask=column < width)


def wrapper(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if weight.dim() != 2:
        raise RuntimeError("embedding: the weight must be a matrix")
    index = input.contiguous()
    rows, width = weight.shape
    out = torch.empty(list(input.shape) + [width], dtype=weight.dtype, device=weight.device)
    count = index.numel()
    if out.numel() == 0:
        return out
    block = min(triton.next_power_of_2(width), 1024)
    if max_norm is not None:
        kernel_renorm[(rows,)](
            index, weight, count, width, weight.stride(0), weight.stride(1), float(max_norm), float(norm_type),
            INFINITE=norm_type == math.inf, BLOCK=1024,
        )  # fmt: skip
    kernel_embedding[(count,)](index, weight, out, width, weight.stride(0), weight.stride(1), BLOCK=block)
    return out
