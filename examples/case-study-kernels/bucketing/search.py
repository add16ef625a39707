@triton.jit
def kernel_search(
    x_ptr, borders_ptr, offsets_ptr, out_ptr, samples, MOST: tl.constexpr, LEVELS: tl.constexpr, BLOCK: tl.constexpr
):
    # Binary search without branches among the borders of one feature, which stay in the nearest cache.
    feature = tl.program_id(1).to(tl.int64)
    first = tl.load(offsets_ptr + feature)
    count = (tl.load(offsets_ptr + feature + 1) - first).to(tl.int32)
    own = borders_ptr + first
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < samples
    x = tl.load(x_ptr + feature * samples + at, mask=inside, other=0.0)
    place = tl.zeros([BLOCK], dtype=tl.int32)
    for level in tl.static_range(LEVELS):
        step = 1 << (LEVELS - 1 - level)
        probe = place + (step - 1)
        border = tl.load(own + probe, mask=inside & (probe < count), other=float("inf"))
        place = tl.where(border > x, place, place + step)
    # The steps above end before the last place; borders that a feature lacks are infinite.
    last = tl.load(own + (MOST - 1), mask=count >= MOST, other=float("inf"))
    place = tl.where(last > x, place, MOST)
    tl.store(out_ptr + feature * samples + at, place.to(tl.int64) + first, mask=inside)


def wrapper(x, borders, offsets, init_borders):
    x, borders, offsets = x.contiguous(), borders.contiguous(), offsets.contiguous()
    features, samples = x.shape
    out = torch.empty((features, samples), dtype=torch.int64, device=x.device)
    if out.numel() == 0:
        return out
    levels = init_borders.bit_length()
    block = 1024
    for start in range(0, features, 32768):
        part = min(features - start, 32768)
        kernel_search[(triton.cdiv(samples, block), part)](
            x.narrow(0, start, part),
            borders,
            offsets.narrow(0, start, part + 1),
            out.narrow(0, start, part),
            samples,
            MOST=init_borders + 1,
            LEVELS=levels,
            BLOCK=block,
            num_warps=4,
        )
    return out
