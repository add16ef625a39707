# Generated: the kernel of aten::adaptive_max_pool2d.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_pool(
    x_ptr, out_ptr, index_ptr, total, H, W, OH, OW, area_max,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    step = tl.num_programs(0).to(tl.int64) * ROWS
    for first in range(tl.program_id(0).to(tl.int64) * ROWS, total, step):
        o = first + tl.arange(0, ROWS).to(tl.int64)
        there = o < total
        ow = o % OW
        oh = (o // OW) % OH
        plane = o // OW // OH
        h0 = oh * H // OH
        h1 = ((oh + 1) * H + OH - 1) // OH
        w0 = ow * W // OW
        w1 = ((ow + 1) * W + OW - 1) // OW
        wide = w1 - w0
        area = (h1 - h0) * wide
        origin = h0 * W + w0
        best = tl.full([ROWS, BLOCK], float("-inf"), dtype=tl.float32)
        best_at = tl.zeros([ROWS, BLOCK], dtype=tl.int64) + origin[:, None]
        for start in range(0, area_max, BLOCK):
            p = (start + tl.arange(0, BLOCK).to(tl.int64))[None, :]
            ok = there[:, None] & (p < area[:, None])
            at = origin[:, None] + (p // wide[:, None]) * W + p % wide[:, None]
            where = tl.reshape(at + (plane * H * W)[:, None], [ROWS * BLOCK, 1])
            flat_ok = tl.reshape(ok, [ROWS * BLOCK, 1])
            x = tl.load(x_ptr + where, mask=flat_ok, other=0).to(tl.float32)
            x = tl.reshape(x, [ROWS, BLOCK])
            better = ok & ((x > best) | (x != x))
            best = tl.where(better, x, best)
            best_at = tl.where(better, at, best_at)
        isnan = best != best
        nan_at = tl.max(tl.where(isnan, best_at, -1), axis=1)
        clean = tl.where(isnan, float("-inf"), best)
        top = tl.max(clean, axis=1)
        at = tl.min(tl.where(clean == top[:, None], best_at, 9223372036854775807), axis=1)
        at = tl.where(nan_at >= 0, nan_at, at)
        value = tl.where(nan_at >= 0, float("nan"), top)
        tl.store(out_ptr + o, value, mask=there)
        tl.store(index_ptr + o, at, mask=there)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, output_size, *, out, indices):
    total = out.numel()
    if total == 0:
        return out, indices
    h, w = self.shape[-2], self.shape[-1]
    oh, ow = out.shape[-2], out.shape[-1]
    values = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    places = torch.empty(out.shape, dtype=indices.dtype, device=out.device)
    high = min(h, triton.cdiv(h, oh) + 1)
    wide = min(w, triton.cdiv(w, ow) + 1)
    area = high * wide
    block = min(triton.next_power_of_2(area), 1024)
    rows = max(1024 // block, 1)
    grid = (min(triton.cdiv(total, rows), 8192),)
    kernel_pool[grid](
        aligned(self), values, places, total, h, w, oh, ow, area, ROWS=rows, BLOCK=block
    )
    out.copy_(values)
    indices.copy_(places)
    return out, indices
