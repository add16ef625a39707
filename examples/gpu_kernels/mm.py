@triton.jit
def kernel_mm(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    # Programs in groups of rows of tiles, so that neighbours find their operands in the L2 cache.
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first_m = pid // in_group * GROUP
    group_m = min(tiles_m - first_m, GROUP)
    pid_m = first_m + pid % in_group % group_m
    pid_n = pid % in_group // group_m

    rows = pid_m * BM + tl.arange(0, BM)
    columns = pid_n * BN + tl.arange(0, BN)
    # Rows and columns beyond the edge wrap around: what they give is not stored.
    offs_m = rows % M
    offs_n = columns % N
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc, input_precision="ieee")
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    c_ptrs = c_ptr + rows[:, None] * N + columns[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def kernel_mm_int(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, BM: tl.constexpr, BN: tl.constexpr
):
    # Tensor cores have no int32 and int64: a rank-one update for each k.
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], dtype=c_ptr.dtype.element_ty)
    for k in range(0, K):
        a = tl.load(a_ptr + rows * stride_am + k * stride_ak, mask=rows < M, other=0)
        b = tl.load(b_ptr + k * stride_bk + columns * stride_bn, mask=columns < N, other=0)
        acc += a[:, None] * b[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


def wrapper(input, mat2, out_dtype=None, *, out=None):
    if input.dim() != 2 or mat2.dim() != 2 or input.shape[1] != mat2.shape[0]:
        raise RuntimeError("mm: the operands must be matrices of shapes (m, k) and (k, n)")
    M, K = input.shape
    N = mat2.shape[1]
    c = torch.empty((M, N), dtype=input.dtype if out_dtype is None else out_dtype, device=input.device)
    if c.numel() == 0:
        return c
    strides = (input.stride(0), input.stride(1), mat2.stride(0), mat2.stride(1))
    if input.is_floating_point():
        grid = (triton.cdiv(M, 128) * triton.cdiv(N, 128),)
        kernel_mm[grid](input, mat2, c, M, N, K, *strides, BM=128, BN=128, BK=32, GROUP=8, num_warps=8)
    else:
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
        kernel_mm_int[grid](input, mat2, c, M, N, K, *strides, BM=64, BN=64)
    return c
