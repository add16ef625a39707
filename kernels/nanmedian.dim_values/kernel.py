# Generated: the kernel of aten::nanmedian.dim_values for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
NOTHING = tl.constexpr(9223372036854775807)


@triton.jit
def tile_keys(
    x_ptr, base, there, start, n, inner,
    FLOAT: tl.constexpr, KEY: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    k = start + tl.arange(0, BLOCK).to(tl.int64)
    ok = there[:, None] & (k < n)[None, :]
    place = tl.reshape(base[:, None] + (k * inner)[None, :], [ROWS * BLOCK, 1])
    x = tl.load(x_ptr + place, mask=tl.reshape(ok, [ROWS * BLOCK, 1]), other=0)
    x = tl.reshape(x, [ROWS, BLOCK])
    if FLOAT:
        y = x.to(tl.float32)
        y = tl.where(y == 0, 0.0, y)
        bits = y.to(tl.int32, bitcast=True)
        key = bits ^ ((bits >> 31) & 2147483647)
        key = tl.where(y != y, 2147483647, key)
    else:
        key = x.to(KEY)
    return key, ok


@triton.jit
def kernel_nanmedian(
    x_ptr, value_ptr, index_ptr, rows, n, inner,
    FLOAT: tl.constexpr, KEY: tl.constexpr, WIDTH: tl.constexpr, ONE: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    step = tl.num_programs(0).to(tl.int64) * ROWS
    for first in range(tl.program_id(0).to(tl.int64) * ROWS, rows, step):
        r = first + tl.arange(0, ROWS).to(tl.int64)
        there = r < rows
        base = r // inner * n * inner + r % inner
        valid = tl.zeros([ROWS], dtype=tl.int64) + n
        if FLOAT:
            numbers = tl.zeros([ROWS, BLOCK], dtype=tl.int64)
            for start in range(0, n, BLOCK):
                key, ok = tile_keys(x_ptr, base, there, start, n, inner, FLOAT, KEY, ROWS, BLOCK)
                numbers += (ok & (key != 2147483647)).to(tl.int64)
            valid = tl.sum(numbers, axis=1)
        half = tl.maximum(valid - 1, 0) // 2
        low = tl.full([ROWS], 1, dtype=KEY) << (WIDTH - 1)
        top = ~low
        target = low
        bit = low
        less = tl.zeros([ROWS], dtype=tl.int64)
        if ONE:
            only, only_ok = tile_keys(x_ptr, base, there, 0, n, inner, FLOAT, KEY, ROWS, BLOCK)
            for b in range(0, WIDTH):
                candidate = target ^ bit
                count = tl.sum((only_ok & (only < candidate[:, None])).to(tl.int64), axis=1)
                less = tl.where(count <= half, count, less)
                target = tl.where(count <= half, candidate, target)
                bit = (bit >> 1) & top
        else:
            for b in range(0, WIDTH):
                candidate = target ^ bit
                counts = tl.zeros([ROWS, BLOCK], dtype=tl.int64)
                for start in range(0, n, BLOCK):
                    key, ok = tile_keys(x_ptr, base, there, start, n, inner, FLOAT, KEY, ROWS, BLOCK)
                    counts += (ok & (key < candidate[:, None])).to(tl.int64)
                count = tl.sum(counts, axis=1)
                less = tl.where(count <= half, count, less)
                target = tl.where(count <= half, candidate, target)
                bit = (bit >> 1) & top
        want = half - less
        seen = tl.zeros([ROWS], dtype=tl.int64)
        found = tl.full([ROWS, BLOCK], NOTHING, dtype=tl.int64)
        for start in range(0, n, BLOCK):
            key, ok = tile_keys(x_ptr, base, there, start, n, inner, FLOAT, KEY, ROWS, BLOCK)
            equal = ok & (key == target[:, None])
            ones = equal.to(tl.int64)
            place = seen[:, None] + tl.cumsum(ones, axis=1) - 1
            k = (start + tl.arange(0, BLOCK).to(tl.int64))[None, :]
            found = tl.minimum(found, tl.where(equal & (place == want[:, None]), k, NOTHING))
            seen += tl.sum(ones, axis=1)
        at = tl.min(found, axis=1)
        at = tl.where(there, at, 0)
        value = tl.load(x_ptr + (base + at * inner)[:, None], mask=there[:, None], other=0)
        tl.store(value_ptr + r, tl.reshape(value, [ROWS]), mask=there)
        tl.store(index_ptr + r, at, mask=there)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, dim, keepdim=False, *, values, indices):
    sizes = list(self.shape)
    dim = dim % max(len(sizes), 1)
    n = sizes[dim] if sizes else 1
    inner = math.prod(sizes[dim + 1 :])
    kept = [1] if sizes and keepdim else []
    shape = sizes[:dim] + kept + sizes[dim + 1 :]
    if list(values.shape) != shape:
        values.resize_(shape)
    if list(indices.shape) != shape:
        indices.resize_(shape)
    rows = values.numel()
    if rows == 0:
        return values, indices
    medians = torch.empty(shape, dtype=values.dtype, device=values.device)
    places = torch.empty(shape, dtype=indices.dtype, device=indices.device)
    wide = self.dtype == torch.int64
    block = max(min(triton.next_power_of_2(n), 2048), 2)
    tile = max(min(2048 // block, triton.next_power_of_2(rows)), 1)
    grid = (min(triton.cdiv(rows, tile), 8192),)
    kernel_nanmedian[grid](
        aligned(self), medians, places, rows, n, inner,
        FLOAT=self.is_floating_point(), KEY=tl.int64 if wide else tl.int32, WIDTH=64 if wide else 32,
        ONE=n <= block, ROWS=tile, BLOCK=block,
    )
    values.copy_(medians)
    indices.copy_(places)
    return values, indices
