# Generated: the kernel of aten::lerp.Scalar_out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_cast(x_ptr, out_ptr, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0).to(tl.float32)
        if BITS:
            tl.store(out_ptr + i, wide(x), mask=i < n)
        else:
            tl.store(out_ptr + i, x.to(out_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def kernel_lerp(x_ptr, y_ptr, w, out_ptr, total, per, W_SCALAR: tl.constexpr, W_DOUBLE: tl.constexpr,
                BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * per
    for k in range(0, per):
        i = (first + k) * BLOCK + tl.arange(0, BLOCK)
        mask = i < total
        x = tl.load(x_ptr + i, mask=mask, other=0).to(tl.float32)
        y = tl.load(y_ptr + i, mask=mask, other=0).to(tl.float32)
        if W_SCALAR:
            weight = tl.full([BLOCK], w, tl.float32)
        else:
            weight = fetch(w, i, mask, W_DOUBLE).to(tl.float32)
        near = x + weight * (y - x)
        far = y - (y - x) * (1.0 - weight)
        tl.store(out_ptr + i, tl.where(tl.abs(weight) < 0.5, near, far), mask=mask)


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

def wrapper(input, end, weight, *, out=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError("lerp(): argument 'input' must be a Tensor")
    if not isinstance(end, torch.Tensor):
        raise TypeError("lerp(): argument 'end' must be a Tensor")
    scalar = not isinstance(weight, torch.Tensor)
    if scalar and not isinstance(weight, (bool, int, float)):
        raise TypeError("lerp(): argument 'weight' must be a Tensor or a number")
    if input.dtype != end.dtype:
        raise RuntimeError("expected the dtype of 'input' for 'end'")
    dtype = input.dtype
    tensors = [input, end]
    if not scalar:
        tensors.append(weight)
        if weight.dim() == 0:
            dtype = torch.result_type(input, weight)
            if end.dim() > 0:
                dtype = end.dtype if input.dim() == 0 else dtype
        elif weight.dtype != dtype:
            raise RuntimeError("expected the dtype of 'input' for 'weight'")
    if scalar and math.isfinite(weight) and abs(weight) > torch.finfo(torch.float32).max:
        raise RuntimeError(f"lerp: weight={weight} cannot be converted without overflow")
    if dtype not in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        raise NotImplementedError("lerp: not implemented for this dtype")
    if out is not None and not torch.can_cast(dtype, out.dtype):
        raise RuntimeError("result type can't be cast to the desired output type")
    if not scalar and weight.dim() > 0 and out is not None and out.dtype != dtype:
        raise RuntimeError(f"lerp: found dtype {out.dtype} but expected {dtype}")
    shape = list(torch.broadcast_shapes(*[t.shape for t in tensors]))
    total = math.prod(shape)
    if total == 0:
        result = torch.empty(shape, dtype=dtype, device=input.device)
    else:
        order = memory_order(tensors, shape)
        strides = [1] * len(shape)
        step = 1
        for d in order[::-1]:
            strides[d] = step
            step = step * shape[d]
        result = torch.empty_strided(shape, strides, dtype=dtype, device=input.device)
        w = weight if scalar else dense(weight, shape, order)
        double = not scalar and weight.dtype == torch.float64
        blocks = triton.cdiv(total, 1024)
        per = triton.cdiv(blocks, 32768)
        kernel_lerp[(triton.cdiv(blocks, per),)](
            dense(input, shape, order), dense(end, shape, order), w.view(torch.int64) if double else w, result, total, per,
            W_SCALAR=scalar, W_DOUBLE=double, BLOCK=1024,
        )
    if out is not None:
        if list(out.shape) != shape:
            out.resize_(shape)
        if out.dtype != dtype and total > 0:
            bits = out.dtype == torch.float64
            cast = torch.empty_strided(shape, result.stride(), dtype=out.dtype, device=input.device)
            kernel_cast[(min(triton.cdiv(total, 1024), 4096),)](
                result.as_strided((total,), (1,)), (cast.view(torch.int64) if bits else cast).as_strided((total,), (1,)),
                total, BITS=bits, BLOCK=1024)
            result = cast
        if total > 0:
            out.copy_(result)
        return out
    return result
