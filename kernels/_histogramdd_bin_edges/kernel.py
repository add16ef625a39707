# Generated: the kernel of aten::_histogramdd_bin_edges for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_edges(x_ptr, edges_ptr, low, high, rows, columns, d, bins, GIVEN: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    lo = low
    hi = high
    if not GIVEN:
        least = tl.full([BLOCK, 1], float("inf"), tl.float32)
        most = tl.full([BLOCK, 1], float("-inf"), tl.float32)
        for start in range(0, rows, BLOCK):
            at = (start + lane).to(tl.int64)[:, None]
            x = tl.load(x_ptr + at * columns + d, mask=at < rows, other=0.0)
            least = tl.where((at < rows) & (x < least), x, least)
            most = tl.where((at < rows) & (x > most), x, most)
        lo = tl.min(tl.reshape(least, [BLOCK]), axis=0)
        hi = tl.max(tl.reshape(most, [BLOCK]), axis=0)
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


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, bins, *, range=None, weight=None, density=False):
    columns = self.shape[-1]
    rows = math.prod(list(self.shape)[:-1])
    counts = [bins] * columns if isinstance(bins, int) else list(bins)
    if len(counts) == 1 and columns > 1:
        counts = counts * columns
    result = []
    x = aligned(self) if self.numel() > 0 else None
    for d, count in enumerate(counts):
        edges = torch.empty((count + 1,), dtype=self.dtype, device=self.device)
        low, high, known = 0.0, 1.0, rows == 0
        if range is not None:
            low, high, known = float(range[2 * d]), float(range[2 * d + 1]), True
        kernel_edges[(1,)](x if x is not None else edges, edges, low, high, rows, columns, d, count,
                           GIVEN=known, BLOCK=1024)
        result.append(edges)
    return result
