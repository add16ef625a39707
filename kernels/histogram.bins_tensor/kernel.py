# Generated: the kernel of aten::histogram.bins_tensor for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_begin(bins_ptr, edges_ptr, hist_ptr, edges, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(edges_ptr + at, tl.load(bins_ptr + at, mask=at < edges, other=0.0), mask=at < edges)
    tl.store(hist_ptr + at, tl.zeros([BLOCK], tl.float32), mask=at < edges - 1)


@triton.jit
def kernel_count(x_ptr, weight_ptr, edges_ptr, hist_ptr, n, edges, turns, WEIGHT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    least = tl.load(edges_ptr)
    most = tl.load(edges_ptr + edges - 1)
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        live = at < n
        x = tl.load(x_ptr + at, mask=live, other=0.0)
        inside = live & (x >= least) & (x <= most)
        lo = tl.zeros([BLOCK], tl.int32)
        hi = tl.zeros([BLOCK], tl.int32) + edges
        for turn in range(0, turns):
            going = inside & (lo < hi)
            mid = (lo + hi) // 2
            edge = tl.load(edges_ptr + mid, mask=going, other=0.0)
            below = x < edge
            hi = tl.where(going & below, mid, hi)
            lo = tl.where(going & (below == 0), mid + 1, lo)
        place = tl.maximum(tl.minimum(lo - 1, edges - 2), 0)
        if WEIGHT:
            w = tl.load(weight_ptr + at, mask=live, other=0.0).to(tl.float32)
        else:
            w = tl.full([BLOCK], 1.0, tl.float32)
        tl.atomic_add(hist_ptr + place, w, mask=inside)


@triton.jit
def kernel_round(hist_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.load(hist_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, h.to(out_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def kernel_total(hist_ptr, total_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += tl.load(hist_ptr + at, mask=at < n, other=0.0)
    tl.store(total_ptr, tl.sum(acc, axis=0))


@triton.jit
def kernel_density(hist_ptr, edges_ptr, total_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(total_ptr)
    h = tl.load(hist_ptr + at, mask=at < n, other=0.0)
    left = tl.load(edges_ptr + at[:, None], mask=(at < n)[:, None], other=0.0).to(tl.float32)
    right = tl.load(edges_ptr + at[:, None] + 1, mask=(at < n)[:, None], other=1.0).to(tl.float32)
    width = tl.reshape(right - left, [BLOCK])
    tl.store(out_ptr + at, h / total / width, mask=at < n)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, bins, *, weight=None, density=False):
    n = self.numel()
    count = bins.numel()
    edges = torch.empty((count,), dtype=self.dtype, device=self.device)
    size = max(count - 1, 0)
    result = torch.empty((size,), dtype=self.dtype, device=self.device)
    half = self.dtype != torch.float32
    hist = torch.empty((size,), dtype=torch.float32, device=self.device) if half or density else result
    if count == 0:
        return result, edges
    kernel_begin[(triton.cdiv(count, 1024),)](aligned(bins), edges, hist if size > 0 else edges, count, BLOCK=1024)
    if size == 0:
        return result, edges
    if n > 0:
        x = aligned(self)
        w = aligned(weight) if weight is not None else x
        kernel_count[(min(triton.cdiv(n, 1024), 1024),)](
            x, w, edges, hist, n, count, count.bit_length() + 1, WEIGHT=weight is not None, BLOCK=1024,
            enable_scatter_stores=True)
    if density:
        total = torch.empty((1,), dtype=torch.float32, device=self.device)
        kernel_total[(1,)](hist, total, size, BLOCK=1024)
        kernel_density[(triton.cdiv(size, 1024),)](hist, edges, total, result, size, BLOCK=1024)
    elif half:
        kernel_round[(triton.cdiv(size, 1024),)](hist, result, size, BLOCK=1024)
    return result, edges
