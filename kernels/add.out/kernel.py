# Generated: the kernel of aten::add.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def to_single(b):
    e = ((b >> 52) & 2047) - 896
    f = b & 0xFFFFFFFFFFFFF
    m = tl.where(e > 0, (e << 52) | f, f | (1 << 52))
    s = tl.where(e > 0, 29, tl.minimum(30 - e, 60))
    half = (tl.zeros_like(b) + 1) << (s - 1)
    v = tl.minimum((m + half - 1 + ((m >> s) & 1)) >> s, 0x7F800000)
    v = tl.where((e == 1151) & (f != 0), 0x7FC00000, v)
    return (v | ((b >> 63) << 31)).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def to_double(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    e = (b >> 23) & 255
    f = b & 0x7FFFFF
    s = f.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    low = tl.where(f == 0, 0, (((s >> 23) + 747) << 52) | ((s & 0x7FFFFF) << 29))
    v = (tl.where(e == 255, 2047, e + 896) << 52) | (f << 29)
    return tl.where(e == 0, low, v) | ((b >> 63) << 63)


@triton.jit
def integer_to_double(c):
    m = tl.where(c < 0, -c, c)
    e = tl.zeros_like(c) + 1085
    for j in tl.static_range(6):
        low = (m >> (63 - (32 >> j))) == 0
        m = tl.where(low, m << (32 >> j), m)
        e = tl.where(low, e - (32 >> j), e)
    q = m >> 10
    r = m & 1023
    q = q + ((r > 512) | ((r == 512) & ((q & 1) == 1))).to(tl.int64)
    v = tl.where(c == 0, 0, ((e - 1) << 52) + q)
    v = tl.where(m < 0, 1086 << 52, v)
    return v | ((c >> 63) << 63)


@triton.jit
def kernel_add(x, y, out_ptr, alpha, total, per, X_SCALAR: tl.constexpr, Y_SCALAR: tl.constexpr,
               VIA: tl.constexpr, LOGICAL: tl.constexpr, FLOATING: tl.constexpr, DOUBLE: tl.constexpr,
               BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * per
    for k in range(0, per):
        i = (first + k) * BLOCK + tl.arange(0, BLOCK)
        mask = i < total
        if X_SCALAR == 2:
            a = to_single(tl.load(x + i, mask=mask, other=0))
        elif X_SCALAR:
            a = tl.full([BLOCK], x, VIA)
        else:
            a = tl.load(x + i, mask=mask, other=0).to(VIA)
        if Y_SCALAR == 2:
            b = to_single(tl.load(y + i, mask=mask, other=0))
        elif Y_SCALAR:
            b = tl.full([BLOCK], y, VIA)
        else:
            b = tl.load(y + i, mask=mask, other=0).to(VIA)
        scale = tl.full([BLOCK], alpha, VIA)
        if LOGICAL:
            either = (a != 0) | ((b != 0) & (scale != 0))
            result = tl.where(either, 1, 0).to(VIA)
        else:
            result = a + scale * b
        if DOUBLE:
            if FLOATING:
                tl.store(out_ptr + i, to_double(result), mask=mask)
            else:
                tl.store(out_ptr + i, integer_to_double(result.to(tl.int64)), mask=mask)
        else:
            tl.store(out_ptr + i, result, mask=mask)


def dense(t, shape, order):
    t = t.broadcast_to(shape).permute(order).contiguous()
    return t if t.storage_offset() * t.element_size() % 32 == 0 else t.clone()


def strides_of(t, shape):
    missing = len(shape) - t.dim()
    strides = [0] * missing
    for d in range(t.dim()):
        if t.shape[d] == 1 and shape[missing + d] != 1:
            strides.append(0)
        else:
            strides.append(t.stride(d))
    return strides


def compare(all_strides, shape, d0, d1):
    for strides in all_strides:
        if strides[d0] == 0 or strides[d1] == 0:
            continue
        if strides[d0] < strides[d1]:
            return -1
        if strides[d0] > strides[d1]:
            return 1
        if shape[d0] > shape[d1]:
            return 1
    return 0


def memory_order(tensors, shape):
    rank = len(shape)
    if all([list(t.shape) == shape and t.is_contiguous() for t in tensors]):
        return list(range(rank))
    all_strides = [strides_of(t, shape) for t in tensors]
    perm = list(range(rank - 1, -1, -1))
    for i in range(1, rank):
        d1 = i
        for d0 in range(i - 1, -1, -1):
            sign = compare(all_strides, shape, perm[d0], perm[d1])
            if sign > 0:
                perm[d0], perm[d1] = perm[d1], perm[d0]
                d1 = d0
            elif sign < 0:
                break
    return perm[::-1]

def wrapper(input, other, *, alpha=1, out=None):
    x_scalar = not isinstance(input, torch.Tensor)
    y_scalar = not isinstance(other, torch.Tensor)
    if x_scalar and not isinstance(input, (bool, int, float)):
        raise TypeError("add(): argument 'input' must be a Tensor")
    if y_scalar and not isinstance(other, (bool, int, float)):
        raise TypeError("add(): argument 'other' must be a Tensor or a number")
    if x_scalar and y_scalar:
        raise TypeError("add(): one of the arguments must be a Tensor")
    if not isinstance(alpha, (bool, int, float)):
        raise TypeError("add(): argument 'alpha' must be a number")
    dtype = torch.result_type(input, other)
    if isinstance(alpha, bool) and dtype != torch.bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not dtype.is_floating_point:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if out is not None and not torch.can_cast(dtype, out.dtype):
        raise RuntimeError("result type can't be cast to the desired output type")
    tensors = []
    if not x_scalar:
        tensors.append(input)
    if not y_scalar:
        tensors.append(other)
    device = tensors[0].device
    shape = list(torch.broadcast_shapes(*[t.shape for t in tensors]))
    total = math.prod(shape)
    result_dtype = dtype if out is None else out.dtype
    if total == 0:
        result = torch.empty(shape, dtype=result_dtype, device=device)
    else:
        order = memory_order(tensors, shape)
        strides = [1] * len(shape)
        step = 1
        for d in order[::-1]:
            strides[d] = step
            step = step * shape[d]
        result = torch.empty_strided(shape, strides, dtype=result_dtype, device=device)
        via = {
            torch.bool: tl.int8,
            torch.int8: tl.int8,
            torch.uint8: tl.uint8,
            torch.int16: tl.int16,
            torch.int32: tl.int32,
            torch.int64: tl.int64,
        }
        x = input if x_scalar else dense(input, shape, order)
        y = other if y_scalar else dense(other, shape, order)
        x_mode = 1 if x_scalar else 2 if input.dtype == torch.float64 else 0
        y_mode = 1 if y_scalar else 2 if other.dtype == torch.float64 else 0
        if x_mode == 2:
            x = x.view(torch.int64)
        if y_mode == 2:
            y = y.view(torch.int64)
        double = result_dtype == torch.float64
        blocks = triton.cdiv(total, 1024)
        per = triton.cdiv(blocks, 32768)
        kernel_add[(triton.cdiv(blocks, per),)](
            x, y, result.view(torch.int64) if double else result, alpha, total, per,
            X_SCALAR=x_mode, Y_SCALAR=y_mode, FLOATING=dtype not in via, DOUBLE=double,
            VIA=via[dtype] if dtype in via else tl.float32,
            LOGICAL=dtype == torch.bool, BLOCK=1024,
        )
    if out is not None:
        if list(out.shape) != shape:
            out.resize_(shape)
        out.copy_(result)
        return out
    return result
