# Generated: the kernel of aten::_histogramdd_from_bin_tensors for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_zero(hist_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        tl.store(hist_ptr + at, tl.zeros([BLOCK], tl.float32), mask=at < n)


@triton.jit
def kernel_place(x_ptr, edges_ptr, place_ptr, rows, columns, d, edges, turns, FIRST: tl.constexpr,
                 BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    least = tl.load(edges_ptr)
    most = tl.load(edges_ptr + edges - 1)
    for start in range(first, rows, step):
        at = start + tl.arange(0, BLOCK)
        live = at < rows
        x = tl.load(x_ptr + (at * columns + d)[:, None], mask=live[:, None], other=0.0)
        x = tl.reshape(x, [BLOCK])
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
        place = tl.maximum(tl.minimum(lo - 1, edges - 2), 0).to(tl.int64)
        if not FIRST:
            before = tl.load(place_ptr + at, mask=live, other=-1)
            inside = inside & (before >= 0)
            place = before * (edges - 1) + place
        tl.store(place_ptr + at, tl.where(inside, place, -1), mask=live)


@triton.jit
def kernel_count(place_ptr, weight_ptr, hist_ptr, rows, WEIGHT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, rows, step):
        at = start + tl.arange(0, BLOCK)
        live = at < rows
        place = tl.load(place_ptr + at, mask=live, other=-1)
        if WEIGHT:
            w = tl.load(weight_ptr + at, mask=live, other=0.0).to(tl.float32)
        else:
            w = tl.full([BLOCK], 1.0, tl.float32)
        tl.atomic_add(hist_ptr + tl.maximum(place, 0), w, mask=live & (place >= 0))


@triton.jit
def kernel_round(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def kernel_total(hist_ptr, total_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += tl.load(hist_ptr + at, mask=at < n, other=0.0)
    tl.store(total_ptr, tl.sum(acc, axis=0))


@triton.jit
def kernel_density(hist_ptr, edges_ptr, total_ptr, n, inner, bins, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    total = tl.load(total_ptr)
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        h = tl.load(hist_ptr + at, mask=at < n, other=0.0)
        b = ((at // inner) % bins)[:, None]
        left = tl.load(edges_ptr + b, mask=(at < n)[:, None], other=0.0).to(tl.float32)
        right = tl.load(edges_ptr + b + 1, mask=(at < n)[:, None], other=1.0).to(tl.float32)
        width = tl.reshape(right - left, [BLOCK])
        if FIRST:
            h = h / total
        tl.store(hist_ptr + at, h / width, mask=at < n)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, bins, *, weight=None, density=False):
    columns = self.shape[-1]
    rows = math.prod(list(self.shape)[:-1])
    counts = [max(b.numel() - 1, 0) for b in bins]
    half = self.dtype != torch.float32
    hist = torch.empty(counts, dtype=torch.float32, device=self.device)
    n = math.prod(counts)
    if n == 0:
        return torch.empty(counts, dtype=self.dtype, device=self.device) if half else hist
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_zero[grid](hist, n, BLOCK=1024)
    all_edges = [aligned(b) for b in bins]
    if self.numel() > 0:
        x = aligned(self)
        places = torch.empty((rows,), dtype=torch.int64, device=self.device)
        point_grid = (min(triton.cdiv(rows, 1024), 1024),)
        for d in range(columns):
            size = counts[d] + 1
            kernel_place[point_grid](x, all_edges[d], places, rows, columns, d, size, size.bit_length() + 1,
                                     FIRST=d == 0, BLOCK=1024)
        w = aligned(weight) if weight is not None else x
        kernel_count[point_grid](places, w, hist, rows, WEIGHT=weight is not None, BLOCK=1024,
                                 enable_scatter_stores=True)
    if density:
        total = torch.empty((1,), dtype=torch.float32, device=self.device)
        kernel_total[(1,)](hist, total, n, BLOCK=1024)
        for d in range(columns):
            kernel_density[grid](hist, all_edges[d], total, n, math.prod(counts[d + 1:]), counts[d], FIRST=d == 0,
                                 BLOCK=1024)
    if half:
        result = torch.empty(counts, dtype=self.dtype, device=self.device)
        kernel_round[grid](hist, result, n, BLOCK=1024)
        return result
    return hist
