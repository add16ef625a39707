# Generated: the kernel of aten::histogram.bin_ct for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_edges(x_ptr, edges_ptr, hist_ptr, low, high, n, bins, GIVEN: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    lo = low
    hi = high
    if not GIVEN:
        least = tl.full([BLOCK], float("inf"), tl.float32)
        most = tl.full([BLOCK], float("-inf"), tl.float32)
        for start in range(0, n, BLOCK):
            at = start + lane
            x = tl.load(x_ptr + at, mask=at < n, other=0.0)
            least = tl.where((at < n) & (x < least), x, least)
            most = tl.where((at < n) & (x > most), x, most)
        lo = tl.min(least, axis=0)
        hi = tl.max(most, axis=0)
    same = lo == hi
    lo = tl.where(same, lo - 0.5, lo)
    hi = tl.where(same, hi + 0.5, hi)
    width = tl.zeros([BLOCK], tl.float32) + (hi - lo)
    parts = (tl.zeros([BLOCK], tl.int32) + bins).to(tl.float32)
    step = tl.div_rn(width, parts)
    half = (bins + 1) // 2
    for start in range(0, bins + 1, BLOCK):
        at = start + lane
        edge = tl.where(at < half, lo + step * at.to(tl.float32), hi - step * (bins - at).to(tl.float32))
        tl.store(edges_ptr + at, edge, mask=at < bins + 1)
        tl.store(hist_ptr + at, tl.zeros([BLOCK], tl.float32), mask=at < bins)


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
            right = going & (edge <= x)
            hi = tl.where(going & (edge > x), mid, hi)
            lo = tl.where(right, mid + 1, lo)
        place = tl.maximum(tl.minimum(lo - 1, edges - 2), 0)
        if WEIGHT:
            w = tl.load(weight_ptr + at, mask=live, other=0.0).to(tl.float32)
        else:
            w = tl.full([BLOCK], 1.0, tl.float32)
        tl.atomic_add(hist_ptr + place, w, mask=inside)


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
    left = tl.load(edges_ptr + at[:, None], mask=(at < n)[:, None], other=0.0)
    right = tl.load(edges_ptr + at[:, None] + 1, mask=(at < n)[:, None], other=1.0)
    width = tl.reshape(right - left, [BLOCK])
    tl.store(out_ptr + at, h / total / width, mask=at < n)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, bins=100, *, range=None, weight=None, density=False):
    n = self.numel()
    hist = torch.empty((bins,), dtype=self.dtype, device=self.device)
    edges = torch.empty((bins + 1,), dtype=self.dtype, device=self.device)
    x = aligned(self) if n > 0 else edges
    low, high, known = 0.0, 1.0, n == 0
    if range is not None:
        low, high, known = float(range[0]), float(range[1]), True
    kernel_edges[(1,)](x, edges, hist, low, high, n, bins, GIVEN=known, BLOCK=1024)
    if n > 0:
        w = aligned(weight) if weight is not None else x
        kernel_count[(min(triton.cdiv(n, 1024), 1024),)](
            x, w, edges, hist, n, bins + 1, (bins + 1).bit_length() + 1, WEIGHT=weight is not None, BLOCK=1024,
            enable_scatter_stores=True)
    if density:
        total = torch.empty((1,), dtype=torch.float32, device=self.device)
        kernel_total[(1,)](hist, total, bins, BLOCK=1024)
        result = torch.empty((bins,), dtype=self.dtype, device=self.device)
        kernel_density[(triton.cdiv(bins, 1024),)](hist, edges, total, result, bins, BLOCK=1024)
        hist = result
    return hist, edges
