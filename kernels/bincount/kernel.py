# Generated: the kernel of aten::bincount for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_bins(x_ptr, bins_ptr, n, least, BLOCK: tl.constexpr):
    # How many bins the result has, -1 where a value is negative.
    lo = tl.full([BLOCK], 9223372036854775807, dtype=tl.int64)
    hi = tl.full([BLOCK], -1, dtype=tl.int64)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < n
        x = tl.load(x_ptr + i, mask=mask, other=0).to(tl.int64)
        lo = tl.where(mask, tl.minimum(lo, x), lo)
        hi = tl.where(mask, tl.maximum(hi, x), hi)
    bins = tl.maximum(tl.max(hi, axis=0) + 1, least)
    tl.store(bins_ptr, tl.where(tl.min(lo, axis=0) < 0, -1, bins))


@triton.jit
def int_to_double_bits(v):
    negative = v < 0
    m = tl.where(negative, -v, v)
    e = tl.zeros_like(m)
    rest = m
    for k in tl.static_range(0, 6):
        shift = 32 >> k
        big = (rest >> shift) != 0
        e = tl.where(big, e + shift, e)
        rest = tl.where(big, rest >> shift, rest)
    up = tl.where(e < 52, 52 - e, 0)
    down = tl.where(e > 52, e - 52, 0)
    one = tl.full(m.shape, 1, dtype=tl.int64)
    kept = m >> down
    lost = m - (kept << down)
    half = tl.where(down > 0, one << tl.maximum(down - 1, 0), 0)
    round_up = (down > 0) & ((lost > half) | ((lost == half) & ((kept & 1) == 1)))
    mantissa = tl.where(round_up, kept + 1, kept) << up
    bits = ((e + 1022) << 52) + mantissa
    bits = tl.where(m == 0, 0, bits)
    return tl.where(negative, bits | (one << 63), bits)


@triton.jit
def float_to_double_bits(v):
    raw = libdevice.float_as_int(v).to(tl.int64)
    sign = (raw >> 31) & 1
    exponent = (raw >> 23) & 255
    mantissa = raw & 8388607
    wide = tl.where(exponent == 255, 2047, exponent + 896)
    bits = (wide << 52) | (mantissa << 29)
    bits = tl.where(exponent == 0, 0, bits)
    return bits | (sign << 63)


@triton.jit
def kernel_bincount(x_ptr, w_ptr, out_ptr, n, bins, ACC: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr, BINS: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    step = tl.num_programs(0).to(tl.int64) * BINS
    for first in range(pid * BINS, bins, step):
        mine = first + tl.arange(0, BINS).to(tl.int64)
        total = tl.zeros([BINS], dtype=ACC)
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK).to(tl.int64)
            mask = i < n
            x = tl.load(x_ptr + i, mask=mask, other=0).to(tl.int64)
            hit = (x[:, None] == mine[None, :]) & mask[:, None]
            if KIND == 0:
                total += tl.sum(hit.to(tl.int64), axis=0)
            else:
                w = tl.load(w_ptr + i, mask=mask, other=0).to(ACC)
                total += tl.sum(tl.where(hit, w[:, None], tl.zeros([BLOCK, BINS], dtype=ACC)), axis=0)
        if KIND == 2:
            result = int_to_double_bits(total)
        elif KIND == 3:
            result = float_to_double_bits(total)
        else:
            result = total
        tl.store(out_ptr + mine, result, mask=mine < bins)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(input, weights=None, minlength=0):
    if input.is_floating_point() or input.is_complex() or input.dtype == torch.bool:
        raise RuntimeError("bincount is only implemented for integral dtypes")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.dim() != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    n = input.shape[0]
    if n > 0 and weights is not None and (weights.dim() != 1 or weights.shape[0] != n):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    x = aligned(input)
    bins = minlength
    if n > 0:
        found = torch.empty((1,), dtype=torch.int64, device=input.device)
        kernel_bins[(1,)](x, found, n, minlength, BLOCK=1024)
        bins = found.item()
        if bins < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if n == 0 or weights is None:
        kind, acc, dtype, w = 0, tl.int64, torch.int64, x
    elif weights.dtype == torch.float32:
        kind, acc, dtype, w = 1, tl.float32, torch.float32, aligned(weights)
    elif weights.is_floating_point():
        kind, acc, dtype, w = 3, tl.float32, torch.float64, aligned(weights)
    else:
        kind, acc, dtype, w = 2, tl.int64, torch.float64, aligned(weights)
    out = torch.empty((bins,), dtype=dtype, device=input.device)
    if bins == 0:
        return out
    target = out.view(torch.int64) if dtype == torch.float64 else out
    grid = (min(triton.cdiv(bins, 64), 65535),)
    kernel_bincount[grid](x, w, target, n, bins, ACC=acc, KIND=kind, BLOCK=256, BINS=64)
    return out
