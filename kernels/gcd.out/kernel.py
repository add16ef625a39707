# Generated: the kernel of aten::gcd.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def integer_as_double(v):
    v = v.to(tl.int64)
    sign = (v >> 63) & 1
    m = tl.where(v < 0, -v, v).to(tl.uint64, bitcast=True)
    # Normalize so that the highest bit stands at place 63, and count the shifts.
    high = tl.zeros_like(v) + 63
    for i in tl.static_range(0, 6):
        by = 32 >> i
        empty = (m >> (64 - by)) == 0
        m = tl.where(empty, m << by, m)
        high = tl.where(empty, high - by, high)
    kept = (m >> 11).to(tl.int64)
    rest = (m & 2047).to(tl.int64)
    kept += ((rest > 1024) | ((rest == 1024) & ((kept & 1) == 1))).to(tl.int64)
    bits = ((high + 1022) << 52) + kept
    return tl.where(v == 0, 0, bits | (sign << 63))


@triton.jit
def kernel_gcd(
    a_ptr, b_ptr, out_ptr, n, COMMON: tl.constexpr, WORK: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        a = tl.load(a_ptr + offsets, mask=mask, other=0).to(COMMON)
        b = tl.load(b_ptr + offsets, mask=mask, other=0).to(COMMON)
        a = tl.where(a < 0, -a, a).to(WORK)
        b = tl.where(b < 0, -b, b).to(WORK)
        left = tl.max((a != 0).to(tl.int32), axis=0)
        while left > 0:
            on = a != 0
            divisor = tl.where(on, a, 1)
            rest = b % divisor
            b = tl.where(on, a, b)
            a = tl.where(on, rest, a)
            left = tl.max((a != 0).to(tl.int32), axis=0)
        y = b.to(COMMON)
        if BITS:
            tl.store(out_ptr + offsets, integer_as_double(y), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def kind(dtype):
    if dtype == torch.uint8:
        return tl.uint8
    if dtype == torch.int8:
        return tl.int8
    if dtype == torch.int16:
        return tl.int16
    if dtype == torch.int32:
        return tl.int32
    return tl.int64


def wrapper(self, other, *, out):
    n = out.numel()
    if n == 0:
        return out
    common = torch.result_type(self, other)
    a = aligned(torch.broadcast_to(self, out.shape))
    b = aligned(torch.broadcast_to(other, out.shape))
    result = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    bits = out.dtype == torch.float64
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_gcd[grid](
        a, b, result.view(torch.int64) if bits else result, n,
        COMMON=kind(common), WORK=tl.int64 if common == torch.int64 else tl.int32, BITS=bits, BLOCK=1024,
    )
    out.copy_(result)
    return out
