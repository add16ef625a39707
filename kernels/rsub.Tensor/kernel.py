# Generated: the kernel of aten::rsub.Tensor for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
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
def kernel_rsub(a_ptr, b_ptr, out_ptr, b_value, alpha, n, per_program, B_NUMBER: tl.constexpr,
                A_DOUBLE: tl.constexpr, B_DOUBLE: tl.constexpr,
                ROUND_A: tl.constexpr, ROUND_B: tl.constexpr, DT: tl.constexpr, WIDE: tl.constexpr,
                BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    for k in range(0, per_program):
        offsets = (pid * per_program + k) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        a = fetch(a_ptr, offsets, mask, A_DOUBLE)
        if ROUND_A:
            a = a.to(DT)
        if B_NUMBER:
            b = tl.zeros([BLOCK], dtype=WIDE) + b_value
        else:
            b = fetch(b_ptr, offsets, mask, B_DOUBLE)
        if ROUND_B:
            b = b.to(DT)
        tl.store(out_ptr + offsets, b.to(WIDE) - a.to(WIDE) * alpha, mask=mask)


def aligned(x):
    x = x.contiguous()
    x = x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def is_double(x):
    return torch.is_tensor(x) and x.dtype == torch.float64


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


def compute_dtype(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    return tl.float32 if dtype.is_floating_point else tl.int64


def wrapper(input, other, *, alpha=1):
    b_number = not torch.is_tensor(other)
    if not torch.is_tensor(input) or (b_number and not isinstance(other, (bool, int, float))):
        raise TypeError("rsub: input must be a tensor and other a tensor or a number")
    if not isinstance(alpha, (bool, int, float)):
        raise TypeError("rsub: alpha must be a number")
    other_bool = isinstance(other, bool) if b_number else other.dtype == torch.bool
    if input.dtype == torch.bool or other_bool:
        raise RuntimeError("Subtraction with a bool tensor is not supported")
    dtype = torch.result_type(input, other)
    if dtype.is_complex:
        raise NotImplementedError("rsub: complex numbers are not supported")
    if isinstance(alpha, bool):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not dtype.is_floating_point:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    most = torch.finfo(dtype).max if dtype.is_floating_point else torch.iinfo(dtype).max
    least = -most if dtype.is_floating_point or dtype == torch.uint8 else torch.iinfo(dtype).min
    # other + (-alpha) * input: it is minus alpha that has to fit
    if abs(alpha) != math.inf and (-alpha > most or -alpha < least):
        raise RuntimeError(f"rsub: alpha={alpha} overflows {dtype}")
    tensors = [input] if b_number else [other, input]
    shape = list(torch.broadcast_shapes(*[tuple(x.shape) for x in tensors]))
    expanded = [torch.broadcast_to(x, shape) for x in tensors]
    order = memory_order(shape, expanded)
    result = allocate(shape, order, dtype, input.device)
    n = result.numel()
    if n > 0:
        flat = [aligned(x.permute(order)) if shape else aligned(x) for x in expanded]
        a = flat[-1]
        b = result if b_number else flat[0]
        b_value = other if b_number else 0
        if dtype.is_floating_point:
            b_value, alpha = b_value * 1.0, alpha * 1.0
        wide = tl.float32 if dtype.is_floating_point else tl.int64
        blocks = triton.cdiv(n, 1024)
        per_program = triton.cdiv(blocks, 65535)
        grid = (triton.cdiv(blocks, per_program),)
        kernel_rsub[grid](a, b, result, b_value, alpha, n, per_program, B_NUMBER=b_number,
                          A_DOUBLE=is_double(input), B_DOUBLE=is_double(other),
                          ROUND_A=input.numel() != 1, ROUND_B=not b_number and other.numel() != 1,
                          DT=compute_dtype(dtype), WIDE=wide, BLOCK=1024)
    return result
