# Generated: the kernel of aten::frexp.Tensor_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_frexp(x_ptr, mantissa_ptr, exponent_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        b = x.to(tl.int32, bitcast=True)
        magnitude = b & 0x7FFFFFFF
        sign = b ^ magnitude
        # A subnormal number counts units of 2 ** -149; the count itself is a normal number.
        tiny = magnitude < 0x800000
        counted = magnitude.to(tl.float32).to(tl.int32, bitcast=True)
        digits = tl.where(tiny, counted, magnitude)
        exponent = (digits >> 23) - 126 - tl.where(tiny, 149, 0)
        fraction = sign | (digits & 0x7FFFFF) | 0x3F000000
        plain = (magnitude == 0) | (magnitude >= 0x7F800000)
        exponent = tl.where(plain, 0, exponent)
        fraction = tl.where(plain, b, fraction)
        mantissa = fraction.to(tl.float32, bitcast=True)
        tl.store(mantissa_ptr + offsets, mantissa, mask=mask)
        tl.store(exponent_ptr + offsets, exponent, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def target(x):
    if x.is_contiguous() and x.storage_offset() * x.element_size() % 32 == 0:
        return x
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def wrapper(self, *, mantissa, exponent):
    n = mantissa.numel()
    if n == 0:
        return mantissa, exponent
    first, second = target(mantissa), target(exponent)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_frexp[grid](aligned(self), first, second, n, BLOCK=1024)
    if first is not mantissa:
        mantissa.copy_(first)
    if second is not exponent:
        exponent.copy_(second)
    return mantissa, exponent
