@triton.jit
def kernel_pffn(
    x_ptr,
    up_ptr,
    bias_ptr,
    first_ptr,
    down_ptr,
    second_ptr,
    out_ptr,
    ROWS: tl.constexpr,
    INNER: tl.constexpr,
    HIDDEN: tl.constexpr,
    BLOCK_I: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_H: tl.constexpr,
):
    # All five steps for some rows of a group. The first norm scales whole rows of the hidden layer by one number each,
    # so that the second product may come before it: the hidden layer passes by in blocks of columns.
    group = tl.program_id(1).to(tl.int64)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    i = tl.arange(0, BLOCK_I)
    mask = (m < ROWS)[:, None] & (i < INNER)[None, :]
    at = group * ROWS * INNER + m[:, None] * INNER + i[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    out = tl.zeros([BLOCK_M, BLOCK_I], dtype=tl.float32)
    squares = tl.zeros([BLOCK_M], dtype=tl.float32)
    for start in range(0, HIDDEN, BLOCK_H):
        h = start + tl.arange(0, BLOCK_H)
        up = tl.load(
            up_ptr + group * INNER * HIDDEN + i[:, None] * HIDDEN + h[None, :],
            mask=(i < INNER)[:, None] & (h < HIDDEN)[None, :],
            other=0.0,
        )
        bias = tl.load(bias_ptr + group * HIDDEN + h, mask=h < HIDDEN, other=0.0).to(tl.float32)
        weight = tl.load(first_ptr + h, mask=h < HIDDEN, other=0.0).to(tl.float32)
        value = tl.dot(x, up) + bias[None, :]
        value = 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))
        squares += tl.sum(value * value, axis=1)
        # In two parts of 16 bits: what rounding leaves over is multiplied as well.
        value = value * weight[None, :]
        high = value.to(x.dtype)
        low = (value - high.to(tl.float32)).to(x.dtype)
        down = tl.load(
            down_ptr + group * HIDDEN * INNER + h[:, None] * INNER + i[None, :],
            mask=(h < HIDDEN)[:, None] & (i < INNER)[None, :],
            other=0.0,
        )
        out = tl.dot(low, down, out)
        out = tl.dot(high, down, out)
    out = out * tl.rsqrt(squares / HIDDEN + 1e-5)[:, None]
    scale = tl.rsqrt(tl.sum(out * out, axis=1) / INNER + 1e-5)
    last = tl.load(second_ptr + i, mask=i < INNER, other=0.0).to(tl.float32)
    out = out * scale[:, None] * last[None, :]
    tl.store(out_ptr + at, out.to(x.dtype), mask=mask)


def wrapper(x, up, bias, first, down, second, groups, inner, hidden):
    x, up, bias, down = x.contiguous(), up.contiguous(), bias.contiguous(), down.contiguous()
    groups, rows, inner = x.shape
    hidden = up.shape[2]
    out = torch.empty((groups, rows, inner), dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    block_i = max(triton.next_power_of_2(inner), 16)
    block_m, block_h = 64, 32
    kernel_pffn[(triton.cdiv(rows, block_m), groups)](
        x,
        up,
        bias,
        first.contiguous(),
        down,
        second.contiguous(),
        out,
        ROWS=rows,
        INNER=inner,
        HIDDEN=hidden,
        BLOCK_I=block_i,
        BLOCK_M=block_m,
        BLOCK_H=block_h,
        num_warps=4,
        num_stages=2,
    )
    return out
