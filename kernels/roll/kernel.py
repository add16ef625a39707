# Generated: the kernel of aten::roll for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_roll_elements(x_ptr, out_ptr, total, n, inner, shift, per, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    for step in range(0, per):
        i = (pid * per + step) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        column = (i // inner) % n
        source = column - shift
        source = tl.where(source < 0, source + n, source)
        at = i + (source - column) * inner
        x = tl.load(x_ptr + at[:, None], mask=mask[:, None], other=0)
        tl.store(out_ptr + i, tl.reshape(x, [BLOCK]), mask=mask)


@triton.jit
def kernel_roll_rows(
    x_ptr, out_ptr, rows, n, inner, shift, tiles, per, column_tiles, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    pid = tl.program_id(0).to(tl.int64)
    for step in range(0, per):
        tile = pid * per + step
        row = (tile // column_tiles) * ROWS + tl.arange(0, ROWS).to(tl.int64)
        lane = (tile % column_tiles) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        mask = ((row < rows) & (tile < tiles))[:, None] & (lane < inner)[None, :]
        column = row % n
        source = column - shift
        source = tl.where(source < 0, source + n, source)
        at = row + source - column
        x = tl.load(x_ptr + at[:, None] * inner + lane[None, :], mask=mask, other=0)
        tl.store(out_ptr + row[:, None] * inner + lane[None, :], x, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def roll_axis(x, outer, n, inner, shift):
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    shift = shift % n
    if inner * x.element_size() % 32 == 0:
        rows = outer * n
        block = min(triton.next_power_of_2(inner), 2048)
        rows_per = max(1, min(triton.next_power_of_2(rows), 4096 // block))
        column_tiles = triton.cdiv(inner, block)
        tiles = triton.cdiv(rows, rows_per) * column_tiles
        per = triton.cdiv(tiles, 65535)
        kernel_roll_rows[(triton.cdiv(tiles, per),)](
            bits(x), bits(out), rows, n, inner, shift, tiles, per, column_tiles, ROWS=rows_per, BLOCK=block
        )
    else:
        total = outer * n * inner
        tiles = triton.cdiv(total, 1024)
        per = triton.cdiv(tiles, 65535)
        kernel_roll_elements[(triton.cdiv(tiles, per),)](
            bits(x), bits(out), total, n, inner, shift, per, BLOCK=1024
        )
    return out


def integers(value, name):
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in values:
        if not isinstance(item, int):
            raise TypeError("roll: argument '" + name + "' must be a tuple of ints")
    return values


def wrapper(input, shifts, dims=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError("roll: input must be a tensor")
    shifts = integers(shifts, "shifts")
    dims = [] if dims is None else integers(dims, "dims")
    sizes = list(input.shape)
    rank = len(sizes)
    if len(shifts) == 0:
        raise RuntimeError("roll: `shifts` required")
    if len(dims) == 0 and len(shifts) == 1:
        if input.numel() == 0:
            return input.clone()
        return roll_axis(aligned(input), 1, input.numel(), 1, shifts[0])
    if len(dims) != len(shifts):
        raise RuntimeError("roll: shifts and dimensions must align")
    if input.numel() == 0:
        return input.clone()
    for dim in dims:
        if not -rank <= dim < rank:
            raise IndexError("roll: dim is out of range")
    x = aligned(input)
    for k in range(len(dims)):
        dim = dims[k] % rank
        x = roll_axis(x, math.prod(sizes[:dim]), sizes[dim], math.prod(sizes[dim + 1 :]), shifts[k])
    return x
