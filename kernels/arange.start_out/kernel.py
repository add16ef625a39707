# Generated: the kernel of aten::arange.start_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_arange_int(out_ptr, n, start, step, per_program, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    for k in range(0, per_program):
        i = (pid * per_program + k) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        tl.store(out_ptr + i, i * step + start, mask=i < n)


@triton.jit
def wide(x):
    # The bits of float32 numbers as float64, which the device stores but does not compute.
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    exponent = (b >> 23) & 255
    # A subnormal number (or zero) counts units of 2 ** -149: as a float32 it has an exponent to be corrected by 149.
    small = (b & 0x7FFFFF).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    digits = tl.where(exponent == 0, small, b)
    lifted = ((digits >> 23) & 255) + tl.where(exponent == 0, 896 - 149, 896)
    lifted = tl.where(exponent == 255, 2047, lifted)
    number = (lifted << 52) | ((digits & 0x7FFFFF) << 29)
    return ((b & 0x80000000) << 32) | tl.where(small + exponent == 0, 0, number)


@triton.jit
def kernel_arange_float(out_ptr, n, start, start_low, step, step_low, per_program, BITS: tl.constexpr,
                        BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    for k in range(0, per_program):
        i = (pid * per_program + k) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        f = i.to(tl.float32)
        f_low = (i - f.to(tl.int64)).to(tl.float32)
        zero = tl.zeros([BLOCK], dtype=tl.float32)
        first = zero + start
        factor = zero + step
        product = f * factor
        product_low = tl.fma(f, factor, -product) + f * step_low + f_low * factor
        total = first + product
        moved = total - first
        total_low = (first - (total - moved)) + (product - moved)
        value = total + (total_low + product_low + start_low)
        value = tl.where(value == value, value, total)
        if BITS:
            value = wide(value)
        tl.store(out_ptr + i, value, mask=i < n)


def high_part(x):
    if abs(x) > 1e38:
        return x
    c = x * 536870913.0
    return c - (c - x)


def wrapper(start=None, end=None, step=1, *, out=None, dtype=None, layout=torch.strided, device=None,
            requires_grad=False, pin_memory=False):
    if end is None:
        start, end = 0, start
    if start is None:
        start = 0
    if step is None:
        step = 1
    for value in (start, end, step):
        if not isinstance(value, (bool, int, float)):
            raise TypeError("arange: start, end and step must be numbers")
    if dtype is None:
        if out is not None:
            dtype = out.dtype
        elif isinstance(start, float) or isinstance(end, float) or isinstance(step, float):
            dtype = torch.get_default_dtype()
        else:
            dtype = torch.int64
    if out is not None and out.dtype != dtype:
        raise RuntimeError("arange: out has the wrong dtype")
    if dtype == torch.bool or dtype.is_complex:
        raise NotImplementedError("arange: not implemented for this dtype")
    if not (step > 0 or step < 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError("unsupported range")
    if not ((step > 0 and end >= start) or (step < 0 and end <= start)):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype == torch.int64:
        first, last, gap = math.trunc(start), math.trunc(end), math.trunc(step)
        if gap == 0:
            raise RuntimeError("step must be nonzero")
        n = (last - first + gap - (1 if gap > 0 else -1)) // gap
    else:
        n = math.ceil((end * 1.0 - start * 1.0) / (step * 1.0))
    if out is not None:
        device = out.device
    if requires_grad:
        result = torch.empty((n,), dtype=dtype, device=device, requires_grad=True)
    else:
        result = torch.empty((n,), dtype=dtype, device=device)
    if n > 0:
        block = 1024
        blocks = triton.cdiv(n, block)
        per_program = triton.cdiv(blocks, 65535)
        grid = (triton.cdiv(blocks, per_program),)
        if dtype.is_floating_point:
            first, gap = start * 1.0, step * 1.0
            first_high, gap_high = high_part(first), high_part(gap)
            bits = dtype == torch.float64
            kernel_arange_float[grid](result.view(torch.int64) if bits else result, n, first_high,
                                      first - first_high, gap_high, gap - gap_high, per_program, BITS=bits, BLOCK=block)
        else:
            kernel_arange_int[grid](result, n, math.trunc(start), math.trunc(step), per_program, BLOCK=block)
    if out is not None:
        if list(out.shape) != [n]:
            out.resize_((n,))
        out.copy_(result)
        return out
    return result
