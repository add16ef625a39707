# Generated: the kernel of aten::addmv.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_addmv(input_ptr, mat_ptr, vec_ptr, out_ptr, n, m, width, tiles, alpha, beta, ACC: tl.constexpr,
                 RESULT: tl.constexpr, WITH_INPUT: tl.constexpr, WITH_PRODUCT: tl.constexpr,
                 R: tl.constexpr, C: tl.constexpr):
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
        rows = tile * R + tl.arange(0, R)
        live = rows < n
        total = tl.zeros([R], dtype=ACC)
        if WITH_PRODUCT:
            acc = tl.zeros([R, C], dtype=ACC)
            for start in range(0, m, C):
                columns = start + tl.arange(0, C)
                inside = columns < m
                a = tl.load(mat_ptr + (rows * width)[:, None] + columns[None, :],
                            mask=live[:, None] & inside[None, :], other=0).to(ACC)
                v = tl.load(vec_ptr + columns, mask=inside, other=0).to(ACC)
                acc += a * v[None, :]
            total += tl.sum(acc, axis=1) * alpha
        if WITH_INPUT:
            x = tl.load(input_ptr + rows, mask=live, other=0).to(RESULT).to(ACC)
            total += x * beta
        tl.store(out_ptr + rows, total.to(RESULT), mask=live)


@triton.jit
def kernel_scale(input_ptr, out_ptr, n, tiles, beta, ACC: tl.constexpr, OWN: tl.constexpr, RESULT: tl.constexpr,
                 BLOCK: tl.constexpr):
    # The product is one of the input's dtype, and only then cast to the result's.
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(input_ptr + i, mask=i < n, other=0).to(ACC)
        tl.store(out_ptr + i, (x * beta).to(OWN).to(RESULT), mask=i < n)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def padded(x):
    # Rows one after another, each beginning on a multiple of 32 bytes.
    rows, columns = x.shape
    size = x.element_size()
    if x.stride(1) == 1 and x.stride(0) >= columns and x.stride(0) * size % 32 == 0 and x.storage_offset() * size % 32 == 0:
        return x, x.stride(0)
    width = triton.cdiv(columns, 32) * 32
    room = torch.empty((rows, width), dtype=x.dtype, device=x.device)
    room.narrow(1, 0, columns).copy_(x)
    return room, width


def scalar(value, dtype):
    # The number as a scalar of the dtype; one beyond its range is refused.
    if dtype.is_floating_point:
        value = float(value)
        if math.isfinite(value) and abs(value) > torch.finfo(dtype).max:
            raise RuntimeError("addmv: value cannot be converted without overflow")
        return value
    if dtype == torch.bool:
        return 1 if value != 0 else 0
    if isinstance(value, float) and not math.isfinite(value):
        raise RuntimeError("addmv: value cannot be converted without overflow")
    value = int(value)
    limits = torch.iinfo(dtype)
    if value < limits.min or value > limits.max:
        raise RuntimeError("addmv: value cannot be converted without overflow")
    return value


def given(out, result):
    if out is None:
        return result
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def wrapper(input, mat, vec, *, beta=1, alpha=1, out=None):
    if mat.dim() != 2 or vec.dim() != 1 or input.dim() > 1:
        raise RuntimeError("vector + matrix @ vector expected")
    n, m = mat.shape
    if vec.shape[0] != m or (input.numel() != n and input.numel() != 1):
        raise RuntimeError("addmv: size mismatch")
    dtype = vec.dtype
    if input.dtype != dtype or mat.dtype != dtype:
        raise RuntimeError("addmv input tensors must have the same dtype")
    if out is not None and out.dtype != dtype:
        raise RuntimeError(f"addmv: out must have dtype {dtype}, not {out.dtype}")
    kinds = {
        torch.float32: tl.float32,
        torch.bfloat16: tl.bfloat16,
        torch.float16: tl.float16,
        torch.int64: tl.int64,
        torch.int32: tl.int32,
        torch.int16: tl.int16,
        torch.int8: tl.int8,
        torch.uint8: tl.uint8,
        torch.bool: tl.int1,
    }
    if n * m == 0 and beta != 0:
        # Without products the input is only scaled, and the result keeps its shape.
        if not torch.can_cast(input.dtype, dtype):
            raise RuntimeError(f"addmv: {input.dtype} cannot be cast to {dtype}")
        factor = scalar(beta, input.dtype)
        result = torch.empty(input.shape, dtype=dtype, device=vec.device)
        count = input.numel()
        if count > 0:
            tiles = triton.cdiv(count, 1024)
            kernel_scale[(min(tiles, 4096),)](
                aligned(input), result, count, tiles, factor,
                ACC=tl.float32 if input.dtype.is_floating_point else tl.int64,
                OWN=kinds[input.dtype], RESULT=kinds[dtype], BLOCK=1024,
            )
        return given(out, result)
    if n * m > 0:
        if mat.dtype != dtype:
            raise RuntimeError("addmv: mat and vec must have one dtype")
        if dtype == torch.bool:
            raise NotImplementedError("addmv is not implemented for bool")
    result = torch.empty((n,), dtype=dtype, device=vec.device)
    if n > 0:
        with_input = beta != 0
        a, b = scalar(alpha, dtype), scalar(beta, dtype)
        with_product = m > 0 and a != 0
        acc = tl.float32 if dtype.is_floating_point else tl.int64
        x = aligned(input.expand((n,))) if with_input else result
        left, width = padded(mat) if with_product else (result, 0)
        right = aligned(vec) if with_product else result
        tiles = triton.cdiv(n, 32)
        columns = min(max(triton.next_power_of_2(m), 32), 128)
        kernel_addmv[(min(tiles, 4096),)](
            x, left, right, result, n, m, width, tiles, a, b, ACC=acc, RESULT=kinds[dtype],
            WITH_INPUT=with_input, WITH_PRODUCT=with_product, R=32, C=columns,
        )
    return given(out, result)
