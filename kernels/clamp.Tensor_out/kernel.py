# Generated: the kernel of aten::clamp.Tensor_out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def ready(v, DOUBLE: tl.constexpr):
    if DOUBLE:
        v = narrowed(v)
    return v


@triton.jit
def kernel_clamp(
    x_ptr, lo_ptr, hi_ptr, out_ptr, lo_value, hi_value, n, iters,
    X_DOUBLE: tl.constexpr, LO_DOUBLE: tl.constexpr, HI_DOUBLE: tl.constexpr,
    LO: tl.constexpr, HI: tl.constexpr, COMMON: tl.constexpr, ACC: tl.constexpr, MID: tl.constexpr,
    BITS: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * iters
    for step in range(0, iters):
        offsets = (first + step) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        r = ready(tl.load(x_ptr + offsets, mask=mask, other=0), X_DOUBLE).to(MID).to(ACC)
        if LO != 0:
            if LO == 1:
                lo = tl.full([BLOCK], lo_value, dtype=ACC)
            elif LO == 2:
                lo = ready(tl.load(lo_ptr + offsets, mask=mask, other=0), LO_DOUBLE).to(MID).to(ACC)
            else:
                lo = tl.load(lo_ptr + tl.zeros([BLOCK], dtype=tl.int32))
                lo = ready(lo, LO_DOUBLE).to(MID).to(ACC)
            r = tl.where(r < lo, lo, r)
            r = tl.where(lo != lo, lo, r)
        if HI != 0:
            if HI == 1:
                hi = tl.full([BLOCK], hi_value, dtype=ACC)
            elif HI == 2:
                hi = ready(tl.load(hi_ptr + offsets, mask=mask, other=0), HI_DOUBLE).to(MID).to(ACC)
            else:
                hi = tl.load(hi_ptr + tl.zeros([BLOCK], dtype=tl.int32))
                hi = ready(hi, HI_DOUBLE).to(MID).to(ACC)
            r = tl.where(r > hi, hi, r)
            r = tl.where(hi != hi, hi, r)
        if BITS:
            if ACC == tl.float32:
                tl.store(out_ptr + offsets, wide(r.to(COMMON).to(tl.float32)), mask=mask)
            else:
                tl.store(out_ptr + offsets, wide_integer(r.to(COMMON).to(tl.int64)), mask=mask)
        else:
            tl.store(out_ptr + offsets, r.to(COMMON), mask=mask)


def combine(higher, lower):
    if higher is None:
        return lower
    if lower is None or higher.is_floating_point:
        return higher
    if higher == torch.bool or lower.is_floating_point:
        return torch.promote_types(higher, lower)
    return higher


def merge(a, b):
    return b if a is None else torch.promote_types(a, b)


def number_dtype(value):
    if isinstance(value, bool):
        return torch.bool
    if isinstance(value, int):
        return torch.int64
    return torch.get_default_dtype()


def wrapped_tensor_dtype(dtype):
    if dtype.is_floating_point:
        return torch.get_default_dtype()
    return torch.bool if dtype == torch.bool else torch.int64


def tl_dtype(dtype):
    table = {
        torch.float32: tl.float32,
        torch.bfloat16: tl.bfloat16,
        torch.float16: tl.float16,
        torch.int64: tl.int64,
        torch.int32: tl.int32,
        torch.int16: tl.int16,
        torch.int8: tl.int8,
        torch.uint8: tl.uint8,
        torch.bool: tl.uint8,
    }
    if dtype not in table:
        raise NotImplementedError("clamp: not implemented for this dtype")
    return table[dtype]


def convert_number(value, dtype):
    if dtype == torch.bool:
        return 1 if value else 0
    if dtype.is_floating_point:
        if isinstance(value, int) and abs(value) > 2**200:
            raise RuntimeError("value cannot be converted without overflow")
        value = float(value)
        if not math.isnan(value) and not math.isinf(value) and abs(value) > torch.finfo(dtype).max:
            raise RuntimeError("value cannot be converted without overflow")
        return value
    value = int(value)
    info = torch.iinfo(dtype)
    if info.min == 0:
        if abs(value) > info.max:
            raise RuntimeError("value cannot be converted without overflow")
        return value % (info.max + 1)
    if value < info.min or value > info.max:
        raise RuntimeError("value cannot be converted without overflow")
    return value


def lay(x, shape, strides):
    x = x.expand(shape)
    if tuple(x.stride()) == tuple(strides) and x.storage_offset() * x.element_size() % 32 == 0:
        return x
    y = torch.empty_strided(shape, strides, dtype=x.dtype, device=x.device)
    y.copy_(x)
    return y


def prepare(bound, shape, strides):
    if bound.numel() == 1:
        if bound.storage_offset() * bound.element_size() % 32 != 0:
            return 3, bound.clone()
        return 3, bound
    return 2, lay(bound, shape, strides)


def wrapper(input, min=None, max=None, *, out=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError("clamp(): argument 'input' must be Tensor")
    tensors = [input]
    numbers = 0
    bounds = 0
    for bound in (min, max):
        if bound is None:
            continue
        bounds += 1
        if isinstance(bound, torch.Tensor):
            tensors.append(bound)
        elif isinstance(bound, (int, float)):
            numbers += 1
        else:
            raise TypeError("clamp(): min and max must be numbers or tensors")
    if bounds == 0:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    for t in tensors:
        if t.is_complex():
            raise RuntimeError("clamp is not supported for complex types")
    dimmed, zero, wrapped = None, None, None
    if input.dim() > 0:
        dimmed = input.dtype
    else:
        zero = input.dtype
    for bound in (min, max):
        if bound is None:
            continue
        if isinstance(bound, torch.Tensor):
            if numbers > 0:
                if bound.dim() != 0:
                    raise TypeError("clamp(): min and max must both be numbers or both be tensors")
                wrapped = merge(wrapped, wrapped_tensor_dtype(bound.dtype))
            elif bound.dim() > 0:
                dimmed = merge(dimmed, bound.dtype)
            else:
                zero = merge(zero, bound.dtype)
        else:
            wrapped = merge(wrapped, number_dtype(bound))
    common = combine(dimmed, combine(zero, wrapped))
    kind = tl_dtype(common)
    shape = torch.broadcast_shapes(*[t.shape for t in tensors])
    target = common
    if out is not None:
        if not torch.can_cast(common, out.dtype):
            raise RuntimeError("result type can't be cast to the desired output type")
        target = out.dtype
    result = None
    for t in tensors:
        if result is None and t.shape == shape:
            result = torch.empty_like(t, dtype=target)
    if result is None:
        result = torch.empty(shape, dtype=target, device=input.device)
    n = result.numel()
    strides = result.stride()
    if n > 0:
        x = lay(input, shape, strides)
        modes, values, numbers_of = [], [], []
        for bound in (min, max):
            mode, value, number = 0, x, 0
            if isinstance(bound, torch.Tensor):
                mode, value = prepare(bound, shape, strides)
            elif bound is not None:
                mode = 1
                number = convert_number(bound, common)
            modes.append(mode)
            values.append(value)
            numbers_of.append(number)
        acc = tl.float32 if common.is_floating_point else tl.int64
        mid = tl.float32 if common.is_floating_point else kind
        block = 2048
        blocks = triton.cdiv(n, block)
        iters = triton.cdiv(blocks, 65535)
        bits = target == torch.float64
        operands = [x, values[0], values[1]]
        doubles = [t.dtype == torch.float64 for t in operands]
        operands = [t.view(torch.int64) if t.dtype == torch.float64 else t for t in operands]
        operands = [t.view(torch.uint8) if t.dtype == torch.bool else t for t in operands]
        written = result.view(torch.uint8) if target == torch.bool else result
        kernel_clamp[(triton.cdiv(blocks, iters),)](
            operands[0], operands[1], operands[2], result.view(torch.int64) if bits else written,
            numbers_of[0], numbers_of[1], n, iters,
            X_DOUBLE=doubles[0], LO_DOUBLE=doubles[1], HI_DOUBLE=doubles[2],
            LO=modes[0], HI=modes[1], COMMON=kind, ACC=acc, MID=mid, BITS=bits, BLOCK=block,
        )
    if out is None:
        return result
    if out.shape != shape:
        out.resize_(shape)
    out.copy_(result)
    return out
