@triton.jit
def kernel_sums(lengths_ptr, sums_ptr, pairs, COARSE: tl.constexpr):
    block = tl.program_id(0)
    at = block * COARSE + tl.arange(0, COARSE)
    lengths = tl.load(lengths_ptr + at, mask=at < pairs, other=0).to(tl.int64)
    tl.store(sums_ptr + block, tl.sum(lengths, axis=0))


@triton.jit
def kernel_keep(
    values_ptr,
    lengths_ptr,
    sums_ptr,
    out_ptr,
    pairs,
    KEPT: tl.constexpr,
    COARSE: tl.constexpr,
    ROWS: tl.constexpr,
    PLACES: tl.constexpr,
    SUMS: tl.constexpr,
):
    # Where this program's events begin: the sums of the coarse blocks before its own, the lengths in its own before
    # its rows, and a scan over its rows.
    start = tl.program_id(0) * ROWS
    coarse = start // COARSE
    before = tl.zeros([SUMS], dtype=tl.int64)
    for first in range(0, coarse, SUMS):
        at = first + tl.arange(0, SUMS)
        before += tl.load(sums_ptr + at, mask=at < coarse, other=0)
    at = coarse * COARSE + tl.arange(0, COARSE)
    nearer = tl.load(lengths_ptr + at, mask=at < start, other=0).to(tl.int64)
    base = tl.sum(before, axis=0) + tl.sum(nearer, axis=0)
    row = start + tl.arange(0, ROWS)
    length = tl.load(lengths_ptr + row, mask=row < pairs, other=0).to(tl.int64)
    begin = base + tl.cumsum(length, axis=0) - length
    for first in tl.static_range(0, KEPT, PLACES):
        place = first + tl.arange(0, PLACES)
        inside = (row < pairs)[:, None] & (place < KEPT)[None, :]
        there = inside & (place[None, :] < length[:, None])
        kept = tl.load(values_ptr + begin[:, None] + place[None, :], mask=there, other=0.0)
        tl.store(out_ptr + row.to(tl.int64)[:, None] * KEPT + place[None, :], kept, mask=inside)


def wrapper(values, lengths, kept):
    values, lengths = values.contiguous(), lengths.contiguous()
    out = torch.empty((*lengths.shape, kept), dtype=values.dtype, device=values.device)
    pairs = lengths.numel()
    if out.numel() == 0:
        return out
    coarse, rows, places = 1024, 32, min(triton.next_power_of_2(kept), 128)
    blocks = triton.cdiv(pairs, coarse)
    sums = torch.empty((blocks,), dtype=torch.int64, device=values.device)
    kernel_sums[(blocks,)](lengths, sums, pairs, COARSE=coarse, num_warps=4)
    kernel_keep[(triton.cdiv(pairs, rows),)](
        values,
        lengths,
        sums,
        out,
        pairs,
        KEPT=kept,
        COARSE=coarse,
        ROWS=rows,
        PLACES=places,
        SUMS=min(triton.next_power_of_2(blocks), 256),
        num_warps=4,
    )
    return out
