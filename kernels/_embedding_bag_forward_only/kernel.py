# Generated: the kernel of aten::_embedding_bag_forward_only for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_bags(
    w_ptr, index_ptr, offset_ptr, scale_ptr, out_ptr, size_ptr, copy_ptr, place_ptr,
    items, blocks, n, marks, M, padding,
    MODE: tl.constexpr, SCALED: tl.constexpr, BLOCK: tl.constexpr,
):
    for item in range(tl.program_id(0).to(tl.int64), items, tl.num_programs(0)):
        bag = item // blocks
        piece = item - bag * blocks
        c = piece * BLOCK + tl.arange(0, BLOCK)
        mask = c < M
        begin = tl.load(offset_ptr + bag).to(tl.int64)
        end = tl.load(offset_ptr + bag + 1, mask=bag + 1 < marks, other=0).to(tl.int64)
        end = tl.where(bag + 1 < marks, end, n)
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        place = tl.zeros([BLOCK], dtype=tl.int64)
        count = begin * 0
        for k in range(begin, end):
            row = tl.load(index_ptr + k).to(tl.int64)
            use = row != padding
            x = tl.load((w_ptr + row * M + c)[:, None], mask=(mask & use)[:, None], other=0)
            x = tl.reshape(x, [BLOCK]).to(tl.float32)
            if MODE == 2:
                better = mask & use & ((count == 0) | (x > acc))
                acc = tl.where(better, x, acc)
                place = tl.where(better, row, place)
            else:
                if SCALED:
                    x = x * tl.load(scale_ptr + k).to(tl.float32)
                acc = tl.where(mask & use, acc + x, acc)
            count += tl.where(use, 1, 0)
        if MODE == 1:
            acc = tl.div_rn(acc, tl.zeros([BLOCK], dtype=tl.float32) + tl.where(count > 0, count, 1).to(tl.float32))
        tl.store((out_ptr + bag * M + c)[:, None], acc[:, None], mask=mask[:, None])
        if MODE == 2:
            tl.store((place_ptr + bag * M + c)[:, None], place[:, None], mask=mask[:, None])
        if MODE != 0:
            tl.store(size_ptr + bag, count, mask=piece == 0)
            if MODE == 1:
                tl.store(copy_ptr + bag, count, mask=piece == 0)


@triton.jit
def kernel_owner(offset_ptr, out_ptr, n, bags, steps, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        low = tl.zeros([BLOCK], dtype=tl.int64)
        high = tl.zeros([BLOCK], dtype=tl.int64) + bags
        for turn in range(0, steps):
            mid = (low + high) // 2
            mark = tl.reshape(tl.load((offset_ptr + mid)[:, None], mask=(mid < bags)[:, None], other=0), [BLOCK]).to(tl.int64)
            below = (mark <= i) & (mid < bags)
            low = tl.where(below, mid, low)
            high = tl.where(below, high, mid)
        tl.store(out_ptr + i, low, mask=i < n)


@triton.jit
def kernel_zero(a_ptr, b_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(a_ptr + i, tl.zeros([BLOCK], dtype=tl.int64), mask=i < n)
        tl.store(b_ptr + i, tl.zeros([BLOCK], dtype=tl.int64), mask=i < n)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=-1,
):
    device = weight.device
    n = indices.numel()
    marks = offsets.numel()
    bags = marks - 1 if include_last_offset else marks
    M = weight.shape[1]
    whole = offsets.dtype
    out = torch.empty((bags, M), dtype=weight.dtype, device=device)
    # Rows without gaps are added up at once, and nobody needs to know to which bag an index belongs.
    direct = mode == 0 and padding_idx < 0 and weight.stride(1) == 1
    if per_sample_weights is not None and per_sample_weights.stride(0) != 1:
        direct = False
    owners = torch.empty((0 if direct else n,), dtype=whole, device=device)
    sizes = torch.empty((bags if mode != 0 else marks,), dtype=whole, device=device)
    if mode == 2:
        places = torch.empty((bags, M), dtype=whole, device=device)
    else:
        places = torch.empty((sizes.numel(),), dtype=whole, device=device)
    if mode == 0 and marks > 0:
        kernel_zero[(min(triton.cdiv(marks, 256), 4096),)](sizes, places, marks, BLOCK=256)
    if bags > 0:
        marks_ = aligned(offsets)
        steps = 2
        while 2**steps < bags + 1:
            steps += 1
        if owners.numel() > 0:
            kernel_owner[(min(triton.cdiv(n, 256), 4096),)](marks_, owners, n, bags, steps + 1, BLOCK=256)
        blocks = max(triton.cdiv(M, 256), 1)
        items = bags * blocks
        scaled = per_sample_weights is not None and mode == 0
        kernel_bags[(min(items, 8192),)](
            aligned(weight) if weight.numel() > 0 else marks_,
            aligned(indices) if n > 0 else marks_,
            marks_,
            aligned(per_sample_weights) if scaled and n > 0 else marks_,
            out if out.numel() > 0 else marks_,
            sizes, places if mode == 1 else sizes, places if mode == 2 and M > 0 else sizes,
            items, blocks, n, marks, M, padding_idx,
            MODE=mode, SCALED=scaled, BLOCK=256,
        )
    return out, owners, sizes, places
