# Generated: the kernel of aten::sort.values_stable for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
GREATEST = tl.constexpr(9223372036854775807)


@triton.jit
def kernel_tiles(x_ptr, key_ptr, at_ptr, rows, n, width, tiles, tasks, FLOAT: tl.constexpr, WIDE: tl.constexpr,
                 DESCENDING: tl.constexpr, R: tl.constexpr, T: tl.constexpr):
    # Sorts R rows of T elements at a time. Keys are integers in the wanted order; equal ones keep their order.
    for task in range(tl.program_id(0).to(tl.int64), tasks, tl.num_programs(0)):
        r = task // tiles * R + tl.arange(0, R)
        first = task % tiles * T
        c = first + tl.arange(0, T)
        live = (r < rows)[:, None] & (c < n)[None, :]
        offsets = (r * width)[:, None] + c[None, :]
        x = tl.load(x_ptr + offsets, mask=live, other=0)
        if FLOAT:
            bits = x.to(tl.float32).to(tl.int32, bitcast=True)
            size = bits & 0x7FFFFFFF
            signed = tl.where(bits < 0, -size, size)
            key = tl.where(size > 0x7F800000, 0x7FFFFFFF, signed).to(tl.int64)
        else:
            key = x.to(tl.int64)
        if DESCENDING:
            key = -1 - key
        lane = tl.broadcast_to(tl.arange(0, T).to(tl.int64)[None, :], [R, T])
        if WIDE:
            key = tl.where(live, key, GREATEST)
            low = (key & 0xFFFFFFFF) - 2147483648
            by_low = tl.sort((low << 32) | lane, dim=1) & 0xFFFFFFFF
            high = tl.gather(key >> 32, by_low.to(tl.int32), 1)
            by_high = tl.sort((high << 32) | lane, dim=1) & 0xFFFFFFFF
            order = tl.gather(by_low, by_high.to(tl.int32), 1)
            key = tl.gather(key, order.to(tl.int32), 1)
        else:
            key = tl.where(live, key, 0x7FFFFFFF)
            both = tl.sort((key << 32) | lane, dim=1)
            order = both & 0xFFFFFFFF
            key = both >> 32
        tl.store(key_ptr + offsets, key, mask=live)
        tl.store(at_ptr + offsets, order + first, mask=live)


@triton.jit
def kernel_merge(key_ptr, at_ptr, new_key_ptr, new_at_ptr, n, width, run, steps, blocks, tasks, BLOCK: tl.constexpr):
    # Runs of `run` sorted elements are merged two by two. Place d of a pair takes its element after `lo` of the left
    # run and d - lo of the right one; of equal elements those on the left come first.
    for task in range(tl.program_id(0).to(tl.int64), tasks, tl.num_programs(0)):
        base = task // blocks * width
        p = task % blocks * BLOCK + tl.arange(0, BLOCK)
        live = p < n
        left = p // (2 * run) * (2 * run)
        d = p - left
        na = tl.minimum(n - left, run)
        nb = tl.minimum(tl.maximum(n - left - run, 0), run)
        a_at = base + left
        b_at = a_at + run
        lo = tl.maximum(d - nb, 0)
        hi = tl.minimum(d, na)
        for step in range(0, steps):
            active = live & (lo < hi)
            mid = (lo + hi) // 2
            a = tl.load(key_ptr + (a_at + mid)[:, None], mask=active[:, None], other=0)
            b = tl.load(key_ptr + (b_at + d - 1 - mid)[:, None], mask=active[:, None], other=0)
            before = tl.reshape(a <= b, [BLOCK])
            lo_next = tl.where(active & before, mid + 1, lo)
            hi = tl.where(active & (before == 0), mid, hi)
            lo = lo_next
        j = d - lo
        has_a = live & (lo < na)
        has_b = live & (j < nb)
        a = tl.reshape(tl.load(key_ptr + (a_at + lo)[:, None], mask=has_a[:, None], other=0), [BLOCK])
        b = tl.reshape(tl.load(key_ptr + (b_at + j)[:, None], mask=has_b[:, None], other=0), [BLOCK])
        from_a = has_a & ((a <= b) | (j >= nb))
        source = tl.where(from_a, a_at + lo, b_at + j)
        at = tl.reshape(tl.load(at_ptr + source[:, None], mask=live[:, None], other=0), [BLOCK])
        tl.store(new_key_ptr + base + p, tl.where(from_a, a, b), mask=live)
        tl.store(new_at_ptr + base + p, at, mask=live)


@triton.jit
def kernel_values(x_ptr, at_ptr, v_ptr, rows, n, width, tiles, tasks, R: tl.constexpr, T: tl.constexpr):
    for task in range(tl.program_id(0).to(tl.int64), tasks, tl.num_programs(0)):
        r = task // tiles * R + tl.arange(0, R)
        c = task % tiles * T + tl.arange(0, T)
        live = (r < rows)[:, None] & (c < n)[None, :]
        offsets = (r * width)[:, None] + c[None, :]
        at = tl.load(at_ptr + offsets, mask=live, other=0)
        v = tl.load(x_ptr + (r * width)[:, None] + at, mask=live, other=0)
        tl.store(v_ptr + offsets, v, mask=live)


def wrapper(self, *, stable=None, dim=-1, descending=False, values, indices):
    input = self
    rank = max(input.dim(), 1)
    dim = dim % rank
    if input.numel() == 0:
        return values, indices
    x = input.reshape(1) if input.dim() == 0 else input
    x = x.movedim(dim, -1)
    moved = list(x.shape)
    n = moved[-1]
    rows = x.numel() // n
    unit = max(16, 32 // input.element_size())
    width = triton.cdiv(n, unit) * unit
    device = input.device
    padded = torch.empty((rows, width), dtype=input.dtype, device=device)
    padded[:, :n].copy_(x.reshape(rows, n))
    keys = torch.empty((rows, width), dtype=torch.int64, device=device)
    places = torch.empty((rows, width), dtype=torch.int64, device=device)
    tile = min(max(triton.next_power_of_2(n), 16), 1024)
    many = min(1024 // tile, triton.next_power_of_2(rows))
    tiles = triton.cdiv(n, tile)
    tasks = triton.cdiv(rows, many) * tiles
    kernel_tiles[(min(tasks, 4096),)](
        padded, keys, places, rows, n, width, tiles, tasks, FLOAT=input.is_floating_point(),
        WIDE=input.dtype == torch.int64, DESCENDING=True if descending else False, R=many, T=tile,
    )
    if n > tile:
        other_keys = torch.empty((rows, width), dtype=torch.int64, device=device)
        other_places = torch.empty((rows, width), dtype=torch.int64, device=device)
        blocks = triton.cdiv(n, 1024)
        work = rows * blocks
        run = tile
        while run < n:
            kernel_merge[(min(work, 4096),)](
                keys, places, other_keys, other_places, n, width, run, run.bit_length(), blocks, work, BLOCK=1024,
            )
            keys, other_keys = other_keys, keys
            places, other_places = other_places, places
            run = run * 2
    sorted_values = torch.empty((rows, width), dtype=input.dtype, device=device)
    kernel_values[(min(tasks, 4096),)](padded, places, sorted_values, rows, n, width, tiles, tasks, R=many, T=tile)
    values.copy_(sorted_values[:, :n].reshape(moved).movedim(-1, dim).reshape(values.shape))
    indices.copy_(places[:, :n].reshape(moved).movedim(-1, dim).reshape(indices.shape))
    return values, indices
