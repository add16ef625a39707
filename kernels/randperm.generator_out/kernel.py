# Generated: the kernel of aten::randperm.generator_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
NOTHING = tl.constexpr(9223372036854775807)


@triton.jit
def kernel_keys(out_ptr, n, blocks, seed, BITS: tl.constexpr, BLOCK: tl.constexpr):
    # Random bits above, the number itself in the lowest bits: sorted runs of one block each.
    for b in range(tl.program_id(0), blocks, tl.num_programs(0)):
        at = b * BLOCK + tl.arange(0, BLOCK)
        i = at.to(tl.int64)
        high = tl.randint(seed, 2 * at).to(tl.int64) & 0x7FFFFFFF
        low = tl.randint(seed, 2 * at + 1).to(tl.int64) & 0xFFFFFFFF
        key = ((((high << 32) | low) >> BITS) << BITS) | i
        key = tl.where(i < n, key, NOTHING)
        tl.store(out_ptr + i, tl.sort(key))


@triton.jit
def kernel_merge(x_ptr, out_ptr, width, run, steps, BLOCK: tl.constexpr):
    # Each place of a merged pair of runs finds by bisection how many elements before it come from the first run.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, width, step):
        p = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = p < width
        left = p // (2 * run) * (2 * run)
        d = p - left
        la = tl.minimum(width - left, run)
        lb = tl.maximum(tl.minimum(width - left - run, run), 0)
        lo = tl.maximum(d - lb, 0)
        hi = tl.minimum(d, la)
        for _ in range(0, steps):
            active = mask & (lo < hi)
            mid = (lo + hi) // 2
            a = tl.load((x_ptr + left + mid)[:, None], mask=active[:, None], other=0)
            b = tl.load((x_ptr + left + run + d - 1 - mid)[:, None], mask=active[:, None], other=0)
            less = tl.reshape(a, [BLOCK]) < tl.reshape(b, [BLOCK])
            lo = tl.where(active & less, mid + 1, lo)
            hi = tl.where(active & (less == 0), mid, hi)
        ma = mask & (lo < la)
        mb = mask & (d - lo < lb)
        a = tl.load((x_ptr + left + lo)[:, None], mask=ma[:, None], other=NOTHING)
        b = tl.load((x_ptr + left + run + d - lo)[:, None], mask=mb[:, None], other=NOTHING)
        tl.store(out_ptr + p, tl.minimum(tl.reshape(a, [BLOCK]), tl.reshape(b, [BLOCK])), mask=mask)


@triton.jit
def kernel_take(x_ptr, out_ptr, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        key = tl.load(x_ptr + i, mask=mask, other=0)
        value = key - ((key >> BITS) << BITS)
        tl.store(out_ptr + i, value, mask=mask)


def wrapper(n, *, seed, out):
    if n == 0:
        return out
    block = max(min(triton.next_power_of_2(n), 1024), 16)
    blocks = triton.cdiv(n, block)
    width = blocks * block
    bits = 1
    while (1 << bits) < n:
        bits += 1
    keys = torch.empty((width,), dtype=torch.int64, device=out.device)
    kernel_keys[(min(blocks, 4096),)](keys, n, blocks, seed, BITS=bits, BLOCK=block)
    run = block
    steps = 1
    while (1 << (steps - 1)) < run:
        steps += 1
    other = torch.empty((width,), dtype=torch.int64, device=out.device) if run < width else keys
    while run < width:
        kernel_merge[(min(triton.cdiv(width, 1024), 4096),)](keys, other, width, run, steps, BLOCK=1024)
        keys, other = other, keys
        run = run * 2
        steps += 1
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    target = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    kernel_take[(min(triton.cdiv(n, 1024), 4096),)](keys, target, n, BITS=bits, BLOCK=1024)
    if not direct:
        out.copy_(target)
    return out
