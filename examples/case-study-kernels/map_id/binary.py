@triton.jit
def kernel_map(
    values_ptr, table_ptr, out_ptr, n, entries, STEPS: tl.constexpr, PLACE: tl.constexpr, BLOCK: tl.constexpr
):
    # Without branches: `place` entries are known to be smaller than the value; every step halves what is unknown.
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(values_ptr + at, mask=inside, other=0)
    place = tl.zeros([BLOCK], dtype=PLACE)
    for level in tl.static_range(STEPS):
        step = 1 << (STEPS - 1 - level)
        probe = place + step
        there = inside & (probe <= entries)
        entry = tl.load(table_ptr + probe - 1, mask=there, other=0)
        place = tl.where(there & (entry < value), probe, place)
    there = inside & (place < entries)
    entry = tl.load(table_ptr + place, mask=there, other=0)
    found = there & (entry == value)
    tl.store(out_ptr + at, tl.where(found, place + 1, 0).to(tl.int64), mask=inside)


def wrapper(values, table):
    values, table = values.contiguous(), table.contiguous()
    out = torch.empty(values.shape, dtype=torch.int64, device=values.device)
    n, entries = values.numel(), table.numel()
    if n == 0:
        return out
    block = 256
    kernel_map[(triton.cdiv(n, block),)](
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
