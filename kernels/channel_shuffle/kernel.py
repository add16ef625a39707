# Generated: the kernel of aten::channel_shuffle for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_elements(x_ptr, out_ptr, n, channels, groups, per_group, inner, iters, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * iters
    for step in range(0, iters):
        i = (first + step) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        column = i % inner
        row = i // inner
        outer = row // channels
        c = row % channels
        source = (outer * channels + (c % groups) * per_group + c // groups) * inner + column
        x = tl.load(x_ptr + source[:, None], mask=mask[:, None], other=0)
        tl.store(out_ptr + i, tl.reshape(x, [BLOCK]), mask=mask)


@triton.jit
def kernel_rows(
    x_ptr, out_ptr, rows, channels, groups, per_group, inner, column_blocks, iters,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * iters
    for step in range(0, iters):
        tile = first + step
        row = (tile // column_blocks) * ROWS + tl.arange(0, ROWS)
        column = (tile % column_blocks) * COLS + tl.arange(0, COLS)
        mask = (row < rows)[:, None] & (column < inner)[None, :]
        outer = row // channels
        c = row % channels
        source = (outer * channels + (c % groups) * per_group + c // groups) * inner
        x = tl.load(x_ptr + source[:, None] + column[None, :], mask=mask, other=0)
        tl.store(out_ptr + row[:, None] * inner + column[None, :], x, mask=mask)


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(input, groups):
    if not isinstance(input, torch.Tensor):
        raise TypeError("channel_shuffle(): argument 'input' must be Tensor")
    if isinstance(groups, bool) or not isinstance(groups, int):
        raise TypeError("channel_shuffle(): argument 'groups' must be int")
    if input.dim() <= 2:
        raise RuntimeError("channel_shuffle expects input with > 2 dims")
    if groups <= 0:
        raise RuntimeError("Number of groups to divide channels in must be positive.")
    channels = input.shape[1]
    if channels % groups != 0:
        raise RuntimeError("Number of channels must be divisible by groups.")
    shape = input.shape
    out = torch.empty(shape, dtype=input.dtype, device=input.device)
    n = input.numel()
    if n == 0:
        return out
    outer = shape[0]
    inner = n // (shape[0] * channels)
    if input.dim() == 4 and not input.is_contiguous() and input.is_contiguous(memory_format=torch.channels_last):
        out = torch.empty_strided(shape, input.stride(), dtype=input.dtype, device=input.device)
        x = input
        if x.storage_offset() * x.element_size() % 32 != 0:
            x = torch.empty_strided(shape, input.stride(), dtype=input.dtype, device=input.device)
            x.copy_(input)
        outer = outer * inner
        inner = 1
    else:
        x = input.contiguous()
        if x.storage_offset() * x.element_size() % 32 != 0:
            x = x.clone()
    per_group = channels // groups
    if inner * input.element_size() % 32 == 0:
        rows = outer * channels
        cols = min(triton.next_power_of_2(inner), 2048)
        height = min(2048 // cols, triton.next_power_of_2(rows))
        column_blocks = triton.cdiv(inner, cols)
        blocks = triton.cdiv(rows, height) * column_blocks
        iters = triton.cdiv(blocks, 65535)
        kernel_rows[(triton.cdiv(blocks, iters),)](
            bits(x), bits(out), rows, channels, groups, per_group, inner, column_blocks, iters, ROWS=height, COLS=cols
        )
    else:
        block = 1024
        blocks = triton.cdiv(n, block)
        iters = triton.cdiv(blocks, 65535)
        kernel_elements[(triton.cdiv(blocks, iters),)](
            bits(x), bits(out), n, channels, groups, per_group, inner, iters, BLOCK=block
        )
    return out
