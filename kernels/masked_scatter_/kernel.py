# Generated: the kernel of aten::masked_scatter_ for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_spread(x_ptr, out_ptr, n, n1, n2, n3, n4, n5, n6, n7, s0, s1, s2, s3, s4, s5, s6, s7, BLOCK: tl.constexpr):
    # The elements of a broadcast argument one after the other.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        k = start + tl.arange(0, BLOCK)
        mask = k < n
        r = k
        at = r % n7 * s7
        r = r // n7
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
        x = tl.load((x_ptr + at)[:, None], mask=mask[:, None], other=0)
        tl.store(out_ptr + k, tl.reshape(x, [BLOCK]), mask=mask)


@triton.jit
def kernel_count(mask_ptr, count_ptr, n, per, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    acc = tl.zeros([BLOCK], dtype=tl.int64)
    for step in range(0, per):
        k = (pid * per + step) * BLOCK + tl.arange(0, BLOCK)
        acc += (tl.load(mask_ptr + k, mask=k < n, other=0).to(tl.int32) != 0).to(tl.int64)
    tl.store(count_ptr + pid, tl.sum(acc, axis=0))


@triton.jit
def kernel_masked_scatter(x_ptr, mask_ptr, source_ptr, count_ptr, out_ptr, n, size, per, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.int64)
    for start in range(0, tl.program_id(0), BLOCK):
        p = start + lane
        acc += tl.load(count_ptr + p, mask=p < pid, other=0)
    before = tl.sum(acc, axis=0)
    for step in range(0, per):
        k = (pid * per + step) * BLOCK + lane
        valid = k < n
        take = tl.load(mask_ptr + k, mask=valid, other=0).to(tl.int32) != 0
        ones = take.to(tl.int64)
        at = before + tl.cumsum(ones, axis=0) - 1
        x = tl.load(x_ptr + k, mask=valid, other=0)
        found = valid & take & (at < size)
        s = tl.load((source_ptr + at)[:, None], mask=found[:, None], other=0)
        tl.store(out_ptr + k, tl.where(take, tl.reshape(s, [BLOCK]), x), mask=valid)
        before += tl.sum(ones, axis=0)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def merged(sizes, strides):
    # Neighbouring dimensions that are walked as one become one; eight of them in all.
    dims = []
    for size, stride in zip(sizes, strides):
        if size == 1:
            continue
        if dims and dims[-1][1] == size * stride:
            dims[-1] = (dims[-1][0] * size, stride)
        else:
            dims.append((size, stride))
    dims = [(1, 0)] * (8 - len(dims)) + dims
    return [d[0] for d in dims], [d[1] for d in dims]


def spread(x, shape):
    x = aligned(x)
    if list(x.shape) == list(shape):
        return x
    view = x.broadcast_to(shape)
    sizes, strides = merged(list(view.shape), list(view.stride()))
    n = view.numel()
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    kernel_spread[(min(triton.cdiv(n, 1024), 4096),)](x, out, n, *sizes[1:], *strides, BLOCK=1024)
    return out


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(self, mask, source):
    n = self.numel()
    if n == 0:
        return self
    x = aligned(self)
    m = spread(mask, list(self.shape))
    size = source.numel()
    values = aligned(source) if size > 0 else x
    block = 1024
    per = triton.cdiv(triton.cdiv(n, block), 4096)
    programs = triton.cdiv(n, block * per)
    counts = torch.empty((programs,), dtype=torch.int64, device=self.device)
    out = torch.empty(list(self.shape), dtype=self.dtype, device=self.device)
    kernel_count[(programs,)](m, counts, n, per, BLOCK=block)
    kernel_masked_scatter[(programs,)](bits(x), m, bits(values), counts, bits(out), n, size, per, BLOCK=block)
    self.copy_(out)
    return self
