# Generated: the kernel of aten::baddbmm.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_baddbmm(
    c_ptr, a_ptr, b_ptr, out_ptr,
    M, N, K,
    c_sb, c_sr, a_sb, a_sr, b_sb, b_sr, o_sb, o_sr,
    beta, alpha, tiles_m, tiles_n, total,
    INTEGER: tl.constexpr, USE_INPUT: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    for tile in range(tl.program_id(0), total, tl.num_programs(0)):
        per_batch = tiles_m * tiles_n
        batch = (tile // per_batch).to(tl.int64)
        rest = tile % per_batch
        row0 = ((rest // tiles_n) * BM).to(tl.int64)
        col0 = ((rest % tiles_n) * BN).to(tl.int64)
        rows = row0 + tl.arange(0, BM)
        cols = col0 + tl.arange(0, BN)
        row_ok = rows < M
        col_ok = cols < N
        if INTEGER:
            acc = tl.zeros([BM, BN], dtype=tl.int64)
        else:
            acc = tl.zeros([BM, BN], dtype=tl.float32)
        for k0 in range(0, K, BK):
            ks = k0 + tl.arange(0, BK)
            k_ok = ks < K
            a = tl.load(
                a_ptr + batch * a_sb + rows[:, None] * a_sr + ks[None, :],
                mask=row_ok[:, None] & k_ok[None, :], other=0,
            )
            b = tl.load(
                b_ptr + batch * b_sb + ks.to(tl.int64)[:, None] * b_sr + cols[None, :],
                mask=k_ok[:, None] & col_ok[None, :], other=0,
            )
            if INTEGER:
                wide_a = tl.expand_dims(a.to(tl.int64), 2)
                wide_b = tl.expand_dims(b.to(tl.int64), 0)
                acc += tl.sum(wide_a * wide_b, axis=1)
            else:
                acc += tl.dot(a, b, input_precision="ieee")
        mask = row_ok[:, None] & col_ok[None, :]
        result = acc * alpha
        if USE_INPUT:
            c = tl.load(
                c_ptr + batch * c_sb + rows[:, None] * c_sr + cols[None, :], mask=mask, other=0
            )
            if INTEGER:
                result = result + c.to(tl.int64) * beta
            else:
                result = result + c.to(tl.float32) * beta
        tl.store(
            out_ptr + batch * o_sb + rows[:, None] * o_sr + cols[None, :],
            result.to(out_ptr.dtype.element_ty), mask=mask,
        )


def padded_width(n, size):
    lanes = 32 // size
    return max(1, triton.cdiv(n, lanes)) * lanes


def aligned_rows(x):
    # A 3-D tensor whose rows are consecutive and start on multiples of 32 bytes.
    size = x.element_size()
    n = x.shape[2]
    width = padded_width(n, size)
    if width == n and x.is_contiguous() and x.storage_offset() * size % 32 == 0:
        return x
    padded = torch.empty((x.shape[0], x.shape[1], width), dtype=x.dtype, device=x.device)
    if n > 0:
        padded.narrow(2, 0, n).copy_(x)
    return padded


def whole(value, dtype):
    if not -math.inf < value < math.inf:
        raise RuntimeError("value cannot be converted to the tensor's type without overflow")
    value = int(value)
    info = torch.iinfo(dtype)
    low = info.min if info.min < 0 else -info.max
    if value < low or value > info.max:
        raise RuntimeError("value cannot be converted to the tensor's type without overflow")
    return value


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


def wrapper(input, batch1, batch2, out_dtype=None, *, beta=1, alpha=1, out=None):
    fitting(alpha, input.dtype)
    fitting(beta, input.dtype)
    if batch1.dim() < 2 or batch2.dim() < 3:
        if batch1.dim() < 2 or batch2.dim() < 3:
            raise IndexError("Dimension out of range")
    B, M, N = batch1.shape[0], batch1.shape[1], batch2.shape[2]
    expanded = input.expand(B, M, N)
    if batch1.dim() != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if batch2.dim() != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    K = batch1.shape[2]
    if batch2.shape[0] != B or batch2.shape[1] != K:
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to match batch1")
    dtype = batch1.dtype
    if batch2.dtype != dtype:
        raise RuntimeError("expected batch1 and batch2 to have the same dtype")
    result_dtype = dtype
    if out_dtype is not None:
        if out_dtype != dtype and not (
            out_dtype == torch.float32 and (dtype == torch.float16 or dtype == torch.bfloat16)
        ):
            raise RuntimeError("out_dtype must be the input dtype, or float32 for float16 and bfloat16 inputs")
        result_dtype = out_dtype
        if input.dtype != dtype and input.dtype != out_dtype:
            raise RuntimeError("Input dtypes must be the same")
    elif input.dtype != dtype:
        raise RuntimeError("Input dtypes must be the same")
    if out is not None and out.dtype != result_dtype:
        raise RuntimeError("Expected out tensor to have the dtype of the result")

    size = torch.empty((0,), dtype=result_dtype, device=batch1.device).element_size()
    if B * M * N == 0:
        if out is not None:
            if list(out.shape) != [B, M, N]:
                out.resize_((B, M, N))
            return out
        return torch.empty((B, M, N), dtype=result_dtype, device=batch1.device)

    if dtype == torch.bool:
        raise NotImplementedError("baddbmm is not implemented for 'Bool'")
    integer = not dtype.is_floating_point
    if integer:
        if K == 0 and isinstance(beta, float) and beta != 0:
            raise RuntimeError("result type Float can't be cast to an integral type")
        beta_value = whole(beta, dtype)
        alpha_value = whole(alpha, dtype)
    else:
        beta_value = float(beta)
        alpha_value = float(alpha)
    use_input = beta_value != 0

    a = aligned_rows(batch1)
    b = aligned_rows(batch2)
    width = padded_width(N, size)
    target = torch.empty((B, M, width), dtype=result_dtype, device=batch1.device)
    c = aligned_rows(expanded) if use_input else target

    if integer:
        bm, bn, bk = 16, 32, 16
    else:
        bm = min(64, max(16, triton.next_power_of_2(M)))
        bn = min(64, max(32, triton.next_power_of_2(N)))
        bk = min(64, max(16, triton.next_power_of_2(max(K, 1))))
    tiles_m = triton.cdiv(M, bm)
    tiles_n = triton.cdiv(N, bn)
    total = B * tiles_m * tiles_n
    kernel_baddbmm[(min(total, 65535),)](
        c, a, b, target,
        M, N, K,
        c.stride(0), c.stride(1), a.stride(0), a.stride(1),
        b.stride(0), b.stride(1), target.stride(0), target.stride(1),
        beta_value, alpha_value, tiles_m, tiles_n, total,
        INTEGER=integer, USE_INPUT=use_input, BM=bm, BN=bn, BK=bk,
    )

    if out is None and width == N:
        return target
    if out is None:
        out = torch.empty((B, M, N), dtype=result_dtype, device=batch1.device)
    elif list(out.shape) != [B, M, N]:
        out.resize_((B, M, N))
    out.copy_(target.narrow(2, 0, N))
    return out
