# Generated: the kernel of aten::put_ for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_start(x_ptr, acc_ptr, n, COPY: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        if COPY:
            v = tl.load(x_ptr + i, mask=mask, other=0).to(ACC)
        else:
            v = tl.full([BLOCK], -1, dtype=ACC)
        tl.store(acc_ptr + i, v, mask=mask)


@triton.jit
def kernel_mark(index_ptr, win_ptr, n, m, BLOCK: tl.constexpr):
    # Which source element is the last one for a place.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, m, step):
        j = start + tl.arange(0, BLOCK)
        mask = j < m
        at = tl.load(index_ptr + j, mask=mask, other=0)
        at = tl.where(at < 0, at + n, at)
        tl.atomic_max(win_ptr + at, j.to(tl.int32), mask=mask)


@triton.jit
def kernel_add(index_ptr, src_ptr, acc_ptr, n, m, ACC: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, m, step):
        j = start + tl.arange(0, BLOCK)
        mask = j < m
        at = tl.load(index_ptr + j, mask=mask, other=0)
        at = tl.where(at < 0, at + n, at)
        s = tl.load(src_ptr + j, mask=mask, other=0).to(ACC)
        tl.atomic_add(acc_ptr + at, s, mask=mask)


@triton.jit
def kernel_add_long(index_ptr, src_ptr, acc_ptr, n, m, BLOCK: tl.constexpr):
    # int64 as two halves of 32 bits: what the lower one held before tells whether this addition carried.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, m, step):
        j = start + tl.arange(0, BLOCK)
        mask = j < m
        at = tl.load(index_ptr + j, mask=mask, other=0)
        at = tl.where(at < 0, at + n, at)
        s = tl.load(src_ptr + j, mask=mask, other=0)
        old = tl.atomic_add(acc_ptr + at * 2, s.to(tl.int32), mask=mask).to(tl.int64)
        carry = ((old & 0xFFFFFFFF) + (s & 0xFFFFFFFF)) >> 32
        tl.atomic_add(acc_ptr + at * 2 + 1, ((s >> 32) + carry).to(tl.int32), mask=mask)


@triton.jit
def kernel_choose(x_ptr, win_ptr, src_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        x = tl.load(x_ptr + i, mask=mask, other=0)
        j = tl.load(win_ptr + i, mask=mask, other=-1)
        found = mask & (j >= 0)
        at = tl.where(found, j, 0)
        s = tl.reshape(tl.load(src_ptr + at[:, None], mask=found[:, None], other=0), [BLOCK])
        tl.store(out_ptr + i, tl.where(found, s, x), mask=mask)


@triton.jit
def kernel_finish(acc_ptr, out_ptr, n, BOOL: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        v = tl.load(acc_ptr + i, mask=mask, other=0)
        if BOOL:
            v = v != 0
        tl.store(out_ptr + i, v, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, index, source, accumulate=False):
    n, m = self.numel(), index.numel()
    if n == 0 or m == 0:
        return self
    x, at, src = aligned(self), aligned(index), aligned(source)
    result = torch.empty(list(self.shape), dtype=self.dtype, device=self.device)
    places = (min(triton.cdiv(n, 1024), 4096),)
    items = (min(triton.cdiv(m, 256), 4096),)
    if accumulate:
        if self.is_floating_point():
            kind, acc_type = torch.float32, tl.float32
        elif self.dtype == torch.int64:
            kind, acc_type = torch.int64, tl.int64
        else:
            kind, acc_type = torch.int32, tl.int32
        acc = torch.empty((n,), dtype=kind, device=self.device)
        kernel_start[places](x, acc, n, COPY=True, ACC=acc_type, BLOCK=1024)
        if self.dtype == torch.int64:
            halves = acc.view(torch.int32)
            kernel_add_long[items](at, src, halves, n, m, BLOCK=256, enable_scatter_stores=True)
        else:
            kernel_add[items](at, src, acc, n, m, ACC=acc_type, BLOCK=256, enable_scatter_stores=True)
        kernel_finish[places](acc, result, n, BOOL=self.dtype == torch.bool, BLOCK=1024)
    else:
        win = torch.empty((n,), dtype=torch.int32, device=self.device)
        kernel_start[places](win, win, n, COPY=False, ACC=tl.int32, BLOCK=1024)
        kernel_mark[items](at, win, n, m, BLOCK=256, enable_scatter_stores=True)
        if self.dtype == torch.float64:
            kernel_choose[places](
                x.view(torch.int64), win, src.view(torch.int64), result.view(torch.int64), n, BLOCK=1024
            )
        else:
            kernel_choose[places](x, win, src, result, n, BLOCK=1024)
    self.copy_(result)
    return self
