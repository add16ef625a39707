# Generated: the kernel of aten::floor_divide for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def single_of_double(b):
    sign = (b >> 63) & 1
    e = (b >> 52) & 2047
    m = b & 0xFFFFFFFFFFFFF
    v = ((e - 896) << 52) | m
    normal = (v + 0xFFFFFFF + ((v >> 29) & 1)) >> 29
    full = m | (m * 0 + 0x10000000000000)
    shift = 926 - e
    shift = tl.where(shift > 60, shift * 0 + 60, shift)
    shift = tl.where(shift < 30, shift * 0 + 30, shift)
    one = m * 0 + 1
    small = (full + (one << (shift - 1)) - 1 + ((full >> shift) & 1)) >> shift
    f = tl.where(e <= 896, small, normal)
    f = tl.where(e >= 1151, m * 0 + 0x7F800000, f)
    f = tl.where((e == 2047) & (m != 0), m * 0 + 0x7FC00000, f)
    f = f - (sign << 31)
    return f.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def double_bits(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    sign = (b >> 31) << 63
    mag = b & 0x7FFFFFFF
    e = mag >> 23
    m = mag & 0x7FFFFF
    s = m.to(tl.int32).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    small = (((s >> 23) + 747) << 52) | ((s & 0x7FFFFF) << 29)
    r = ((e + 896) << 52) | (m << 29)
    r = tl.where(e == 0, small, r)
    r = tl.where(e == 255, (m << 29) | 0x7FF0000000000000, r)
    r = tl.where(mag == 0, mag, r)
    return r | sign


@triton.jit
def double_bits_of_int(v):
    zero = v * 0
    m = tl.where(v < 0, -v, v)
    e = zero + 62
    c = m < 0x80000000
    m = tl.where(c, m << 32, m)
    e = tl.where(c, e - 32, e)
    c = m < 0x800000000000
    m = tl.where(c, m << 16, m)
    e = tl.where(c, e - 16, e)
    c = m < 0x80000000000000
    m = tl.where(c, m << 8, m)
    e = tl.where(c, e - 8, e)
    c = m < 0x800000000000000
    m = tl.where(c, m << 4, m)
    e = tl.where(c, e - 4, e)
    c = m < 0x2000000000000000
    m = tl.where(c, m << 2, m)
    e = tl.where(c, e - 2, e)
    c = m < 0x4000000000000000
    m = tl.where(c, m << 1, m)
    e = tl.where(c, e - 1, e)
    r = m >> 10
    rest = m & 1023
    up = (rest > 512) | ((rest == 512) & ((r & 1) == 1))
    r = tl.where(up, r + 1, r)
    bits = ((e + 1023) << 52) + (r - 0x10000000000000)
    smallest = v == (-9223372036854775807 - 1)
    bits = tl.where(smallest, zero + 0x43E0000000000000, bits)
    bits = tl.where(v == 0, zero, bits)
    one = zero + 1
    return tl.where(v < 0, bits | (one << 63), bits)


@triton.jit
def kernel_floor_divide_float(a_ptr, b_ptr, out_ptr, a_value, b_value, n, per_program,
                              A_FORM: tl.constexpr, B_FORM: tl.constexpr, ROUND_B: tl.constexpr,
                              DT: tl.constexpr, OUT_FORM: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    for k in range(0, per_program):
        offsets = (pid * per_program + k) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        if A_FORM == 1:
            a = tl.full([BLOCK], a_value, tl.float32)
        elif A_FORM == 2:
            a = single_of_double(tl.load(a_ptr + offsets, mask=mask, other=0))
        else:
            a = tl.load(a_ptr + offsets, mask=mask, other=0)
        a = a.to(tl.float32).to(DT).to(tl.float32)
        if B_FORM == 1:
            b = tl.full([BLOCK], b_value, tl.float32)
        elif B_FORM == 2:
            b = single_of_double(tl.load(b_ptr + offsets, mask=mask, other=0x3FF0000000000000))
        else:
            b = tl.load(b_ptr + offsets, mask=mask, other=1)
        b = b.to(tl.float32)
        if ROUND_B:
            b = b.to(DT).to(tl.float32)
        quotient = tl.div_rn(a, b)
        mod = libdevice.fmod(a, b)
        div = tl.div_rn(a - mod, b)
        div = tl.where((mod != 0) & ((b < 0) != (mod < 0)), div - 1.0, div)
        result = tl.floor(div)
        result = tl.where(div - result > 0.5, result + 1.0, result)
        zero = libdevice.copysign(tl.zeros([BLOCK], dtype=tl.float32), quotient)
        result = tl.where(div == 0, zero, result)
        # A chip without subnormal numbers knows no rest of a division by one.
        lost = (mod != mod) & (tl.abs(a) < float("inf")) & (b == b)
        result = tl.where(lost, tl.floor(quotient), result)
        result = tl.where(b == 0, quotient, result)
        value = result.to(DT).to(tl.float32)
        if OUT_FORM == 0:
            tl.store(out_ptr + offsets, value, mask=mask)
        elif OUT_FORM == 2:
            tl.store(out_ptr + offsets, double_bits(value), mask=mask)
        else:
            bits = value.to(tl.int32, bitcast=True).to(tl.int64)
            tl.store(out_ptr + offsets, bits & 0xFFFFFFFF, mask=mask)


@triton.jit
def kernel_floor_divide_int(a_ptr, b_ptr, out_ptr, a_value, b_value, n, per_program,
                            A_NUMBER: tl.constexpr, B_NUMBER: tl.constexpr, DT: tl.constexpr,
                            OUT_FORM: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    for k in range(0, per_program):
        offsets = (pid * per_program + k) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        if A_NUMBER:
            a = tl.zeros([BLOCK], dtype=tl.int64) + a_value
        else:
            a = tl.load(a_ptr + offsets, mask=mask, other=0).to(tl.int64)
        if B_NUMBER:
            b = tl.zeros([BLOCK], dtype=tl.int64) + b_value
        else:
            b = tl.load(b_ptr + offsets, mask=mask, other=1).to(tl.int64)
        a = a.to(DT).to(tl.int64)
        b = b.to(DT).to(tl.int64)
        safe = tl.where((b == 0) | (b == -1), tl.full([BLOCK], 1, dtype=tl.int64), b)
        quotient = a // safe
        rest = a - quotient * safe
        down = (rest != 0) & ((rest < 0) != (safe < 0))
        quotient = tl.where(down, quotient - 1, quotient)
        quotient = tl.where(b == -1, -a, quotient)
        quotient = quotient.to(DT).to(tl.int64)
        if OUT_FORM == 0:
            tl.store(out_ptr + offsets, quotient, mask=mask)
        elif OUT_FORM == 1:
            tl.store(out_ptr + offsets, quotient.to(tl.float32), mask=mask)
        elif OUT_FORM == 2:
            tl.store(out_ptr + offsets, double_bits_of_int(quotient), mask=mask)
        else:
            bits = quotient.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
            tl.store(out_ptr + offsets, bits & 0xFFFFFFFF, mask=mask)


def aligned(x):
    x = x.contiguous()
    x = x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()
    return x.view(torch.int64) if x.dtype == torch.float64 else x


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


def tl_float(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    return tl.float32


def tl_int(dtype):
    if dtype == torch.uint8:
        return tl.uint8
    if dtype == torch.int8:
        return tl.int8
    if dtype == torch.int16:
        return tl.int16
    if dtype == torch.int32:
        return tl.int32
    return tl.int64


def wrapper(input, other, *, out=None):
    a_number, b_number = not torch.is_tensor(input), not torch.is_tensor(other)
    for value in (input, other):
        if not torch.is_tensor(value) and not isinstance(value, (bool, int, float)):
            raise TypeError("floor_divide: arguments must be tensors or numbers")
    if a_number and b_number:
        raise TypeError("floor_divide: at least one argument must be a tensor")
    if out is not None and not torch.is_tensor(out):
        raise TypeError("floor_divide: out must be a tensor")
    dtype = torch.result_type(input, other)
    if dtype == torch.bool or dtype.is_complex:
        raise NotImplementedError("floor_divide: not implemented for this dtype")
    if out is not None and not torch.can_cast(dtype, out.dtype):
        raise RuntimeError("floor_divide: the result cannot be cast to the dtype of out")
    stored = dtype if out is None else out.dtype
    tensors = [x for x in (input, other) if torch.is_tensor(x)]
    device = tensors[0].device
    shape = list(torch.broadcast_shapes(*[tuple(x.shape) for x in tensors]))
    expanded = [torch.broadcast_to(x, shape) for x in tensors]
    order = memory_order(shape, expanded)
    n = math.prod(shape)
    if n > 0 and b_number and other == 0 and not dtype.is_floating_point:
        raise RuntimeError("ZeroDivisionError")
    result = allocate(shape, order, stored, device)
    if n > 0:
        target, out_form = result, 0
        if stored == torch.float64:
            target, out_form = result.view(torch.int64), 2
        elif stored == torch.complex64:
            target, out_form = result.view(torch.int64), 3
        flat = [aligned(x.permute(order)) if shape else aligned(x) for x in expanded]
        a = target if a_number else flat[0]
        b = target if b_number else flat[-1]
        a_value = input if a_number else 0
        b_value = other if b_number else 0
        blocks = triton.cdiv(n, 1024)
        per_program = triton.cdiv(blocks, 65535)
        grid = (triton.cdiv(blocks, per_program),)
        if dtype.is_floating_point:
            round_b = not b_number and other.numel() != 1
            a_form = 1 if a_number else 2 if input.dtype == torch.float64 else 0
            b_form = 1 if b_number else 2 if other.dtype == torch.float64 else 0
            kernel_floor_divide_float[grid](a, b, target, a_value * 1.0, b_value * 1.0, n, per_program,
                                            A_FORM=a_form, B_FORM=b_form, ROUND_B=round_b,
                                            DT=tl_float(dtype), OUT_FORM=out_form, BLOCK=1024)
        else:
            if out_form == 0 and stored.is_floating_point:
                out_form = 1
            kernel_floor_divide_int[grid](a, b, target, math.trunc(a_value), math.trunc(b_value), n, per_program,
                                          A_NUMBER=a_number, B_NUMBER=b_number, DT=tl_int(dtype),
                                          OUT_FORM=out_form, BLOCK=1024)
    if out is None:
        return result
    if list(out.shape) != shape:
        out.resize_(shape)
    out.copy_(result)
    return out
