@triton.jit
def kernel_bmm(
    a_ptr, b_ptr, c_ptr, B, M, N, K,
    stride_ab, stride_am, stride_ak, stride_bb, stride_bk, stride_bn,
    DOT: tl.constexpr, BB: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    # Small matrices: four of them in one batched dot keep all warps busy.
    batch = (tl.program_id(2) * BB + tl.arange(0, BB)).to(tl.int64)[:, None, None]
    m = (tl.program_id(0) * BM + tl.arange(0, BM))[None, :, None]
    n = (tl.program_id(1) * BN + tl.arange(0, BN))[None, None, :]
    acc = tl.zeros([BB, BM, BN], dtype=tl.float32 if DOT else c_ptr.dtype.element_ty)
    if DOT:
        for start in range(0, K, BK):
            ka = (start + tl.arange(0, BK))[None, None, :]
            kb = (start + tl.arange(0, BK))[None, :, None]
            a_mask = (batch < B) & (m < M) & (ka < K)
            b_mask = (batch < B) & (kb < K) & (n < N)
            a = tl.load(a_ptr + batch * stride_ab + m * stride_am + ka * stride_ak, mask=a_mask, other=0)
            b = tl.load(b_ptr + batch * stride_bb + kb * stride_bk + n * stride_bn, mask=b_mask, other=0)
            acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc, input_precision="ieee")
    else:
        for k in range(0, K):
            a = tl.load(a_ptr + batch * stride_ab + m * stride_am + k * stride_ak, mask=(batch < B) & (m < M), other=0)
            b = tl.load(b_ptr + batch * stride_bb + k * stride_bk + n * stride_bn, mask=(batch < B) & (n < N), other=0)
            acc += a * b
    c_ptrs = c_ptr + batch * M * N + m * N + n
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(batch < B) & (m < M) & (n < N))


def wrapper(input, mat2, out_dtype=None, *, out=None):
    if input.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("bmm: the operands must be batches of matrices")
    B, M, K = input.shape
    N = mat2.shape[2]
    if mat2.shape[0] != B or mat2.shape[1] != K:
        raise RuntimeError("bmm: the operands must have shapes (b, m, k) and (b, k, n)")
    c = torch.empty((B, M, N), dtype=input.dtype if out_dtype is None else out_dtype, device=input.device)
    if c.numel() == 0:
        return c
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), triton.cdiv(B, 4))
    kernel_bmm[grid](
        input, mat2, c, B, M, N, K, *input.stride(), *mat2.stride(),
        DOT=input.is_floating_point(), BB=4, BM=32, BN=32, BK=32, num_warps=4,
    )  # fmt: skip
    return c
