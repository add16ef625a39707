# Generated: the kernel of aten::min.dim_min for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
NOTHING = tl.constexpr(9223372036854775807)


@triton.jit
def kernel_min(
    x_ptr, out_ptr, index_ptr, rows, n, inner,
    FLOAT: tl.constexpr, ACC: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    step = tl.num_programs(0).to(tl.int64) * ROWS
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    for first in range(tl.program_id(0).to(tl.int64) * ROWS, rows, step):
        r = first + tl.arange(0, ROWS).to(tl.int64)
        there = r < rows
        # Surplus lanes read the last row and the last element once more, which changes no minimum.
        row = tl.minimum(r, rows - 1)
        base = row // inner * n * inner + row % inner
        k = tl.minimum(lanes, n - 1)
        place = tl.reshape(base[:, None] + (k * inner)[None, :], [ROWS * BLOCK, 1])
        best = tl.reshape(tl.load(x_ptr + place), [ROWS, BLOCK]).to(ACC)
        best_at = tl.zeros([ROWS, BLOCK], dtype=tl.int64) + k[None, :]
        for start in range(BLOCK, n, BLOCK):
            k = tl.minimum(start + lanes, n - 1)
            place = tl.reshape(base[:, None] + (k * inner)[None, :], [ROWS * BLOCK, 1])
            x = tl.reshape(tl.load(x_ptr + place), [ROWS, BLOCK]).to(ACC)
            better = x < best
            if FLOAT:
                better = better | ((x != x) & (best == best))
            best = tl.where(better, x, best)
            best_at = tl.where(better, k[None, :], best_at)
        if FLOAT:
            isnan = best != best
            nan_at = tl.min(tl.where(isnan, best_at, NOTHING), axis=1)
            clean = tl.where(isnan, float("inf"), best)
            low = tl.min(clean, axis=1)
            at = tl.min(tl.where(best == low[:, None], best_at, NOTHING), axis=1)
            at = tl.where(nan_at < NOTHING, nan_at, at)
        else:
            low = tl.min(best, axis=1)
            at = tl.min(tl.where(best == low[:, None], best_at, NOTHING), axis=1)
        value = tl.load(x_ptr + (base + at * inner)[:, None])
        tl.store(out_ptr + r, tl.reshape(value, [ROWS]), mask=there)
        tl.store(index_ptr + r, at, mask=there)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def launch(x, dim, values, places):
    sizes = list(x.shape)
    rank = max(len(sizes), 1)
    dim = dim % rank
    n = sizes[dim] if sizes else 1
    inner = math.prod(sizes[dim + 1 :])
    rows = values.numel()
    block = max(min(triton.next_power_of_2(n), 1024), 2)
    tile = max(min(1024 // block, triton.next_power_of_2(rows)), 1)
    floating = x.is_floating_point()
    grid = (min(triton.cdiv(rows, tile), 8192),)
    kernel_min[grid](
        aligned(x), values, places, rows, n, inner,
        FLOAT=floating, ACC=tl.float32 if floating else tl.int64, ROWS=tile, BLOCK=block,
    )


def wrapper(self, dim, keepdim=False, *, min, min_indices):
    if min.numel() == 0:
        return min, min_indices
    values = torch.empty(min.shape, dtype=min.dtype, device=min.device)
    places = torch.empty(min.shape, dtype=min_indices.dtype, device=min.device)
    launch(self, dim, values, places)
    min.copy_(values)
    min_indices.copy_(places)
    return min, min_indices
