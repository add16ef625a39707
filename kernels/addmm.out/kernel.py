# Generated: the kernel of aten::addmm.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_addmm_float(c_ptr, a_ptr, b_ptr, out_ptr, M, N, K, sc0, sa0, sb0, so0, alpha, beta, tiles, per_program,
                       USE_INPUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, BN)
    for i in range(0, per_program):
        tile = pid * per_program + i
        if tile < tiles:
            rm = (tile // columns).to(tl.int64) * BM + tl.arange(0, BM)
            rn = (tile % columns).to(tl.int64) * BN + tl.arange(0, BN)
            acc = tl.zeros([BM, BN], dtype=tl.float32)
            for k in range(0, K, BK):
                rk = k + tl.arange(0, BK).to(tl.int64)
                a = tl.load(a_ptr + rm[:, None] * sa0 + rk[None, :],
                            mask=(rm < M)[:, None] & (rk < K)[None, :], other=0)
                b = tl.load(b_ptr + rk[:, None] * sb0 + rn[None, :],
                            mask=(rk < K)[:, None] & (rn < N)[None, :], other=0)
                acc += tl.dot(a, b, input_precision="ieee")
            acc = acc * alpha
            mask = (rm < M)[:, None] & (rn < N)[None, :]
            if USE_INPUT:
                c = tl.load(c_ptr + rm[:, None] * sc0 + rn[None, :], mask=mask, other=0).to(tl.float32)
                acc = acc + c * beta
            tl.store(out_ptr + rm[:, None] * so0 + rn[None, :], acc, mask=mask)


@triton.jit
def kernel_addmm_int(c_ptr, a_ptr, b_ptr, out_ptr, M, N, K, sc0, sa0, sb0, so0, alpha, beta, tiles, per_program,
                     USE_INPUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, BN)
    for i in range(0, per_program):
        tile = pid * per_program + i
        if tile < tiles:
            rm = (tile // columns).to(tl.int64) * BM + tl.arange(0, BM)
            rn = (tile % columns).to(tl.int64) * BN + tl.arange(0, BN)
            acc = tl.zeros([BM, BN], dtype=tl.int64)
            for k in range(0, K, BK):
                rk = k + tl.arange(0, BK).to(tl.int64)
                a = tl.load(a_ptr + rm[:, None] * sa0 + rk[None, :],
                            mask=(rm < M)[:, None] & (rk < K)[None, :], other=0).to(tl.int64)
                b = tl.load(b_ptr + rk[:, None] * sb0 + rn[None, :],
                            mask=(rk < K)[:, None] & (rn < N)[None, :], other=0).to(tl.int64)
                acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)
            acc = acc * alpha
            mask = (rm < M)[:, None] & (rn < N)[None, :]
            if USE_INPUT:
                c = tl.load(c_ptr + rm[:, None] * sc0 + rn[None, :], mask=mask, other=0).to(tl.int64)
                acc = acc + c * beta
            tl.store(out_ptr + rm[:, None] * so0 + rn[None, :], acc, mask=mask)


def whole(value):
    if not -math.inf < value < math.inf:
        raise RuntimeError("addmm: value cannot be converted to an integer without overflow")
    return math.trunc(value)


def padded_width(n):
    return max(triton.cdiv(n, 32) * 32, 32)


def with_aligned_rows(x):
    size = x.element_size()
    rows_ok = x.shape[0] <= 1 or x.stride(0) * size % 32 == 0
    if x.stride(1) == 1 and rows_ok and x.storage_offset() * size % 32 == 0 and x.numel() > 0:
        return x
    padded = torch.empty((max(x.shape[0], 1), padded_width(x.shape[1])), dtype=x.dtype, device=x.device)
    if x.numel() > 0:
        padded.narrow(1, 0, x.shape[1]).copy_(x)
    return padded


def fitting(number, dtype):
    # PyTorch takes a number only if the dtype that it is multiplied in holds it.
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return
    if dtype.is_floating_point:
        if abs(number) > 3.4028234663852886e38 and abs(number) != math.inf:
            raise RuntimeError("value cannot be converted to type float without overflow")
    elif dtype != torch.bool:
        # Whole numbers below zero are taken for unsigned ones as well: they wrap.
        limits = torch.iinfo(dtype)
        low = -limits.max if limits.min == 0 and isinstance(number, int) else limits.min
        if not low <= number <= limits.max:
            raise RuntimeError("value cannot be converted to type int without overflow")


def wrapper(input, mat1, mat2, out_dtype=None, *, beta=1, alpha=1, out=None):
    fitting(alpha, input.dtype)
    fitting(beta, input.dtype)
    if mat1.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError("addmm: mat1 and mat2 must be matrices")
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError("addmm: mat1 and mat2 shapes cannot be multiplied")
    if mat1.dtype != mat2.dtype:
        raise RuntimeError("addmm: mat1 and mat2 must have the same dtype")
    dtype = mat1.dtype if out_dtype is None else out_dtype
    if input.dtype != mat1.dtype and input.dtype != dtype:
        raise RuntimeError("addmm: input must have the same dtype as mat1 and mat2")
    if dtype != mat1.dtype and not (
        dtype == torch.float32 and (mat1.dtype == torch.float16 or mat1.dtype == torch.bfloat16)
    ):
        raise RuntimeError("addmm: out_dtype is not supported for these inputs")
    if out is not None and out.dtype != dtype:
        raise RuntimeError("addmm: out has the wrong dtype")
    M, K = mat1.shape[0], mat1.shape[1]
    N = mat2.shape[1]
    bias = torch.broadcast_to(input, (M, N))
    use_input = beta != 0
    width = padded_width(N) if M > 1 else N
    if M == 0 or N == 0:
        result = torch.empty((M, N), dtype=dtype, device=mat1.device)
    else:
        buffer = torch.empty((M, width), dtype=dtype, device=mat1.device)
        a = with_aligned_rows(mat1)
        b = with_aligned_rows(mat2)
        c = with_aligned_rows(bias) if use_input else buffer
        if dtype.is_floating_point:
            BM, BN, BK = 64, 64, 64
        else:
            BM, BN, BK = 16, 32, 16
        tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
        per_program = triton.cdiv(tiles, 65535)
        grid = (triton.cdiv(tiles, per_program),)
        if dtype.is_floating_point:
            kernel_addmm_float[grid](c, a, b, buffer, M, N, K, c.stride(0), a.stride(0), b.stride(0), width,
                                     alpha * 1.0, beta * 1.0, tiles, per_program,
                                     USE_INPUT=use_input, BM=BM, BN=BN, BK=BK)
        else:
            kernel_addmm_int[grid](c, a, b, buffer, M, N, K, c.stride(0), a.stride(0), b.stride(0), width,
                                   whole(alpha), whole(beta), tiles, per_program,
                                   USE_INPUT=use_input, BM=BM, BN=BN, BK=BK)
        result = buffer.narrow(1, 0, N).contiguous()
    if out is not None:
        if list(out.shape) != [M, N]:
            out.resize_((M, N))
        out.copy_(result)
        return out
    return result
