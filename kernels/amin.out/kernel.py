# Generated: the kernel of aten::amin.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_amin(x_ptr, out_ptr, rows, n, pitch, tiles, FLOAT: tl.constexpr, ACC: tl.constexpr,
                FILL: tl.constexpr, BC: tl.constexpr, BR: tl.constexpr):
    for t in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
        j = t * BC + tl.arange(0, BC)
        live = j < rows
        base = (j * pitch)[:, None]
        lane = tl.arange(0, BR).to(tl.int64)
        best = tl.load(x_ptr + base + lane[None, :], mask=live[:, None] & (lane < n)[None, :], other=FILL).to(ACC)
        for start in range(BR, n, BR):
            k = lane + start
            v = tl.load(x_ptr + base + k[None, :], mask=live[:, None] & (k < n)[None, :], other=FILL).to(ACC)
            better = v < best
            if FLOAT:
                better = better | (v != v)
            best = tl.where(better, v, best)
        if FLOAT:
            nan = best != best
            some = tl.max(nan.to(tl.int32), axis=1) > 0
            low = tl.min(tl.where(nan, float("inf"), best), axis=1)
            low = tl.where(some, float("nan"), low)
        else:
            low = tl.min(best, axis=1)
        tl.store(out_ptr + j, low.to(out_ptr.dtype.element_ty), mask=live)


def wrapper(self, dim=(), keepdim=False, *, out):
    if out.numel() == 0:
        return out
    x = self.reshape(1) if self.dim() == 0 else self
    rank = x.dim()
    dims = [dim] if isinstance(dim, int) else list(dim) if dim is not None else []
    gone = [d % rank for d in dims]
    if len(gone) == 0:
        gone = list(range(rank))
    kept = [d for d in range(rank) if d not in gone]
    gone = [d for d in range(rank) if d in gone]
    n = math.prod([x.shape[d] for d in gone])
    rows = math.prod([x.shape[d] for d in kept])
    x = x.permute(kept + gone).reshape(rows, n)
    if x.dtype == torch.bool:
        x = x.view(torch.uint8)
    unit = 32 // x.element_size()
    pitch = triton.cdiv(n, unit) * unit
    padded = torch.empty((rows, pitch), dtype=x.dtype, device=x.device)
    padded[:, :n].copy_(x)
    result = torch.empty(list(out.shape), dtype=out.dtype, device=x.device)
    floating = x.is_floating_point()
    if floating:
        acc, fill = tl.float32, math.inf
    else:
        acc, fill = tl.int64 if x.dtype == torch.int64 else tl.int32, torch.iinfo(x.dtype).max
    br = min(max(triton.next_power_of_2(n), unit), 1024)
    bc = max(min(triton.next_power_of_2(triton.cdiv(rows, 64)), 4096 // br), 4)
    tiles = triton.cdiv(rows, bc)
    target = result.view(torch.uint8) if result.dtype == torch.bool else result
    kernel_amin[(min(tiles, 4096),)](padded, target, rows, n, pitch, tiles, FLOAT=floating, ACC=acc, FILL=fill,
                                     BC=bc, BR=br)
    out.copy_(result)
    return out
