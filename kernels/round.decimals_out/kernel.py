# Generated: the kernel of aten::round.decimals_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def wide(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    exponent = (b >> 23) & 255
    small = (b & 0x7FFFFF).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    digits = tl.where(exponent == 0, small, b)
    lifted = ((digits >> 23) & 255) + tl.where(exponent == 0, 896 - 149, 896)
    lifted = tl.where(exponent == 255, 2047, lifted)
    number = (lifted << 52) | ((digits & 0x7FFFFF) << 29)
    return ((b & 0x80000000) << 32) | tl.where(small + exponent == 0, 0, number)


@triton.jit
def kernel_round_decimals(
    x_ptr, out_ptr, n, scale_bits, MODE: tl.constexpr, RESULT: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        scale = (tl.zeros([BLOCK], dtype=tl.int32) + scale_bits).to(tl.int32).to(tl.float32, bitcast=True)
        # In half precisions, too, all is float32 up to the result, which alone is rounded.
        if MODE == 0:
            y = libdevice.rint(x)
        elif MODE == 1:
            y = tl.div_rn(libdevice.rint(x * scale), scale)
        else:
            y = libdevice.rint(tl.div_rn(x, scale)) * scale
        y = y.to(RESULT)
        if BITS:
            tl.store(out_ptr + offsets, wide(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def float_bits(power):
    # The bits of 10 ** power as a float32, by exact integer arithmetic, rounded to nearest even.
    if power > 38:
        return 0x7F800000
    number = 10**power
    high = 0
    while (number >> (high + 1)) > 0:
        high += 1
    if high <= 23:
        kept = number << (23 - high)
    else:
        shift = high - 23
        kept = number >> shift
        rest = number - (kept << shift)
        middle = 1 << (shift - 1)
        if rest > middle or (rest == middle and kept % 2 == 1):
            kept += 1
    return ((high + 126) << 23) + kept


def wrapper(self, *, decimals, out):
    n = out.numel()
    if n == 0:
        return out
    x = aligned(self)
    result = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    rounded = tl.bfloat16 if self.dtype == torch.bfloat16 else tl.float16 if self.dtype == torch.float16 else tl.float32
    bits = out.dtype == torch.float64
    mode = 0 if decimals == 0 else 1 if decimals > 0 else 2
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_round_decimals[grid](
        x, result.view(torch.int64) if bits else result, n, float_bits(abs(decimals)),
        MODE=mode, RESULT=rounded, BITS=bits, BLOCK=1024,
    )
    out.copy_(result)
    return out
