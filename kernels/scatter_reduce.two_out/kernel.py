# Generated: the kernel of aten::scatter_reduce.two_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
NOTHING = tl.constexpr(9223372036854775807)


@triton.jit
def place(e, n1, n2, n3, n4, n5, n6, n7, s0, s1, s2, s3, s4, s5, s6, s7):
    at = e % n7 * s7
    r = e // n7
    at += r % n6 * s6
    r = r // n6
    at += r % n5 * s5
    r = r // n5
    at += r % n4 * s4
    r = r // n4
    at += r % n3 * s3
    r = r // n3
    at += r % n2 * s2
    r = r // n2
    at += r % n1 * s1
    r = r // n1
    at += r * s0
    return at


@triton.jit
def ordered(x, HIGH: tl.constexpr):
    # float32 numbers as whole numbers in the same order, NaN at the end that wins.
    b = x.to(tl.int32, bitcast=True)
    o = b ^ ((b >> 31) & 0x7FFFFFFF)
    if HIGH:
        o = tl.where(x != x, 2147483647, o)
    else:
        o = tl.where(x != x, -2147483648, o)
    return o.to(tl.int32)


@triton.jit
def kernel_clear(acc_ptr, count_ptr, n, KIND: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        k = start + tl.arange(0, BLOCK)
        zero = tl.zeros([BLOCK], dtype=ACC)
        if KIND == 2:
            if ACC == tl.int64:
                zero = zero - 9223372036854775807 - 1
            else:
                zero = zero - 2147483647 - 1
        if KIND == 3:
            if ACC == tl.int64:
                zero = zero + 9223372036854775807
            else:
                zero = zero + 2147483647
        tl.store(acc_ptr + k, zero, mask=k < n)
        tl.store(count_ptr + k, tl.zeros([BLOCK], dtype=tl.int32), mask=k < n)


@triton.jit
def kernel_gather(index_ptr, src_ptr, to_ptr, value_ptr, entries, hop, n1, n2, n3, n4, n5, n6, n7,
                  i0, i1, i2, i3, i4, i5, i6, i7, t0, t1, t2, t3, t4, t5, t6, t7, d0, d1, d2, d3, d4, d5, d6, d7,
                  WIDE: tl.constexpr, BLOCK: tl.constexpr):
    # For each entry the place that it goes to, and its value.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, entries, step):
        e = start + tl.arange(0, BLOCK)
        mask = e < entries
        i = place(e, n1, n2, n3, n4, n5, n6, n7, i0, i1, i2, i3, i4, i5, i6, i7)
        t = place(e, n1, n2, n3, n4, n5, n6, n7, t0, t1, t2, t3, t4, t5, t6, t7)
        d = place(e, n1, n2, n3, n4, n5, n6, n7, d0, d1, d2, d3, d4, d5, d6, d7)
        to = tl.reshape(tl.load((index_ptr + i)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.int64)
        s = tl.reshape(tl.load((src_ptr + t)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(WIDE)
        tl.store(to_ptr + e, d + to * hop, mask=mask)
        tl.store(value_ptr + e, s, mask=mask)


@triton.jit
def kernel_join(to_ptr, value_ptr, acc_ptr, count_ptr, entries, KIND: tl.constexpr, FLOAT: tl.constexpr,
                BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, entries, step):
        e = start + tl.arange(0, BLOCK)
        mask = e < entries
        at = tl.load(to_ptr + e, mask=mask, other=0)
        s = tl.load(value_ptr + e, mask=mask, other=0)
        tl.atomic_add(count_ptr + at, tl.full([BLOCK], 1, dtype=tl.int32), mask=mask)
        if KIND == 0:
            tl.atomic_add(acc_ptr + at, s, mask=mask)
        elif KIND == 2:
            if FLOAT:
                s = ordered(s, True)
            tl.atomic_max(acc_ptr + at, s, mask=mask)
        else:
            if FLOAT:
                s = ordered(s, False)
            tl.atomic_min(acc_ptr + at, s, mask=mask)


@triton.jit
def kernel_keys(to_ptr, key_ptr, entries, blocks, BLOCK: tl.constexpr):
    # Sorted runs of one block each of the places, with the entries in the low halves.
    for b in range(tl.program_id(0).to(tl.int64), blocks, tl.num_programs(0)):
        e = b * BLOCK + tl.arange(0, BLOCK)
        mask = e < entries
        at = tl.load(to_ptr + e, mask=mask, other=0)
        key = tl.where(mask, (at << 32) | e, NOTHING)
        tl.store(key_ptr + e, tl.sort(key))


@triton.jit
def kernel_merge(x_ptr, out_ptr, width, run, steps, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, width, step):
        p = start + tl.arange(0, BLOCK)
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
def kernel_line(key_ptr, value_ptr, out_ptr, entries, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, entries, step):
        p = start + tl.arange(0, BLOCK)
        mask = p < entries
        e = tl.load(key_ptr + p, mask=mask, other=0) & 0xFFFFFFFF
        v = tl.load((value_ptr + e)[:, None], mask=mask[:, None], other=0)
        tl.store(out_ptr + p, tl.reshape(v, [BLOCK]), mask=mask)


@triton.jit
def kernel_double(key_ptr, value_ptr, out_ptr, entries, shift, KIND: tl.constexpr, BLOCK: tl.constexpr):
    # Twice as many neighbours for the same place are joined.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, entries, step):
        p = start + tl.arange(0, BLOCK)
        mask = p < entries
        more = p + shift < entries
        k = tl.load(key_ptr + p, mask=mask, other=0)
        v = tl.load(value_ptr + p, mask=mask, other=0)
        k2 = tl.reshape(tl.load((key_ptr + p + shift)[:, None], mask=more[:, None], other=0), [BLOCK])
        v2 = tl.reshape(tl.load((value_ptr + p + shift)[:, None], mask=more[:, None], other=0), [BLOCK])
        same = more & ((k >> 32) == (k2 >> 32))
        if KIND == 0:
            joined = v + v2
        elif KIND == 1:
            joined = v * v2
        elif KIND == 2:
            joined = tl.maximum(v, v2)
        else:
            joined = tl.minimum(v, v2)
        tl.store(out_ptr + p, tl.where(same, joined, v), mask=mask)


@triton.jit
def kernel_tally(to_ptr, count_ptr, entries, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, entries, step):
        e = start + tl.arange(0, BLOCK)
        mask = e < entries
        at = tl.load(to_ptr + e, mask=mask, other=0)
        tl.atomic_add(count_ptr + at, tl.full([BLOCK], 1, dtype=tl.int32), mask=mask)


@triton.jit
def kernel_heads(key_ptr, value_ptr, acc_ptr, entries, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, entries, step):
        p = start + tl.arange(0, BLOCK)
        mask = p < entries
        k = tl.load(key_ptr + p, mask=mask, other=0) >> 32
        v = tl.load(value_ptr + p, mask=mask, other=0)
        inner = mask & (p > 0)
        before = tl.reshape(tl.load((key_ptr + p - 1)[:, None], mask=inner[:, None], other=-1), [BLOCK]) >> 32
        head = mask & (before != k)
        tl.store((acc_ptr + k)[:, None], tl.reshape(v, [BLOCK, 1]), mask=head[:, None])


@triton.jit
def kernel_finish(x_ptr, acc_ptr, count_ptr, out_ptr, n, KIND: tl.constexpr, MEAN: tl.constexpr, SELF: tl.constexpr,
                  FLOAT: tl.constexpr, TRUTH: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        k = start + tl.arange(0, BLOCK)
        mask = k < n
        x = tl.load(x_ptr + k, mask=mask, other=0).to(WIDE)
        v = tl.load(acc_ptr + k, mask=mask, other=0)
        count = tl.load(count_ptr + k, mask=mask, other=0)
        hit = count > 0
        if KIND >= 2:
            if FLOAT:
                v = (v ^ ((v >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
        if SELF:
            if KIND == 0:
                v = v + x
            elif KIND == 1:
                v = v * x
            elif KIND == 2:
                v = tl.where((x > v) | (x != x), x, v)
            else:
                v = tl.where((x < v) | (x != x), x, v)
        if TRUTH:
            v = (v != 0).to(WIDE)
        if MEAN:
            if SELF:
                count = count + 1
            count = tl.maximum(count, 1)
            if FLOAT:
                v = tl.div_rn(v, count.to(tl.float32))
            else:
                whole = count.to(tl.int64)
                q = v // whole
                v = tl.where(v - q * whole < 0, q - 1, q)
        tl.store(out_ptr + k, tl.where(hit, v, x), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def programs(n):
    return (min(triton.cdiv(n, 1024), 4096),)


def gathered(to, value, acc, count, entries, most, kind):
    block = max(min(triton.next_power_of_2(entries), 1024), 16)
    blocks = triton.cdiv(entries, block)
    width = blocks * block
    keys = torch.empty((width,), dtype=torch.int64, device=to.device)
    kernel_keys[(min(blocks, 4096),)](to, keys, entries, blocks, BLOCK=block)
    other = torch.empty((width,), dtype=torch.int64, device=to.device) if block < width else keys
    run = block
    steps = 1
    while (1 << (steps - 1)) < run:
        steps += 1
    while run < width:
        kernel_merge[programs(width)](keys, other, width, run, steps, BLOCK=1024)
        keys, other = other, keys
        run = run * 2
        steps += 1
    line = torch.empty((entries,), dtype=value.dtype, device=to.device)
    kernel_line[programs(entries)](keys, value, line, entries, BLOCK=1024)
    shift = 1
    while shift < most:
        kernel_double[programs(entries)](keys, line, value, entries, shift, KIND=kind, BLOCK=1024)
        line, value = value, line
        shift = shift * 2
    kernel_heads[programs(entries)](keys, line, acc, entries, BLOCK=1024, enable_scatter_stores=True)
    kernel_tally[programs(entries)](to, count, entries, BLOCK=1024, enable_scatter_stores=True)


def reduced(x, dim, index, index_strides, sizes, src, reduce, include_self):
    # x, index and src are dense. The entries are counted by `sizes`, and found in index and src by their strides.
    n = x.numel()
    result = torch.empty(list(x.shape), dtype=x.dtype, device=x.device)
    floating = x.is_floating_point()
    kind = {"sum": 0, "mean": 0, "prod": 1, "amax": 2, "amin": 3}[reduce]
    wide = tl.float32 if floating else tl.int64
    values = torch.float32 if floating else torch.int64
    held = torch.int32 if floating and kind >= 2 else values
    shown = tl.int32 if floating and kind >= 2 else wide
    acc = torch.empty((n,), dtype=held, device=x.device)
    count = torch.empty((n,), dtype=torch.int32, device=x.device)
    kernel_clear[programs(n)](acc, count, n, KIND=kind, ACC=shown, BLOCK=1024)
    entries = math.prod(sizes)
    if entries > 0:
        pad = 8 - x.dim()
        to = torch.empty((entries,), dtype=torch.int64, device=x.device)
        value = torch.empty((entries,), dtype=values, device=x.device)
        homes = [0 if d == dim else x.stride(d) for d in range(x.dim())]
        lengths = [1] * pad + list(sizes)
        zeros = [0] * pad
        kernel_gather[programs(entries)](
            index, src, to, value, entries, x.stride(dim), *lengths[1:], *(zeros + list(index_strides)),
            *(zeros + list(src.stride())), *(zeros + homes), WIDE=wide, BLOCK=1024
        )
        if kind == 1 or not floating:
            # Atomic operations take 32 bits and know no product: the others are sorted by place and joined.
            gathered(to, value, acc, count, entries, sizes[dim], kind)
        else:
            kernel_join[programs(entries)](
                to, value, acc, count, entries, KIND=kind, FLOAT=floating, BLOCK=1024, enable_scatter_stores=True
            )
    kernel_finish[programs(n)](
        x, acc, count, result, n, KIND=kind, MEAN=reduce == "mean", SELF=bool(include_self), FLOAT=floating,
        TRUTH=x.dtype == torch.bool, WIDE=wide, BLOCK=1024
    )
    return result


def wrapper(self, dim, index, src, reduce, *, include_self=True, out):
    if self.numel() == 0:
        return out
    x = aligned(self if self.dim() > 0 else self.reshape([1]))
    if index.numel() == 0:
        sizes, index, source = [0] * x.dim(), x, x
    else:
        index = aligned(index if index.dim() > 0 else index.reshape([1]))
        source = aligned(src if src.dim() > 0 else src.reshape([1]))
        sizes = list(index.shape)
    result = reduced(x, dim % x.dim(), index, list(index.stride()), sizes, source, reduce, include_self)
    out.copy_(result if out.dim() > 0 else result.reshape([]))
    return out
