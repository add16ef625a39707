# Generated: the kernel of aten::exp.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_exp(
    x_ptr, out_ptr, n, steps, RES: tl.constexpr, ROUND: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * steps
    for step in range(0, steps):
        i = (first + step) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        x = tl.load(x_ptr + i, mask=mask, other=0).to(tl.float32)
        y = libdevice.exp(x)
        if ROUND:
            y = y.to(RES).to(tl.float32)
        if BITS:
            tl.store(out_ptr + i, wide(y), mask=mask)
        else:
            tl.store(out_ptr + i, y, mask=mask)


def wrapper(input, *, out=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError("exp(): argument 'input' must be Tensor")
    if out is not None and not isinstance(out, torch.Tensor):
        raise TypeError("exp(): argument 'out' must be Tensor")
    if input.is_complex():
        raise NotImplementedError("exp: complex inputs are not supported")
    dtype = input.dtype if input.is_floating_point() else torch.get_default_dtype()
    if out is not None:
        if out.device != input.device:
            raise RuntimeError("exp: input and out must be on the same device")
        if not torch.can_cast(dtype, out.dtype):
            raise RuntimeError("exp: the result type can't be cast to the type of out")
    target = dtype if out is None else out.dtype
    supported = [torch.float32, torch.float16, torch.bfloat16]
    if dtype not in supported or target not in supported + [torch.float64]:
        raise NotImplementedError("exp: the device has no support for this dtype")
    if out is not None:
        if list(out.shape) != list(input.shape):
            out.resize_(input.shape)
        for d in range(out.dim()):
            if out.numel() > 0 and out.shape[d] > 1 and out.stride(d) == 0:
                raise RuntimeError("exp: several elements of out share one memory location")

    result = torch.empty_like(input, dtype=target)
    n = input.numel()
    if n == 0:
        return result if out is None else out
    strides = list(result.stride())
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    source = input.permute(order).contiguous() if len(order) > 0 else input
    if source.storage_offset() * source.element_size() % 32 != 0:
        source = source.clone()

    if dtype == torch.float16:
        res = tl.float16
    elif dtype == torch.bfloat16:
        res = tl.bfloat16
    else:
        res = tl.float32
    block = 1024 if n <= 65536 else 8192
    blocks = triton.cdiv(n, block)
    steps = triton.cdiv(blocks, 4096)
    grid = (triton.cdiv(blocks, steps),)
    bits = target == torch.float64
    memory = result.view(torch.int64) if bits else result
    kernel_exp[grid](source, memory, n, steps, RES=res, ROUND=target != dtype, BITS=bits, BLOCK=block)
    if out is None:
        return result
    out.copy_(result)
    return out
