# Generated: the kernel of aten::adaptive_max_pool3d.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
NOWHERE = tl.constexpr(9223372036854775807)


@triton.jit
def kernel_pool(
    x_ptr, out_ptr, at_ptr, total, tiles, D, H, W, OD, OH, OW, KH, KW, window,
    OUT: tl.constexpr, K: tl.constexpr,
):
    lane = tl.arange(0, OUT * K)
    k = (lane % K).to(tl.int64)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        first = tile.to(tl.int64) * OUT
        i = first + lane // K
        ow = i % OW
        oh = (i // OW) % OH
        od = (i // OW // OH) % OD
        plane = i // OW // OH // OD
        d0 = od * D // OD
        d1 = ((od + 1) * D + OD - 1) // OD
        h0 = oh * H // OH
        h1 = ((oh + 1) * H + OH - 1) // OH
        w0 = ow * W // OW
        w1 = ((ow + 1) * W + OW - 1) // OW
        base = x_ptr + plane * D * H * W
        best = tl.full([OUT * K], float("-inf"), dtype=tl.float32)
        best_at = tl.full([OUT * K], NOWHERE, dtype=tl.int64)
        nan_at = tl.full([OUT * K], -1, dtype=tl.int64)
        for start in range(0, window, K):
            q = start + k
            d = d0 + q // KW // KH
            h = h0 + (q // KW) % KH
            w = w0 + q % KW
            valid = (i < total) & (q < window) & (d < d1) & (h < h1) & (w < w1)
            at = (d * H + h) * W + w
            at = tl.where(valid, at, 0)
            x = tl.load((base + at)[:, None], mask=valid[:, None], other=0).to(tl.float32)
            x = tl.reshape(x, [OUT * K])
            nan = x != x
            nan_at = tl.where(valid & nan, tl.maximum(nan_at, at), nan_at)
            better = valid & (x == x) & ((x > best) | (best_at == NOWHERE))
            best = tl.where(better, x, best)
            best_at = tl.where(better, at, best_at)
        best = tl.reshape(best, [OUT, K])
        best_at = tl.reshape(best_at, [OUT, K])
        nan_at = tl.reshape(nan_at, [OUT, K])
        top = tl.max(best, axis=1)
        place = tl.min(tl.where(best == top[:, None], best_at, NOWHERE), axis=1)
        nans = tl.max(nan_at, axis=1)
        top = tl.where(nans >= 0, float("nan"), top)
        place = tl.where(nans >= 0, nans, place)
        j = first + tl.arange(0, OUT)
        tl.store(out_ptr + j, top, mask=j < total)
        tl.store(at_ptr + j, place, mask=j < total)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def longest(size, outs):
    return size // outs if size % outs == 0 else min(size // outs + 2, size)


def wrapper(self, output_size, *, out, indices):
    total = out.numel()
    if total == 0:
        return out, indices
    D, H, W = list(self.shape)[-3:]
    OD, OH, OW = list(out.shape)[-3:]
    KD, KH, KW = longest(D, OD), longest(H, OH), longest(W, OW)
    window = KD * KH * KW
    k = min(triton.next_power_of_2(window), 1024)
    block = 1024 // k
    tiles = triton.cdiv(total, block)
    values = torch.empty(list(out.shape), dtype=out.dtype, device=self.device)
    places = torch.empty(list(out.shape), dtype=torch.int64, device=self.device)
    kernel_pool[(min(tiles, 8192),)](
        aligned(self), values, places, total, tiles, D, H, W, OD, OH, OW, KH, KW, window, OUT=block, K=k
    )
    out.copy_(values)
    indices.copy_(places)
    return out, indices
