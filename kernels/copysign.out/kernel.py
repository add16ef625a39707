# Generated: the kernel of aten::copysign.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
    # The float32 numbers nearest to float64 ones that are given by their bits.
    exponent = (b >> 52) & 2047
    digits = b & 0xFFFFFFFFFFFFF
    k = exponent - 896
    t = (tl.maximum(k, 0) << 52) | digits
    normal = (t + 0xFFFFFFF + ((t >> 29) & 1)) >> 29
    normal = tl.where(k >= 255, 0x7F800000, tl.minimum(normal, 0x7F800000))
    full = digits | 0x10000000000000
    s = tl.minimum(tl.maximum(30 - k, 1), 54)
    one = tl.full(s.shape, 1, dtype=tl.int64)
    small = (full + ((one << (s - 1)) - 1) + ((full >> s) & 1)) >> s
    r = tl.where(k <= 0, small, normal)
    r = tl.where((exponent == 2047) & (digits != 0), 0x7FC00000, r)
    r = r | ((b >> 32) & 0x80000000)
    return r.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def fetch(p, i, mask, DOUBLE: tl.constexpr):
    v = tl.load(p + i, mask=mask, other=0)
    if DOUBLE:
        v = narrowed(v)
    return v


@triton.jit
def kernel_copysign(
    x_ptr, y_ptr, out_ptr, n, reps, X_DOUBLE: tl.constexpr, Y_DOUBLE: tl.constexpr, SIGN: tl.constexpr,
    RESULT: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * reps * BLOCK
    for k in range(0, reps):
        offsets = first + k * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = fetch(x_ptr, offsets, mask, X_DOUBLE).to(tl.float32)
        bits = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
        if SIGN == 0:
            y = fetch(y_ptr, offsets, mask, Y_DOUBLE)
            if y.dtype.is_floating() and y.dtype.primitive_bitwidth == 16:
                sign = y.to(tl.int16, bitcast=True).to(tl.int32)
            else:
                sign = y.to(tl.float32).to(tl.int32, bitcast=True)
            bits = tl.where(sign < 0, bits | -2147483648, bits)
        elif SIGN < 0:
            bits = bits | -2147483648
        r = bits.to(tl.float32, bitcast=True).to(RESULT)
        if BITS:
            tl.store(out_ptr + offsets, wide(r.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, r, mask=mask)


def laid_out_as(x, out):
    if x.shape != out.shape:
        x = x.expand(out.shape)
    if x.stride() == out.stride() and x.storage_offset() * x.element_size() % 32 == 0:
        dense = x
    else:
        dense = torch.empty_strided(tuple(out.shape), out.stride(), dtype=x.dtype, device=x.device)
        dense.copy_(x)
    return dense.view(torch.int64) if x.dtype == torch.float64 else dense


def wrapper(input, other, *, out=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError("copysign: input must be a tensor")
    is_tensor = isinstance(other, torch.Tensor)
    if not is_tensor and not isinstance(other, (int, float)):
        raise TypeError("copysign: other must be a tensor or a number")
    dtype = torch.result_type(input, other)
    if dtype.is_complex:
        raise NotImplementedError("copysign: not implemented for complex numbers")
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    if is_tensor:
        shape = torch.broadcast_shapes(input.shape, other.shape)
    else:
        shape = input.shape
    stored = dtype
    if out is not None:
        if not torch.can_cast(dtype, out.dtype):
            raise RuntimeError("copysign: the result cannot be cast to the dtype of out")
        stored = out.dtype
    if tuple(input.shape) == tuple(shape):
        result = torch.empty_like(input, dtype=stored)
    elif tuple(other.shape) == tuple(shape):
        result = torch.empty_like(other, dtype=stored, device=input.device)
    else:
        result = torch.empty(tuple(shape), dtype=stored, device=input.device)
    n = result.numel()
    if n > 0:
        x = laid_out_as(input, result)
        if is_tensor:
            y = laid_out_as(other, result)
            sign = 0
        else:
            y = x
            sign = -1 if math.copysign(1.0, other) < 0 else 1
        block = 1024
        blocks = triton.cdiv(n, block)
        reps = triton.cdiv(blocks, 65535)
        rounded = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
        wider = stored == torch.float64
        kernel_copysign[(triton.cdiv(blocks, reps),)](
            x, y, result.view(torch.int64) if wider else result, n, reps,
            X_DOUBLE=input.dtype == torch.float64, Y_DOUBLE=is_tensor and other.dtype == torch.float64,
            SIGN=sign, RESULT=rounded, BITS=wider, BLOCK=block,
        )
    if out is None:
        return result
    if tuple(out.shape) != tuple(shape):
        out.resize_(tuple(shape))
    out.copy_(result)
    return out
