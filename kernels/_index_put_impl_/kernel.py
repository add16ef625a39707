# Generated: the kernel of aten::_index_put_impl_ for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_count(mask_ptr, counts_ptr, n, blocks, BLOCK: tl.constexpr):
    for b in range(tl.program_id(0).to(tl.int64), blocks, tl.num_programs(0)):
        k = b * BLOCK + tl.arange(0, BLOCK)
        ones = (tl.load(mask_ptr + k, mask=k < n, other=0) != 0).to(tl.int64)
        tl.store(counts_ptr + b, tl.sum(ones, axis=0))


@triton.jit
def kernel_prefix(counts_ptr, before_ptr, total_ptr, limit_ptr, blocks, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    carry = tl.sum(tl.zeros([BLOCK], dtype=tl.int64), axis=0)
    for start in range(0, blocks, BLOCK):
        b = start + tl.arange(0, BLOCK)
        c = tl.load(counts_ptr + b, mask=b < blocks, other=0)
        tl.store(before_ptr + b, carry + tl.cumsum(c, axis=0) - c, mask=b < blocks)
        carry += tl.sum(c, axis=0)
    tl.store(total_ptr, carry)
    # The common length of several masks, by the rule of broadcasting.
    if FIRST:
        tl.store(limit_ptr, carry)
    else:
        old = tl.load(limit_ptr)
        tl.store(limit_ptr, tl.where(old == 1, carry, old))


@triton.jit
def kernel_place(mask_ptr, before_ptr, places_ptr, n, blocks, length, BLOCK: tl.constexpr):
    for b in range(tl.program_id(0).to(tl.int64), blocks, tl.num_programs(0)):
        k = b * BLOCK + tl.arange(0, BLOCK)
        ones = (tl.load(mask_ptr + k, mask=k < n, other=0) != 0).to(tl.int64)
        number = tl.load(before_ptr + b) + tl.cumsum(ones, axis=0) - 1
        tl.store(places_ptr + number, k, mask=(ones > 0) & (number < length))


@triton.jit
def kernel_linear(index_ptr, total_ptr, limit_ptr, linear_ptr, size, stride, length, count, MASK: tl.constexpr,
                  LIMITED: tl.constexpr, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, count, step):
        e = start + tl.arange(0, BLOCK)
        inside = e < count
        valid = inside
        if MASK:
            total = tl.load(total_ptr)
            j = e % length
            valid = valid & ((j < total) | (total == 1))
            if LIMITED:
                valid = valid & (j < tl.load(limit_ptr))
            at = tl.load(index_ptr + j * (total != 1).to(tl.int64), mask=valid, other=0)
        else:
            at = tl.load(index_ptr + e, mask=inside, other=0).to(tl.int64)
            at = tl.where(at < 0, at + size, at)
        at = at * stride
        if not FIRST:
            old = tl.load(linear_ptr + e, mask=inside, other=0)
            valid = valid & (old >= 0)
            at += old
        tl.store(linear_ptr + e, tl.where(valid, at, -1), mask=inside)


@triton.jit
def kernel_none(winner_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(winner_ptr + i, tl.full([BLOCK], -1, dtype=tl.int32), mask=i < n)


@triton.jit
def kernel_winner(linear_ptr, winner_ptr, count, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, count, step):
        e = start + tl.arange(0, BLOCK)
        at = tl.load(linear_ptr + e, mask=e < count, other=-1)
        tl.atomic_max(winner_ptr + at, e.to(tl.int32), mask=at >= 0)


@triton.jit
def kernel_put(x_ptr, winner_ptr, values_ptr, out_ptr, total, width, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        inside = i < total
        x = tl.load(x_ptr + i, mask=inside, other=0)
        last = tl.load(winner_ptr + i // width, mask=inside, other=-1).to(tl.int64)
        v = tl.load(values_ptr + last * width + i % width, mask=inside & (last >= 0), other=0)
        tl.store(out_ptr + i, tl.where(last >= 0, v.to(x.dtype), x), mask=inside)


@triton.jit
def kernel_cast(x_ptr, out_ptr, n, TRUTH: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0)
        if TRUTH:
            x = (x != 0).to(tl.int32)
        tl.store(out_ptr + i, x, mask=i < n)


@triton.jit
def kernel_split(x_ptr, low_ptr, high_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0)
        tl.store(low_ptr + i, x.to(tl.int32), mask=i < n)
        tl.store(high_ptr + i, (x >> 32).to(tl.int32), mask=i < n)


@triton.jit
def kernel_add_wide(linear_ptr, values_ptr, low_ptr, high_ptr, total, width, BLOCK: tl.constexpr):
    # 64 bits in two halves: what the low one held before an addition tells whether there is a carry.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        inside = i < total
        at = tl.load(linear_ptr + i // width, mask=inside, other=-1)
        keep = inside & (at >= 0)
        to = at * width + i % width
        v = tl.load(values_ptr + i, mask=inside, other=0)
        old = tl.atomic_add(low_ptr + to, v.to(tl.int32), mask=keep)
        carry = ((old.to(tl.int64) & 0xFFFFFFFF) + (v & 0xFFFFFFFF)) >> 32
        tl.atomic_add(high_ptr + to, ((v >> 32) + carry).to(tl.int32), mask=keep)


@triton.jit
def kernel_join(low_ptr, high_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        low = tl.load(low_ptr + i, mask=i < n, other=0).to(tl.int64) & 0xFFFFFFFF
        high = tl.load(high_ptr + i, mask=i < n, other=0).to(tl.int64)
        tl.store(out_ptr + i, (high << 32) | low, mask=i < n)


@triton.jit
def kernel_add(linear_ptr, values_ptr, acc_ptr, total, width, ACC: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        inside = i < total
        at = tl.load(linear_ptr + i // width, mask=inside, other=-1)
        v = tl.load(values_ptr + i, mask=inside, other=0).to(ACC)
        tl.atomic_add(acc_ptr + at * width + i % width, v, mask=inside & (at >= 0))


@triton.jit
def narrowed(b):
    # The float32 number nearest to the float64 number that has the bits b.
    e = (b >> 52) & 2047
    m = b & 0xFFFFFFFFFFFFF
    r = (tl.maximum(e - 896, 0) << 52) | m
    r = (r + 0xFFFFFFF + ((r >> 29) & 1)) >> 29
    r = tl.where(e >= 1151, 0x7F800000, r)
    full = m | 0x10000000000000
    s = tl.minimum(tl.maximum(926 - e, 30), 54)
    half = (m * 0 + 1) << (s - 1)
    small = (full + (half - 1) + ((full >> s) & 1)) >> s
    r = tl.where(e <= 896, small, r)
    r = tl.where((e == 2047) & (m != 0), 0x7FC00000, r)
    r = r | ((b >> 32) & 0x80000000)
    return r.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def widened(x):
    # The bits of a float32 number as those of a float64 number.
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    e = (b >> 23) & 255
    m = b & 0x7FFFFF
    # A subnormal number is an integer of units of 2^-149.
    f = m.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    tiny = e == 0
    power = tl.where(tiny, (f >> 23) + 747, e + 896)
    power = tl.where(e == 255, 2047, power)
    r = (power << 52) | (tl.where(tiny, f & 0x7FFFFF, m) << 29)
    r = tl.where((b & 0x7FFFFFFF) == 0, 0, r)
    return ((b & 0x80000000) << 32) | r


@triton.jit
def kernel_narrow(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + i, narrowed(tl.load(x_ptr + i, mask=i < n, other=0)), mask=i < n)


@triton.jit
def kernel_widen(x_ptr, winner_ptr, acc_ptr, out_ptr, total, width, BLOCK: tl.constexpr):
    # Sums where something was added, and elsewhere the bits that were there.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        inside = i < total
        x = tl.load(x_ptr + i, mask=inside, other=0)
        last = tl.load(winner_ptr + i // width, mask=inside, other=-1)
        acc = tl.load(acc_ptr + i, mask=inside, other=0.0)
        tl.store(out_ptr + i, tl.where(last >= 0, widened(acc), x), mask=inside)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def programs(n):
    return (min(triton.cdiv(n, 1024), 4096),)


def wrapper(self, indices, values, accumulate=False, unsafe=False):
    total = self.numel()
    if total == 0:
        return self
    sizes = list(self.shape)
    masks = (torch.bool, torch.uint8)
    dim = 0
    entries = []
    rest = []
    for index in indices:
        if index is None:
            rest.append(dim)
            dim += 1
            continue
        used = index.dim() if index.dtype in masks else 1
        if used > 0:
            entries.append((index, dim, used))
        dim += used
    rest = rest + list(range(dim, len(sizes)))
    front = []
    for index, first, used in entries:
        front = front + list(range(first, first + used))
    if values.numel() == 1:
        values = values.reshape([])
    adjacent = True
    for k in range(len(entries) - 1):
        if entries[k][1] + entries[k][2] != entries[k + 1][1]:
            adjacent = False
    before = 0
    if entries and adjacent:
        before = len([d for d in rest if d < entries[0][1]])
    after = len(rest) - before
    # The number of true elements is known from another index or from the values; else they are as many as the mask
    # has elements at most, and the kernels find out.
    caps = [index.numel() for index, first, used in entries if index.dtype in masks]
    length = 1
    limited = False
    if caps:
        known = False
        for index, first, used in entries:
            if index.dtype not in masks and index.dim() > 0 and index.shape[-1] != 1:
                length = index.shape[-1]
                known = True
        if not known and values.dim() > after and values.shape[values.dim() - after - 1] != 1:
            length = values.shape[values.dim() - after - 1]
            known = True
        if not known:
            length = max(caps)
            limited = True
    shapes = [[length] if index.dtype in masks else list(index.shape) for index, first, used in entries]
    common = list(torch.broadcast_shapes(*shapes)) if shapes else []
    count = math.prod(common)
    kept = [sizes[d] for d in rest]
    width = math.prod(kept)
    if count == 0:
        return self
    target = kept[:before] + common + kept[before:]
    spread = list(range(before, before + len(common)))
    others = [d for d in range(len(target)) if d not in spread]
    flat_values = aligned(values.expand(target).permute(spread + others).reshape(count * width))
    device = self.device
    limit = torch.empty((1,), dtype=torch.int64, device=device)
    prepared = []
    begun = False
    for index, first, used in entries:
        if index.dtype in masks:
            n = index.numel()
            blocks = triton.cdiv(n, 1024)
            mask = aligned(index)
            counts = torch.empty((blocks,), dtype=torch.int64, device=device)
            earlier = torch.empty((blocks,), dtype=torch.int64, device=device)
            whole = torch.empty((1,), dtype=torch.int64, device=device)
            places = torch.empty((length,), dtype=torch.int64, device=device)
            grid = (min(blocks, 4096),)
            kernel_count[grid](mask, counts, n, blocks, BLOCK=1024)
            kernel_prefix[(1,)](counts, earlier, whole, limit, blocks, FIRST=not begun, BLOCK=1024)
            kernel_place[grid](mask, earlier, places, n, blocks, length, BLOCK=1024, enable_scatter_stores=True)
            begun = True
            prepared.append((places, whole, True))
        else:
            flat = aligned(index.expand(common).reshape(count))
            prepared.append((flat, limit, False))
    linear = torch.empty((count,), dtype=torch.int64, device=device)
    stride = math.prod([sizes[d] for d in front])
    started = False
    for k in range(len(entries)):
        index, first, used = entries[k]
        places, whole, is_mask = prepared[k]
        size = math.prod(sizes[first:first + used])
        stride = stride // size
        kernel_linear[programs(count)](places, whole, limit, linear, size, stride, length, count, MASK=is_mask,
                                       LIMITED=limited, FIRST=not started, BLOCK=1024)
        started = True
    view = self.permute(front + rest)
    moved = aligned(view)
    dense = torch.empty(list(view.shape), dtype=self.dtype, device=device)
    filled = dense
    doubles = self.dtype == torch.float64
    if doubles:
        moved = moved.view(torch.int64)
        flat_values = flat_values.view(torch.int64)
        filled = dense.view(torch.int64)
    if accumulate and doubles:
        positions = total // width
        winner = torch.empty((positions,), dtype=torch.int32, device=device)
        kernel_none[programs(positions)](winner, positions, BLOCK=1024)
        kernel_winner[programs(count)](linear, winner, count, BLOCK=1024, enable_scatter_stores=True)
        acc = torch.empty((total,), dtype=torch.float32, device=device)
        addends = torch.empty((count * width,), dtype=torch.float32, device=device)
        kernel_narrow[programs(total)](moved, acc, total, BLOCK=1024)
        kernel_narrow[programs(count * width)](flat_values, addends, count * width, BLOCK=1024)
        kernel_add[programs(count * width)](linear, addends, acc, count * width, width, ACC=tl.float32, BLOCK=1024,
                                            enable_scatter_stores=True)
        kernel_widen[programs(total)](moved, winner, acc, filled, total, width, BLOCK=1024)
    elif accumulate and self.dtype == torch.int64:
        low = torch.empty((total,), dtype=torch.int32, device=device)
        high = torch.empty((total,), dtype=torch.int32, device=device)
        kernel_split[programs(total)](moved, low, high, total, BLOCK=1024)
        kernel_add_wide[programs(count * width)](linear, flat_values, low, high, count * width, width, BLOCK=1024,
                                                 enable_scatter_stores=True)
        kernel_join[programs(total)](low, high, dense, total, BLOCK=1024)
    elif accumulate:
        floating = self.is_floating_point()
        wide = torch.float32 if floating else torch.int32
        same = wide == self.dtype
        acc = dense if same else torch.empty(list(view.shape), dtype=wide, device=device)
        kernel_cast[programs(total)](moved, acc, total, TRUTH=False, BLOCK=1024)
        kernel_add[programs(count * width)](linear, flat_values, acc, count * width, width,
                                            ACC=tl.float32 if floating else tl.int32, BLOCK=1024,
                                            enable_scatter_stores=True)
        if not same:
            kernel_cast[programs(total)](acc, dense, total, TRUTH=self.dtype == torch.bool, BLOCK=1024)
    else:
        positions = total // width
        winner = torch.empty((positions,), dtype=torch.int32, device=device)
        kernel_none[programs(positions)](winner, positions, BLOCK=1024)
        kernel_winner[programs(count)](linear, winner, count, BLOCK=1024, enable_scatter_stores=True)
        kernel_put[programs(total)](moved, winner, flat_values, filled, total, width, BLOCK=1024)
    view.copy_(dense)
    return self
