@triton.jit
def wide(x):
    # The bits of float32 numbers as float64, which the device stores but does not compute.
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    exponent = (b >> 23) & 255
    # A subnormal number (or zero) counts units of 2 ** -149: as a float32 it has an exponent to be corrected by 149.
    small = (b & 0x7FFFFF).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    digits = tl.where(exponent == 0, small, b)
    lifted = ((digits >> 23) & 255) + tl.where(exponent == 0, 896 - 149, 896)
    lifted = tl.where(exponent == 255, 2047, lifted)
    number = (lifted << 52) | ((digits & 0x7FFFFF) << 29)
    return ((b & 0x80000000) << 32) | tl.where(small + exponent == 0, 0, number)


@triton.jit
def kernel_exp(x_ptr, out_ptr, n, RESULT: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    # Sixteen programs at most: each takes every sixteenth block.
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        # Rounded to the result's dtype first; the store then casts to that of `out=`, which may be another.
        y = tl.exp(x).to(RESULT)
        if BITS:
            tl.store(out_ptr + offsets, wide(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def given(out, result):
    # Into the caller's own tensor by its own strides; one of another shape is resized first.
    if out is None:
        return result
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def wrapper(input, *, out=None):
    dtype = input.dtype if input.is_floating_point() else torch.get_default_dtype()
    if out is not None and not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"exp: result type {dtype} cannot be cast to {out.dtype}")
    stored = dtype if out is None else out.dtype
    result = torch.empty_like(input, dtype=stored)
    if result.is_contiguous() or result.stride() != input.stride():
        input = input.contiguous()
        result = torch.empty_like(input, dtype=stored)
    n = input.numel()
    if n > 0:
        rounded = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
        bits = stored == torch.float64
        grid = (min(triton.cdiv(n, 1024), 16),)
        kernel_exp[grid](input, result.view(torch.int64) if bits else result, n, RESULT=rounded, BITS=bits, BLOCK=1024)
    return given(out, result)
