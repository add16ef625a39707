# Generated: the kernel of aten::tanh.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_tanh(x_ptr, out_ptr, n, reps, RESULT: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * reps * BLOCK
    for k in range(0, reps):
        offsets = first + k * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        y = libdevice.tanh(x).to(RESULT)
        if BITS:
            tl.store(out_ptr + offsets, wide(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def laid_out_as(x, out):
    if x.stride() == out.stride() and x.storage_offset() * x.element_size() % 32 == 0:
        return x
    dense = torch.empty_strided(tuple(out.shape), out.stride(), dtype=x.dtype, device=x.device)
    dense.copy_(x)
    return dense


def wrapper(input, *, out=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError("tanh: input must be a tensor")
    dtype = input.dtype
    if input.is_complex():
        raise NotImplementedError("tanh: not implemented for complex numbers")
    if not input.is_floating_point():
        dtype = torch.get_default_dtype()
    stored = dtype
    if out is not None:
        if not torch.can_cast(dtype, out.dtype):
            raise RuntimeError("tanh: the result cannot be cast to the dtype of out")
        stored = out.dtype
    result = torch.empty_like(input, dtype=stored)
    n = result.numel()
    if n > 0:
        block = 1024
        blocks = triton.cdiv(n, block)
        reps = triton.cdiv(blocks, 65535)
        rounded = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
        bits = stored == torch.float64
        kernel_tanh[(triton.cdiv(blocks, reps),)](
            laid_out_as(input, result), result.view(torch.int64) if bits else result, n, reps,
            RESULT=rounded, BITS=bits, BLOCK=block,
        )
    if out is None:
        return result
    if tuple(out.shape) != tuple(input.shape):
        out.resize_(tuple(input.shape))
    out.copy_(result)
    return out
