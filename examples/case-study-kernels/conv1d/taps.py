@triton.jit
def kernel_pack(weight_ptr, packed_ptr, n, inner, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    # (outer, inner, taps) to (taps, outer, inner): the taps' matrices, each in rows that can be read whole.
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    matrix = n // TAPS
    source = at % matrix * TAPS + at // matrix
    tl.store(packed_ptr + at, tl.load(weight_ptr + source, mask=inside, other=0.0), mask=inside)


@triton.jit
def kernel_taps(
    x_ptr,
    packed_ptr,
    bias_ptr,
    out_ptr,
    rows,
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
    LENGTH: tl.constexpr,
    RESULT: tl.constexpr,
    TAPS: tl.constexpr,
    PAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # A product of the weights with the rows of the input for each tap, shifted by the tap: nothing is laid out anew.
    across = (OUTER + BLOCK_M - 1) // BLOCK_M
    o = tl.program_id(0) % across * BLOCK_M + tl.arange(0, BLOCK_M)
    row = (tl.program_id(0) // across).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    batch = row // RESULT
    place = (row % RESULT).to(tl.int32)
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, INNER, BLOCK_K):
        i = start + tl.arange(0, BLOCK_K)
        for tap in tl.static_range(TAPS):
            at = place + (tap - PAD)
            there = (row < rows) & (at >= 0) & (at < LENGTH)
            x = tl.load(
                x_ptr + (batch * INNER * LENGTH + at)[None, :] + (i * LENGTH)[:, None],
                mask=there[None, :] & (i < INNER)[:, None],
                other=0.0,
            )
            weight = tl.load(
                packed_ptr + tap * OUTER * INNER + o[:, None] * INNER + i[None, :],
                mask=(o < OUTER)[:, None] & (i < INNER)[None, :],
                other=0.0,
            )
            total = tl.dot(weight, x, total)
    bias = tl.load(bias_ptr + o, mask=o < OUTER, other=0.0).to(tl.float32)
    total += bias[:, None]
    tl.store(
        out_ptr + (batch * OUTER * RESULT + place)[None, :] + (o * RESULT)[:, None],
        total.to(out_ptr.dtype.element_ty),
        mask=(row < rows)[None, :] & (o < OUTER)[:, None],
    )


def wrapper(x, conv_weight, conv_bias, inner, outer, kernel):
    x, weight = x.contiguous(), conv_weight.contiguous()
    batch, inner, length = x.shape
    outer, _, taps = weight.shape
    pad = kernel // 2
    result = length + 2 * pad - taps + 1
    out = torch.empty((batch, outer, result), dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    packed = torch.empty((taps, outer, inner), dtype=x.dtype, device=x.device)
    n = packed.numel()
    kernel_pack[(triton.cdiv(n, 1024),)](weight, packed, n, inner, TAPS=taps, BLOCK=1024)
    rows = batch * result
    block_m, block_n, block_k = 128, 128, 32
    kernel_taps[(triton.cdiv(outer, block_m) * triton.cdiv(rows, block_n),)](
        x,
        packed,
        conv_bias,
        out,
        rows,
        INNER=inner,
        OUTER=outer,
        LENGTH=length,
        RESULT=result,
        TAPS=taps,
        PAD=pad,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        num_warps=8,
        num_stages=2,
    )
    return out
