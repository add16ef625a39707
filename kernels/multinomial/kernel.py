# Generated: the kernel of aten::multinomial for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
NOTHING = tl.constexpr(9223372036854775807)


@triton.jit
def kernel_sums(x_ptr, sum_ptr, rows, n, stride, width, BLOCK: tl.constexpr):
    # Running sums of the weights of a row as whole numbers, in units of 2 ** -40 of the largest: exact, and never falling.
    for row in range(tl.program_id(0).to(tl.int64), rows, tl.num_programs(0)):
        top = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            w = tl.load(x_ptr + row * stride + k, mask=k < n, other=0).to(tl.float32)
            top = tl.maximum(top, w)
        most = tl.max(top, axis=0)
        most = tl.where(most > 0, most, 1.0)
        carry = row * 0
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            w = tl.load(x_ptr + row * stride + k, mask=k < n, other=0).to(tl.float32)
            q = (w / most * 1099511627776.0).to(tl.int64)
            tl.store(sum_ptr + row * width + k, carry + tl.cumsum(q, axis=0), mask=k < n)
            carry += tl.sum(q, axis=0)


@triton.jit
def kernel_draw(sum_ptr, out_ptr, total, samples, n, width, steps, seed, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < total
        base = sum_ptr + i // samples * width
        whole = tl.reshape(tl.load((base + (n - 1))[:, None], mask=mask[:, None], other=1), [BLOCK])
        at = i.to(tl.int32)
        h = tl.randint(seed, 2 * at).to(tl.int64) & 0x7FFFFFFF
        l = tl.randint(seed, 2 * at + 1).to(tl.int64) & 0xFFFFFFFF
        # The product of 63 random bits and the sum, without its low 63 bits: below 2 ** 62 as the sum is.
        sh = whole >> 32
        sl = whole & 0xFFFFFFFF
        t = h * sl + (((l * (sl >> 1)) >> 31))
        m = l * sh + (t & 0xFFFFFFFF)
        goal = (h * sh + (t >> 32) + (m >> 32)) * 2 + (((m & 0xFFFFFFFF) >> 31))
        goal = tl.minimum(goal, whole - 1)
        lo = i * 0
        hi = lo + (n - 1)
        for _ in range(0, steps):
            active = mask & (lo < hi)
            mid = (lo + hi) // 2
            c = tl.reshape(tl.load((base + mid)[:, None], mask=active[:, None], other=0), [BLOCK])
            above = c > goal
            hi = tl.where(active & above, mid, hi)
            lo = tl.where(active & (above == 0), mid + 1, lo)
        tl.store(out_ptr + i, lo, mask=mask)


@triton.jit
def kernel_keys(x_ptr, out_ptr, blocks, per, n, stride, seed, BLOCK: tl.constexpr):
    # For every weight the logarithm of weight / exponential number, as a whole number that falls as it grows, above the
    # column: sorted runs of one block each.
    for b in range(tl.program_id(0).to(tl.int64), blocks, tl.num_programs(0)):
        row = b // per
        lane = tl.arange(0, BLOCK)
        k = (b % per) * BLOCK + lane
        mask = k < n
        w = tl.load(x_ptr + row * stride + k, mask=mask, other=0).to(tl.float32)
        u = tl.rand(seed, (row * n + k).to(tl.int32))
        u = tl.maximum(u, 1.1641532182693481e-10)
        e = -libdevice.log1p(-u)
        positive = w > 0
        g = tl.log(tl.where(positive, w, 1.0)) - tl.log(e)
        bits = g.to(tl.int32, bitcast=True)
        order = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        falling = tl.where(positive, -1 - order.to(tl.int64), 0x7FFFFFFF)
        key = tl.where(mask, (falling << 32) | k, NOTHING)
        tl.store(out_ptr + b * BLOCK + lane, tl.sort(key))


@triton.jit
def kernel_merge(x_ptr, out_ptr, total, width, run, steps, BLOCK: tl.constexpr):
    # Each place of a merged pair of runs finds by bisection how many elements before it come from the first run.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < total
        p = i % width
        left = p // (2 * run) * (2 * run)
        d = p - left
        base = x_ptr + (i - p) + left
        la = tl.minimum(width - left, run)
        lb = tl.maximum(tl.minimum(width - left - run, run), 0)
        lo = tl.maximum(d - lb, 0)
        hi = tl.minimum(d, la)
        for _ in range(0, steps):
            active = mask & (lo < hi)
            mid = (lo + hi) // 2
            a = tl.load((base + mid)[:, None], mask=active[:, None], other=0)
            b = tl.load((base + run + d - 1 - mid)[:, None], mask=active[:, None], other=0)
            less = tl.reshape(a, [BLOCK]) < tl.reshape(b, [BLOCK])
            lo = tl.where(active & less, mid + 1, lo)
            hi = tl.where(active & (less == 0), mid, hi)
        ma = mask & (lo < la)
        mb = mask & (d - lo < lb)
        a = tl.load((base + lo)[:, None], mask=ma[:, None], other=NOTHING)
        b = tl.load((base + run + d - lo)[:, None], mask=mb[:, None], other=NOTHING)
        tl.store(out_ptr + i, tl.minimum(tl.reshape(a, [BLOCK]), tl.reshape(b, [BLOCK])), mask=mask)


@triton.jit
def kernel_take(x_ptr, out_ptr, total, samples, width, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < total
        at = i // samples * width + i % samples
        key = tl.reshape(tl.load((x_ptr + at)[:, None], mask=mask[:, None], other=0), [BLOCK])
        tl.store(out_ptr + i, key & 0xFFFFFFFF, mask=mask)


def wrapper(self, num_samples, replacement=False, *, seed):
    n = self.shape[-1]
    rows = self.shape[0] if self.dim() == 2 else 1
    shape = [rows, num_samples] if self.dim() == 2 else [num_samples]
    out = torch.empty(shape, dtype=torch.int64, device=self.device)
    total = rows * num_samples
    if total == 0:
        return out
    stride = triton.cdiv(n, 32) * 32
    x = torch.empty((rows, stride), dtype=self.dtype, device=self.device)
    x.narrow(1, 0, n).copy_(self.reshape(rows, n))
    grid = (min(triton.cdiv(total, 1024), 4096),)
    if replacement:
        sums = torch.empty((rows, stride), dtype=torch.int64, device=self.device)
        block = max(min(triton.next_power_of_2(n), 1024), 32)
        kernel_sums[(min(rows, 4096),)](x, sums, rows, n, stride, stride, BLOCK=block)
        steps = 1
        while (1 << steps) < n:
            steps += 1
        kernel_draw[grid](sums, out, total, num_samples, n, stride, steps + 1, seed, BLOCK=1024)
        return out
    block = max(min(triton.next_power_of_2(n), 1024), 32)
    per = triton.cdiv(n, block)
    width = per * block
    keys = torch.empty((rows, width), dtype=torch.int64, device=self.device)
    kernel_keys[(min(rows * per, 4096),)](x, keys, rows * per, per, n, stride, seed, BLOCK=block)
    run = block
    steps = 1
    while (1 << (steps - 1)) < run:
        steps += 1
    other = torch.empty((rows, width), dtype=torch.int64, device=self.device) if run < width else keys
    while run < width:
        places = (min(triton.cdiv(rows * width, 1024), 4096),)
        kernel_merge[places](keys, other, rows * width, width, run, steps, BLOCK=1024)
        keys, other = other, keys
        run = run * 2
        steps += 1
    kernel_take[grid](keys, out, total, num_samples, width, BLOCK=1024)
    return out
