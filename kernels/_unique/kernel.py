# Generated: the kernel of aten::_unique for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
LOWEST = tl.constexpr(-9223372036854775807 - 1)
HIGHEST = tl.constexpr(9223372036854775807)


@triton.jit
def kernel_keys(x_ptr, key_ptr, n, size, FLOAT: tl.constexpr, DOUBLE: tl.constexpr, BLOCK: tl.constexpr):
    # Whole numbers in the order of the values; NaN above all of them, filling above that.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, size, step):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0)
        if FLOAT:
            b = x.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
            m = b & 0x7FFFFFFF
            key = tl.where(b < 0, 0 - m, m)
            key = tl.where(m > 0x7F800000, 0x7FFFFFFF, key)
        elif DOUBLE:
            m = x & HIGHEST
            key = tl.where(x < 0, 0 - m, m)
            key = tl.where(m > 0x7FF0000000000000, 0x7FFFFFFFFFFFFFF0, key)
        else:
            key = x.to(tl.int64)
        tl.store(key_ptr + i, tl.where(i < n, key, HIGHEST), mask=i < size)


@triton.jit
def kernel_sort(key_ptr, size, BLOCK: tl.constexpr):
    for chunk in range(tl.program_id(0).to(tl.int64), size // BLOCK, tl.num_programs(0)):
        i = chunk * BLOCK + tl.arange(0, BLOCK)
        tl.store(key_ptr + i, tl.sort(tl.load(key_ptr + i)))


@triton.jit
def kernel_merge(key_ptr, out_ptr, size, width, steps, BLOCK: tl.constexpr):
    # Each element finds how many of the neighbouring run lie before it.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, size, step):
        i = start + tl.arange(0, BLOCK)
        key = tl.load(key_ptr + i, mask=i < size, other=0)
        run = i // width
        odd = (run % 2) == 1
        base = tl.where(odd, run - 1, run + 1) * width
        low = tl.zeros([BLOCK], dtype=tl.int64)
        high = tl.zeros([BLOCK], dtype=tl.int64) + width
        for turn in range(steps):
            open_ = low < high
            middle = (low + high) // 2
            there = tl.load((key_ptr + base + middle)[:, None], mask=(open_ & (i < size))[:, None], other=0)
            there = tl.reshape(there, [BLOCK])
            before = (there < key) | (odd & (there == key))
            low = tl.where(open_ & before, middle + 1, low)
            high = tl.where(open_ & (before == 0), middle, high)
        place = (run // 2) * (2 * width) + i % width + low
        tl.store(out_ptr + place, key, mask=i < size)


@triton.jit
def fresh(key_ptr, i, n, NAN: tl.constexpr, BLOCK: tl.constexpr):
    key = tl.load(key_ptr + i, mask=i < n, other=0)
    last = tl.reshape(tl.load((key_ptr + i - 1)[:, None], mask=((i > 0) & (i < n))[:, None], other=0), [BLOCK])
    new = (i == 0) | (key != last)
    if NAN != 0:
        new = new | (key == NAN)
    return key, (i < n) & new


@triton.jit
def kernel_count(key_ptr, count_ptr, n, chunks, NAN: tl.constexpr, BLOCK: tl.constexpr):
    for chunk in range(tl.program_id(0).to(tl.int64), chunks, tl.num_programs(0)):
        i = chunk * BLOCK + tl.arange(0, BLOCK)
        key, new = fresh(key_ptr, i, n, NAN, BLOCK)
        tl.store(count_ptr + chunk, tl.sum(new.to(tl.int64), axis=0))


@triton.jit
def kernel_scan(count_ptr, all_ptr, chunks, BLOCK: tl.constexpr):
    before = tl.zeros([1], dtype=tl.int64)
    for start in range(0, chunks, BLOCK):
        i = start + tl.arange(0, BLOCK)
        c = tl.load(count_ptr + i, mask=i < chunks, other=0)
        tl.store(count_ptr + i, before + tl.cumsum(c, axis=0) - c, mask=i < chunks)
        before += tl.sum(c, axis=0)
    tl.store(all_ptr + tl.arange(0, 1), before)


@triton.jit
def kernel_place(key_ptr, count_ptr, out_ptr, unique_ptr, n, chunks, FLOAT: tl.constexpr, DOUBLE: tl.constexpr,
                 NAN: tl.constexpr, BLOCK: tl.constexpr):
    for chunk in range(tl.program_id(0).to(tl.int64), chunks, tl.num_programs(0)):
        i = chunk * BLOCK + tl.arange(0, BLOCK)
        key, new = fresh(key_ptr, i, n, NAN, BLOCK)
        at = tl.load(count_ptr + chunk) + tl.cumsum(new.to(tl.int64), axis=0) - 1
        place = tl.where(new, at, 0)
        if FLOAT:
            b = tl.where(key < 0, (0 - key) | 0x80000000, key)
            b = tl.where(key == NAN, 0x7FC00000, b)
            value = b.to(tl.int32).to(tl.float32, bitcast=True).to(out_ptr.dtype.element_ty)
        elif DOUBLE:
            value = tl.where(key < 0, (0 - key) | LOWEST, key)
            value = tl.where(key == NAN, 0x7FF8000000000000, value)
        else:
            value = key.to(out_ptr.dtype.element_ty)
        tl.store(out_ptr + place, value, mask=new)
        tl.store(unique_ptr + place, key, mask=new)


@triton.jit
def kernel_find(key_ptr, unique_ptr, out_ptr, n, count, steps, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        key = tl.load(key_ptr + i, mask=i < n, other=0)
        low = tl.zeros([BLOCK], dtype=tl.int64)
        high = tl.zeros([BLOCK], dtype=tl.int64) + count
        for turn in range(steps):
            open_ = (low < high) & (i < n)
            middle = (low + high) // 2
            there = tl.reshape(tl.load((unique_ptr + middle)[:, None], mask=open_[:, None], other=0), [BLOCK])
            before = there < key
            low = tl.where(open_ & before, middle + 1, low)
            high = tl.where(open_ & (before == 0), middle, high)
        tl.store(out_ptr + i, low, mask=i < n)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def steps_for(length):
    turns = 1
    while length > 0:
        turns += 1
        length = length // 2
    return turns


def wrapper(self, sorted=True, return_inverse=False):
    n = self.numel()
    device = self.device
    if n == 0:
        shape = self.shape if return_inverse else (0,)
        return (torch.empty((0,), dtype=self.dtype, device=device),
                torch.empty(shape, dtype=torch.int64, device=device))
    x = aligned(self)
    double = self.dtype == torch.float64
    floating = self.is_floating_point() and not double
    nan = 0x7FFFFFFFFFFFFFF0 if double else 0x7FFFFFFF
    size = max(triton.next_power_of_2(n), 16)
    block = min(size, 1024)
    grid = (min(size // block, 4096),)
    keys = torch.empty((size,), dtype=torch.int64, device=device)
    kernel_keys[grid](x.view(torch.int64) if double else x, keys, n, size, FLOAT=floating, DOUBLE=double, BLOCK=block)
    ordered = keys.clone()
    kernel_sort[grid](ordered, size, BLOCK=block)
    width = block
    while width < size:
        merged = torch.empty((size,), dtype=torch.int64, device=device)
        kernel_merge[grid](ordered, merged, size, width, steps_for(width), BLOCK=block, enable_scatter_stores=True)
        ordered = merged
        width = width * 2
    chunks = triton.cdiv(n, block)
    counts = torch.empty((chunks,), dtype=torch.int64, device=device)
    whole = torch.empty((1,), dtype=torch.int64, device=device)
    # Whole numbers have no NaN: every key may then be a value, and none is apart.
    apart = nan if floating or double else 0
    kernel_count[grid](ordered, counts, n, chunks, NAN=apart, BLOCK=block)
    kernel_scan[(1,)](counts, whole, chunks, BLOCK=1024)
    values = torch.empty((n,), dtype=self.dtype, device=device)
    unique = torch.empty((n,), dtype=torch.int64, device=device)
    kernel_place[grid](ordered, counts, values.view(torch.int64) if double else values, unique, n, chunks,
                       FLOAT=floating, DOUBLE=double, NAN=apart, BLOCK=block,
                       enable_scatter_stores=True)
    count = whole.item()
    result = values.narrow(0, 0, count).clone()
    if not return_inverse:
        return result, torch.empty((0,), dtype=torch.int64, device=device)
    inverse = torch.empty(self.shape, dtype=torch.int64, device=device)
    kernel_find[grid](keys, unique, inverse, n, count, steps_for(count), BLOCK=block)
    return result, inverse
