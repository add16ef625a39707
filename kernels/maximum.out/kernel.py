# Generated: the kernel of aten::maximum.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def from_double_bits(b):
    # float64 (given by its bits) rounded to float32.
    e = (b >> 52) & 2047
    m = b & 0xFFFFFFFFFFFFF
    v = ((e - 896) << 52) | m
    normal = (v + 0xFFFFFFF + ((v >> 29) & 1)) >> 29
    normal = tl.where(normal > 0x7F800000, tl.zeros_like(normal) + 0x7F800000, normal)
    full = m | 0x10000000000000
    shift = 926 - e
    shift = tl.where(shift < 1, tl.zeros_like(shift) + 1, shift)
    shift = tl.where(shift > 60, tl.zeros_like(shift) + 60, shift)
    one = tl.zeros_like(full) + 1
    small = (full + (one << (shift - 1)) - 1 + ((full >> shift) & 1)) >> shift
    bits = tl.where(e > 896, normal, small)
    special = tl.where(m == 0, tl.zeros_like(m) + 0x7F800000, tl.zeros_like(m) + 0x7FC00000)
    bits = tl.where(e == 2047, special, bits)
    # b >> 63 is -1 for negative numbers: the sign goes to bit 31 and above, where the cast drops the rest.
    bits = bits | ((b >> 63) << 31)
    return bits.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def to_double_bits(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    sign = (b & 0x80000000) << 32
    e = (b >> 23) & 255
    m = b & 0x7FFFFF
    normal = ((e + 896) << 52) | (m << 29)
    special = ((e + 1792) << 52) | (m << 29)
    # A subnormal number is m * 2^-149; m itself is exact as a float32.
    f = m.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    small = ((((f >> 23) & 255) + 747) << 52) | ((f & 0x7FFFFF) << 29)
    small = tl.where(m == 0, m, small)
    return sign | tl.where(e == 255, special, tl.where(e == 0, small, normal))


@triton.jit
def integer_to_double_bits(x):
    negative = x < 0
    m = tl.where(negative, -x, x)
    smallest = x == (-9223372036854775807 - 1)
    zero = m == 0
    e = tl.zeros_like(m) + 1084
    # Shift until bit 62 is the highest one.
    low = (m >> 31) == 0
    m = tl.where(low, m << 32, m)
    e = tl.where(low, e - 32, e)
    low = (m >> 47) == 0
    m = tl.where(low, m << 16, m)
    e = tl.where(low, e - 16, e)
    low = (m >> 55) == 0
    m = tl.where(low, m << 8, m)
    e = tl.where(low, e - 8, e)
    low = (m >> 59) == 0
    m = tl.where(low, m << 4, m)
    e = tl.where(low, e - 4, e)
    low = (m >> 61) == 0
    m = tl.where(low, m << 2, m)
    e = tl.where(low, e - 2, e)
    low = (m >> 62) == 0
    m = tl.where(low, m << 1, m)
    e = tl.where(low, e - 1, e)
    q = m >> 10
    rest = m & 1023
    up = (rest > 512) | ((rest == 512) & ((q & 1) == 1))
    q = tl.where(up, q + 1, q)
    bits = (e << 52) + q
    bits = tl.where(smallest, (tl.zeros_like(m) + 1086) << 52, bits)
    bits = tl.where(zero, tl.zeros_like(m), bits)
    sign = (tl.zeros_like(m) + 1) << 63
    return tl.where(negative, bits | sign, bits)


@triton.jit
def as_operand(x, KIND: tl.constexpr, WORK: tl.constexpr, DT: tl.constexpr):
    # KIND of the input: 0 integer or bool, 1 floating point, 2 bits of float64.
    # WORK is done in: 0 int64, 1 float32, 2 bits of float64. DT is the common dtype.
    if WORK == 0:
        y = x.to(DT).to(tl.int64)
    elif WORK == 1:
        if KIND == 2:
            y = from_double_bits(x).to(DT).to(tl.float32)
        else:
            y = x.to(tl.float32).to(DT).to(tl.float32)
    else:
        if KIND == 2:
            y = x
        elif KIND == 1:
            y = to_double_bits(x.to(tl.float32))
        else:
            y = integer_to_double_bits(x.to(tl.int64))
    return y


@triton.jit
def larger(a, b, WORK: tl.constexpr):
    if WORK == 0:
        first = a > b
    elif WORK == 1:
        first = (a > b) | (a != a)
    else:
        a_size = a & 0x7FFFFFFFFFFFFFFF
        b_size = b & 0x7FFFFFFFFFFFFFFF
        a_key = tl.where(a < 0, -a_size, a_size)
        b_key = tl.where(b < 0, -b_size, b_size)
        a_nan = a_size > 0x7FF0000000000000
        b_nan = b_size > 0x7FF0000000000000
        first = a_nan | ((a_key > b_key) & (b_nan == 0))
    return tl.where(first, a, b)


@triton.jit
def as_result(y, WORK: tl.constexpr, OUT: tl.constexpr):
    # OUT, the kind of what is stored: 0 integer or bool, 1 floating point, 2 bits of float64.
    if WORK == 0:
        if OUT == 0:
            value = y
        elif OUT == 1:
            value = y.to(tl.float32)
        else:
            value = integer_to_double_bits(y)
    elif WORK == 1:
        if OUT == 2:
            value = to_double_bits(y)
        else:
            value = y
    else:
        if OUT == 2:
            value = y
        else:
            value = from_double_bits(y)
    return value


@triton.jit
def kernel_maximum(
    a_ptr,
    b_ptr,
    out_ptr,
    n,
    per_program,
    A: tl.constexpr,
    B: tl.constexpr,
    WORK: tl.constexpr,
    DT: tl.constexpr,
    OUT: tl.constexpr,
    PAIRS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    for k in range(0, per_program):
        offsets = (pid * per_program + k) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        a = as_operand(tl.load(a_ptr + offsets, mask=mask, other=0), A, WORK, DT)
        b = as_operand(tl.load(b_ptr + offsets, mask=mask, other=0), B, WORK, DT)
        value = as_result(larger(a, b, WORK), WORK, OUT)
        if PAIRS:
            tl.store(out_ptr + offsets * 2, value, mask=mask)
            tl.store(out_ptr + offsets * 2 + 1, tl.zeros_like(value), mask=mask)
        else:
            tl.store(out_ptr + offsets, value, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def order_between(shape, operands, d0, d1):
    for x in operands:
        s0, s1 = x.stride(d0), x.stride(d1)
        if s0 == 0 or s1 == 0:
            continue
        if s0 != s1:
            return -1 if s0 < s1 else 1
        if shape[d0] > shape[d1]:
            return 1
    return 0


def memory_order(shape, operands):
    n = len(shape)
    order = list(range(n - 1, -1, -1))
    for i in range(1, n):
        d1 = i
        for d0 in range(i - 1, -1, -1):
            sign = order_between(shape, operands, order[d0], order[d1])
            if sign > 0:
                order[d0], order[d1] = order[d1], order[d0]
                d1 = d0
            elif sign < 0:
                break
    return order[::-1]


def allocate(shape, order, dtype, device):
    strides = [1] * len(shape)
    step = 1
    for d in order[::-1]:
        strides[d] = step
        step = step * max(shape[d], 1)
    if order == list(range(len(shape))):
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.empty_strided(shape, strides, dtype=dtype, device=device)


def common_dtype(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    if dtype.is_floating_point:
        return tl.float32
    if dtype == torch.int32:
        return tl.int32
    if dtype == torch.int16:
        return tl.int16
    if dtype == torch.int8:
        return tl.int8
    if dtype == torch.uint8:
        return tl.uint8
    return tl.int64


def kind(dtype):
    if dtype == torch.float64 or dtype == torch.complex128:
        return 2
    return 1 if dtype.is_floating_point or dtype.is_complex else 0


def readable(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(input, other, *, out=None):
    if not torch.is_tensor(input) or not torch.is_tensor(other):
        raise TypeError("maximum: arguments must be tensors")
    if out is not None and not torch.is_tensor(out):
        raise TypeError("maximum: out must be a tensor")
    if input.is_complex() or other.is_complex():
        raise RuntimeError("maximum: not implemented for complex tensors")
    dtype = torch.result_type(input, other)
    shape = list(torch.broadcast_shapes(tuple(input.shape), tuple(other.shape)))
    if out is not None and not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"maximum: result type {dtype} cannot be cast to {out.dtype}")
    expanded = [torch.broadcast_to(input, shape), torch.broadcast_to(other, shape)]
    same = list(input.shape) == shape and list(other.shape) == shape
    order = list(range(len(shape)))
    if out is None and not (same and input.is_contiguous() and other.is_contiguous()):
        order = memory_order(shape, expanded)
    n = math.prod(shape)
    stored = dtype if out is None else out.dtype
    pairs = stored.is_complex
    if pairs:
        # No arithmetic on complex numbers here: pairs of a real part and a zero are written.
        part = torch.float32
        if stored == torch.complex128:
            part = torch.int64
        elif stored != torch.complex64:
            part = torch.float16
        target = torch.empty([2 * n], dtype=part, device=input.device)
        result = target.view(stored).reshape(shape)
    else:
        result = allocate(shape, order, stored, input.device)
        target = readable(result)
    if n > 0:
        a, b = [aligned(x.permute(order)) if shape else aligned(x) for x in expanded]
        blocks = triton.cdiv(n, 1024)
        per_program = triton.cdiv(blocks, 65535)
        grid = (triton.cdiv(blocks, per_program),)
        kernel_maximum[grid](
            readable(a),
            readable(b),
            target,
            n,
            per_program,
            A=kind(a.dtype),
            B=kind(b.dtype),
            WORK=kind(dtype),
            DT=common_dtype(dtype),
            OUT=kind(stored),
            PAIRS=pairs,
            BLOCK=1024,
        )
    if out is None:
        return result
    if list(out.shape) != shape:
        out.resize_(shape)
    out.copy_(result)
    return out
