# Generated: the kernel of aten::tan.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_tan(x_ptr, out_ptr, n, RESULT: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        y = libdevice.tan(x).to(RESULT)
        if BITS:
            tl.store(out_ptr + offsets, wide(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, *, out):
    n = out.numel()
    if n == 0:
        return out
    x = aligned(self)
    result = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    rounded = tl.bfloat16 if self.dtype == torch.bfloat16 else tl.float16 if self.dtype == torch.float16 else tl.float32
    bits = out.dtype == torch.float64
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_tan[grid](x, result.view(torch.int64) if bits else result, n, RESULT=rounded, BITS=bits, BLOCK=1024)
    out.copy_(result)
    return out
