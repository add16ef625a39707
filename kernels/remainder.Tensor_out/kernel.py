# Generated: the kernel of aten::remainder.Tensor_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def convert(x, RES: tl.constexpr, ACC: tl.constexpr):
    return x.to(RES).to(ACC)


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
def wide_integer(v):
    m = tl.where(v < 0, -v, v).to(tl.uint64)
    e = tl.zeros_like(v) + 1085
    for k in tl.static_range(6):
        empty = (m >> (64 - (32 >> k))) == 0
        m = tl.where(empty, m << (32 >> k), m)
        e -= empty.to(tl.int64) * (32 >> k)
    q = (m >> 11).to(tl.int64)
    rest = (m & 2047).to(tl.int64)
    up = (rest > 1024) | ((rest == 1024) & ((q & 1) == 1))
    bits = (e << 52) + q + up.to(tl.int64)
    return tl.where(v == 0, 0, tl.where(v < 0, bits | (-9223372036854775807 - 1), bits))


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
def single(v, DOUBLE: tl.constexpr):
    if DOUBLE:
        v = narrowed(v)
    return v


@triton.jit
def kernel_remainder(a_ptr, b_ptr, out_ptr, n, tiles, RES: tl.constexpr, ACC: tl.constexpr, FLOAT: tl.constexpr,
                     A_DOUBLE: tl.constexpr, B_DOUBLE: tl.constexpr,
                     A_NUMBER: tl.constexpr, B_NUMBER: tl.constexpr, RAW: tl.constexpr, BITS: tl.constexpr,
                     BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        offsets = tile.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        if A_NUMBER:
            a = convert(tl.full([BLOCK], a_ptr, RAW), RES, ACC)
        else:
            a = convert(single(tl.load(a_ptr + offsets, mask=mask, other=0), A_DOUBLE), RES, ACC)
        if B_NUMBER:
            b = convert(tl.full([BLOCK], b_ptr, RAW), RES, ACC)
        else:
            b = convert(single(tl.load(b_ptr + offsets, mask=mask, other=1), B_DOUBLE), RES, ACC)
        if FLOAT:
            r = libdevice.fmod(a, b)
        else:
            safe = tl.where((b == 0) | (b == -1), tl.full([BLOCK], 1, ACC), b)
            r = a % safe
        wrong = (r != 0) & ((r < 0) ^ (b < 0))
        r = tl.where(wrong, r + b, r)
        if BITS:
            if FLOAT:
                tl.store(out_ptr + offsets, wide(r.to(RES).to(tl.float32)), mask=mask)
            else:
                tl.store(out_ptr + offsets, wide_integer(r.to(RES).to(tl.int64)), mask=mask)
        else:
            tl.store(out_ptr + offsets, r.to(RES), mask=mask)


def staged(x, shape, strides):
    # The operand, broadcast, in the memory layout of the output and on an aligned address.
    fresh = x
    if list(x.shape) != list(shape) or x.stride() != strides or x.storage_offset() * x.element_size() % 32 != 0:
        fresh = torch.empty_strided(shape, strides, dtype=x.dtype, device=x.device)
        fresh.copy_(x.broadcast_to(shape))
    return fresh.view(torch.int64) if x.dtype == torch.float64 else fresh


def is_double(x):
    return isinstance(x, torch.Tensor) and x.dtype == torch.float64


def wrapper(input, other, *, out=None):
    a_number = not isinstance(input, torch.Tensor)
    b_number = not isinstance(other, torch.Tensor)
    if a_number and b_number:
        raise TypeError("remainder: at least one argument must be a tensor")
    if a_number and not isinstance(input, (int, float)) or b_number and not isinstance(other, (int, float)):
        raise TypeError("remainder: arguments must be tensors or real numbers")
    dtype = torch.result_type(input, other)
    types = {
        torch.float32: tl.float32,
        torch.bfloat16: tl.bfloat16,
        torch.float16: tl.float16,
        torch.int8: tl.int8,
        torch.uint8: tl.uint8,
        torch.int16: tl.int16,
        torch.int32: tl.int32,
        torch.int64: tl.int64,
    }
    if dtype not in types:
        raise NotImplementedError("remainder: not implemented for this dtype")
    floating = dtype in (torch.float32, torch.bfloat16, torch.float16)
    tensors = [x for x in (input, other) if isinstance(x, torch.Tensor)]
    shape = torch.broadcast_shapes(*[x.shape for x in tensors])
    device = tensors[0].device

    result = None
    for x in tensors:
        if result is None and list(x.shape) == list(shape):
            result = torch.empty_like(x, dtype=dtype)
    if result is None:
        result = torch.empty(shape, dtype=dtype, device=device)
    if out is not None:
        if not torch.can_cast(dtype, out.dtype):
            raise RuntimeError("remainder: the result cannot be cast to the dtype of out")
        result = torch.empty_strided(shape, result.stride(), dtype=out.dtype, device=device)

    n = result.numel()
    if n > 0:
        if b_number and not floating and int(other) % 2 ** torch.iinfo(dtype).bits == 0:
            raise RuntimeError("ZeroDivisionError")
        strides = result.stride()
        if a_number:
            a = float(input) if floating else int(input)
        else:
            a = staged(input, shape, strides)
        if b_number:
            b = float(other) if floating else int(other)
        else:
            b = staged(other, shape, strides)
        block = 1024
        tiles = triton.cdiv(n, block)
        acc = tl.float32 if floating else tl.int64
        kernel_remainder[(min(tiles, 65535),)](
            a, b, result.view(torch.int64) if result.dtype == torch.float64 else result, n, tiles,
            RES=types[dtype], ACC=acc, FLOAT=floating,
            A_NUMBER=a_number, B_NUMBER=b_number, A_DOUBLE=is_double(input), B_DOUBLE=is_double(other), RAW=acc, BITS=result.dtype == torch.float64, BLOCK=block,
        )
    if out is not None:
        if list(out.shape) != list(shape):
            out.resize_(shape)
        out.copy_(result)
        return out
    return result
