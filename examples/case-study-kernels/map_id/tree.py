@triton.jit
def kernel_levels(table_ptr, levels_ptr, entries, WIDTHS: tl.constexpr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    # Level j has the greatest of every 4 ** j entries, levels one behind the other; what is beyond the table counts as
    # its last entry. One program writes its part of every level.
    base = tl.program_id(0)
    first = 0
    size = WIDTHS
    width = 1
    for level in tl.static_range(COUNT):
        size = size // 4
        width = width * 4
        at = base * (BLOCK // 4**level) + tl.arange(0, BLOCK // 4**level)
        entry = tl.load(table_ptr + tl.minimum(at * width + (width - 1), entries - 1), mask=at < size, other=0)
        tl.store(levels_ptr + first + at, entry, mask=at < size)
        first += size


@triton.jit
def kernel_binary(
    values_ptr, table_ptr, out_ptr, n, entries, STEPS: tl.constexpr, PLACE: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(values_ptr + at, mask=inside, other=0)
    place = tl.zeros([BLOCK], dtype=PLACE)
    for level in tl.static_range(STEPS):
        probe = place + (1 << (STEPS - 1 - level))
        there = inside & (probe <= entries)
        entry = tl.load(table_ptr + probe - 1, mask=there, other=0)
        place = tl.where(there & (entry < value), probe, place)
    there = inside & (place < entries)
    entry = tl.load(table_ptr + place, mask=there, other=0)
    found = there & (entry == value)
    tl.store(out_ptr + at, tl.where(found, place + 1, 0).to(tl.int64), mask=inside)


@triton.jit
def kernel_tree(
    values_ptr,
    table_ptr,
    levels_ptr,
    out_ptr,
    n,
    entries,
    TOP: tl.constexpr,
    COUNT: tl.constexpr,
    STEPS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # Binary search in the coarsest level, which stays in the nearest cache; below it, a step reads four neighbours of
    # one line at once and so takes the place of two.
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(values_ptr + at, mask=inside, other=0)
    top = levels_ptr + TOP
    place = tl.zeros([BLOCK], dtype=tl.int32)
    for level in tl.static_range(STEPS):
        step = 1 << (STEPS - 1 - level)
        entry = tl.load(top + (place + (step - 1)), mask=inside, other=0)
        place = tl.where(entry < value, place + step, place)
    # Above COUNT levels of four children lie 2 ** STEPS entries; where all are smaller, the value is not there.
    first = TOP
    size = 1 << STEPS
    child = tl.arange(0, 4)
    for level in tl.static_range(COUNT - 1):
        size = size * 4
        first = first - size
        near = tl.load(levels_ptr + first + (place[:, None] * 4 + child[None, :]), mask=inside[:, None], other=0)
        place = tl.minimum(place * 4 + tl.sum((near < value[:, None]).to(tl.int32), axis=1), size - 1)
    spot = place[:, None] * 4 + child[None, :]
    near = tl.load(table_ptr + spot, mask=inside[:, None] & (spot < entries), other=0)
    equal = (near == value[:, None]) & (spot < entries)
    # The first of equal entries: the smallest place.
    answer = tl.min(tl.where(equal, spot + 1, 2147483647), axis=1)
    tl.store(out_ptr + at, tl.where(answer < 2147483647, answer, 0).to(tl.int64), mask=inside)


def wrapper(values, table):
    values, table = values.contiguous(), table.contiguous()
    out = torch.empty(values.shape, dtype=torch.int64, device=values.device)
    n, entries = values.numel(), table.numel()
    if n == 0:
        return out
    if entries < 32768 or entries > 2**29 or n < entries // 4:
        block = 128
        kernel_binary[(triton.cdiv(n, block),)](
            values,
            table,
            out,
            n,
            entries,
            STEPS=entries.bit_length(),
            PLACE=tl.int32 if entries < 2**30 else tl.int64,
            BLOCK=block,
            num_warps=4,
        )
        return out
    padded = triton.next_power_of_2(entries)
    levels = 4
    sizes = [padded // 4 ** (level + 1) for level in range(levels)]
    tree = torch.empty((sum(sizes),), dtype=torch.int64, device=values.device)
    part = 1024
    kernel_levels[(triton.cdiv(sizes[0], part),)](
        table, tree, entries, WIDTHS=padded, COUNT=levels, BLOCK=part, num_warps=4
    )
    block = 256
    kernel_tree[(triton.cdiv(n, block),)](
        values,
        table,
        tree,
        out,
        n,
        entries,
        TOP=sum(sizes[:-1]),
        COUNT=levels,
        STEPS=sizes[-1].bit_length() - 1,
        BLOCK=block,
        num_warps=4,
    )
    return out
