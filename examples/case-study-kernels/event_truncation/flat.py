@triton.jit
def kernel_sums(lengths_ptr, sums_ptr, pairs, COARSE: tl.constexpr):
    block = tl.program_id(0)
    at = block * COARSE + tl.arange(0, COARSE)
    lengths = tl.load(lengths_ptr + at, mask=at < pairs, other=0).to(tl.int64)
    tl.store(sums_ptr + block, tl.sum(lengths, axis=0))


@triton.jit
def kernel_begins(lengths_ptr, sums_ptr, begins_ptr, pairs, COARSE: tl.constexpr, SUMS: tl.constexpr):
    coarse = tl.program_id(0)
    before = tl.zeros([SUMS], dtype=tl.int64)
    for first in range(0, coarse, SUMS):
        at = first + tl.arange(0, SUMS)
        before += tl.load(sums_ptr + at, mask=at < coarse, other=0)
    at = coarse * COARSE + tl.arange(0, COARSE)
    length = tl.load(lengths_ptr + at, mask=at < pairs, other=0).to(tl.int64)
    tl.store(begins_ptr + at, tl.sum(before, axis=0) + tl.cumsum(length, axis=0) - length, mask=at < pairs)


@triton.jit
def kernel_flat(values_ptr, lengths_ptr, begins_ptr, out_ptr, elements, KEPT: tl.constexpr, BLOCK: tl.constexpr):
    # Results in the order of memory, whatever the number of kept events: full lines are written.
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < elements
    row = at // KEPT
    place = at % KEPT
    length = tl.load(lengths_ptr + row, mask=inside, other=0)
    begin = tl.load(begins_ptr + row, mask=inside, other=0)
    kept = tl.load(values_ptr + begin + place, mask=inside & (place < length), other=0.0)
    tl.store(out_ptr + at, kept, mask=inside)


def wrapper(values, lengths, kept):
    values, lengths = values.contiguous(), lengths.contiguous()
    out = torch.empty((*lengths.shape, kept), dtype=values.dtype, device=values.device)
    pairs = lengths.numel()
    if out.numel() == 0:
        return out
    coarse, block = 512, 1024
    blocks = triton.cdiv(pairs, coarse)
    sums = torch.empty((blocks,), dtype=torch.int64, device=values.device)
    begins = torch.empty((pairs,), dtype=torch.int64, device=values.device)
    kernel_sums[(blocks,)](lengths, sums, pairs, COARSE=coarse, num_warps=4)
    kernel_begins[(blocks,)](
        lengths, sums, begins, pairs, COARSE=coarse, SUMS=min(triton.next_power_of_2(blocks), 256), num_warps=4
    )
    kernel_flat[(triton.cdiv(out.numel(), block),)](
        values, lengths, begins, out, out.numel(), KEPT=kept, BLOCK=block, num_warps=4
    )
    return out
