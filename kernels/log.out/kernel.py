# Generated: the kernel of aten::log.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def narrowed(b):
    e = ((b >> 52) & 2047) - 896
    f = b & 0xFFFFFFFFFFFFF
    m = tl.where(e > 0, (e << 52) | f, f | (1 << 52))
    s = tl.where(e > 0, 29, tl.minimum(30 - e, 60))
    half = (tl.zeros_like(b) + 1) << (s - 1)
    v = tl.minimum((m + half - 1 + ((m >> s) & 1)) >> s, 0x7F800000)
    v = tl.where((e == 1151) & (f != 0), 0x7FC00000, v)
    return (v | ((b >> 63) << 31)).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def kernel_log(x_ptr, out_ptr, n, RESULT: tl.constexpr, FROM: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        if FROM:
            x = narrowed(tl.load(x_ptr + i, mask=mask, other=1023 << 52))
        else:
            x = tl.load(x_ptr + i, mask=mask, other=1).to(tl.float32)
        y = libdevice.log(x).to(RESULT)
        if BITS:
            tl.store(out_ptr + i, wide(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + i, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, *, out):
    n = out.numel()
    if n == 0:
        return out
    x = aligned(self)
    result = torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    bits = out.dtype == torch.float64
    kind = tl.bfloat16 if x.dtype == torch.bfloat16 else tl.float16 if x.dtype == torch.float16 else tl.float32
    kernel_log[(min(triton.cdiv(n, 1024), 4096),)](
        x.view(torch.int64) if x.dtype == torch.float64 else x, result.view(torch.int64) if bits else result, n,
        RESULT=kind, FROM=x.dtype == torch.float64, BITS=bits, BLOCK=1024)
    out.copy_(result)
    return out
