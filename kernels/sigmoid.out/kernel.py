# Generated: the kernel of aten::sigmoid.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_sigmoid(
    x_ptr,
    out_ptr,
    n,
    per_program,
    DT: tl.constexpr,
    X_DOUBLE: tl.constexpr,
    OUT_DOUBLE: tl.constexpr,
    PAIRS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    for k in range(0, per_program):
        offsets = (pid * per_program + k) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        loaded = tl.load(x_ptr + offsets, mask=mask, other=0)
        if X_DOUBLE:
            x = from_double_bits(loaded)
        else:
            x = loaded.to(tl.float32)
        small = libdevice.exp(-tl.abs(x))
        top = tl.where(x < 0, small, tl.zeros_like(x) + 1.0)
        y = (top / (1.0 + small)).to(DT).to(tl.float32)
        if OUT_DOUBLE:
            value = to_double_bits(y)
        else:
            value = y
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


def rounded(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    return tl.float32


def readable(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(input, *, out=None):
    if not torch.is_tensor(input):
        raise TypeError("sigmoid: input must be a tensor")
    if out is not None and not torch.is_tensor(out):
        raise TypeError("sigmoid: out must be a tensor")
    dtype = input.dtype if input.is_floating_point() or input.is_complex() else torch.get_default_dtype()
    if out is not None and not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"sigmoid: result type {dtype} cannot be cast to {out.dtype}")
    if dtype.is_complex:
        raise NotImplementedError("sigmoid: complex numbers are not supported")
    shape = list(input.shape)
    order = list(range(len(shape)))
    if out is None and not input.is_contiguous():
        order = memory_order(shape, [input])
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
        x = aligned(input.permute(order)) if shape else aligned(input)
        blocks = triton.cdiv(n, 1024)
        per_program = triton.cdiv(blocks, 65535)
        grid = (triton.cdiv(blocks, per_program),)
        kernel_sigmoid[grid](
            readable(x),
            target,
            n,
            per_program,
            DT=rounded(dtype),
            X_DOUBLE=x.dtype == torch.float64,
            OUT_DOUBLE=stored == torch.float64 or stored == torch.complex128,
            PAIRS=pairs,
            BLOCK=1024,
        )
    if out is None:
        return result
    if list(out.shape) != shape:
        out.resize_(shape)
    out.copy_(result)
    return out
