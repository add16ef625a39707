@triton.jit
def kernel_pack(weight_ptr, packed_ptr, n, inner, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    # (outer, inner, taps) to (outer, taps, inner)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    i = at % inner
    tap = at // inner % TAPS
    source = (at // (inner * TAPS) * inner + i) * TAPS + tap
    tl.store(packed_ptr + at, tl.load(weight_ptr + source, mask=inside, other=0.0), mask=inside)


@triton.jit
def kernel_last(
    x_ptr,
    padded_ptr,
    INNER: tl.constexpr,
    LENGTH: tl.constexpr,
    PAD: tl.constexpr,
    BLOCK_L: tl.constexpr,
    BLOCK_I: tl.constexpr,
):
    # Channels last, with the zeros of the padding written out: a window of taps is one stretch of memory then.
    width = LENGTH + 2 * PAD
    parts = (width + BLOCK_L - 1) // BLOCK_L
    batch = (tl.program_id(0) // parts).to(tl.int64)
    place = tl.program_id(0) % parts * BLOCK_L + tl.arange(0, BLOCK_L)
    at = place - PAD
    i = tl.program_id(1) * BLOCK_I + tl.arange(0, BLOCK_I)
    x = tl.load(
        x_ptr + batch * INNER * LENGTH + i[:, None] * LENGTH + at[None, :],
        mask=(i < INNER)[:, None] & ((at >= 0) & (at < LENGTH))[None, :],
        other=0.0,
    )
    tl.store(
        padded_ptr + batch * INNER * width + place[:, None] * INNER + i[None, :],
        tl.trans(x),
        mask=(place < width)[:, None] & (i < INNER)[None, :],
    )


@triton.jit
def kernel_product(
    padded_ptr,
    packed_ptr,
    bias_ptr,
    out_ptr,
    rows,
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
    WIDTH: tl.constexpr,
    RESULT: tl.constexpr,
    TAPS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # One product of the weights (outer, taps * inner) with all windows.
    across = (OUTER + BLOCK_M - 1) // BLOCK_M
    o = tl.program_id(0) % across * BLOCK_M + tl.arange(0, BLOCK_M)
    row = (tl.program_id(0) // across).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = row < rows
    batch = row // RESULT
    place = row % RESULT
    k = tl.arange(0, BLOCK_K)
    window = padded_ptr + ((batch * WIDTH + place) * INNER)[None, :] + k[:, None]
    weight = packed_ptr + (o * TAPS * INNER)[:, None] + k[None, :]
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, TAPS * INNER, BLOCK_K):
        left = k < TAPS * INNER - start
        x = tl.load(window + start, mask=inside[None, :] & left[:, None], other=0.0)
        w = tl.load(weight + start, mask=(o < OUTER)[:, None] & left[None, :], other=0.0)
        total = tl.dot(w, x, total)
    bias = tl.load(bias_ptr + o, mask=o < OUTER, other=0.0).to(tl.float32)
    total += bias[:, None]
    tl.store(
        out_ptr + (batch * OUTER * RESULT + place)[None, :] + (o * RESULT)[:, None],
        total.to(out_ptr.dtype.element_ty),
        mask=inside[None, :] & (o < OUTER)[:, None],
    )


@triton.jit
def lower(word):
    return (word & 0xFFFF).to(tl.int16).to(tl.float16, bitcast=True)


@triton.jit
def upper(word):
    return (word >> 16).to(tl.int16).to(tl.float16, bitcast=True)


@triton.jit
def kernel_halves(
    words_ptr,
    packed_ptr,
    bias_ptr,
    out_ptr,
    rows,
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
    HALF: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # Three taps, two neighbouring places at once: of the words of two neighbours the results at even places need
    # (upper of the word before, lower, upper), those at odd places (lower, upper, lower of the word behind).
    across = (OUTER + BLOCK_M - 1) // BLOCK_M
    o = tl.program_id(0) % across * BLOCK_M + tl.arange(0, BLOCK_M)
    row = (tl.program_id(0) // across).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    batch = row // HALF
    place = (row % HALF).to(tl.int32)
    inside = row < rows
    base = words_ptr + (batch * INNER * HALF + place)[None, :]
    even = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    odd = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, INNER, BLOCK_K):
        i = start + tl.arange(0, BLOCK_K)
        some = (i < INNER)[:, None]
        at = base + (i * HALF)[:, None]
        word = tl.load(at, mask=inside[None, :] & some, other=0)
        before = upper(tl.load(at - 1, mask=(inside & (place > 0))[None, :] & some, other=0))
        behind = lower(tl.load(at + 1, mask=(inside & (place < HALF - 1))[None, :] & some, other=0))
        low, high = lower(word), upper(word)
        weight = packed_ptr + o[:, None] * (3 * INNER) + i[None, :]
        mask = (o < OUTER)[:, None] & (i < INNER)[None, :]
        first = tl.load(weight, mask=mask, other=0.0)
        second = tl.load(weight + INNER, mask=mask, other=0.0)
        third = tl.load(weight + 2 * INNER, mask=mask, other=0.0)
        even = tl.dot(first, before, even)
        even = tl.dot(second, low, even)
        even = tl.dot(third, high, even)
        odd = tl.dot(first, low, odd)
        odd = tl.dot(second, high, odd)
        odd = tl.dot(third, behind, odd)
    bias = tl.load(bias_ptr + o, mask=o < OUTER, other=0.0).to(tl.float32)[:, None]
    # Two neighbours are one word of the result.
    left = (even + bias).to(tl.float16).to(tl.int16, bitcast=True).to(tl.int32) & 0xFFFF
    right = (odd + bias).to(tl.float16).to(tl.int16, bitcast=True).to(tl.int32) << 16
    tl.store(
        out_ptr + (batch * OUTER * HALF + place)[None, :] + (o * HALF)[:, None],
        left | right,
        mask=inside[None, :] & (o < OUTER)[:, None],
    )


def wrapper(x, conv_weight, conv_bias, inner, outer, kernel):
    x, weight = x.contiguous(), conv_weight.contiguous()
    batch, inner, length = x.shape
    outer, _, taps = weight.shape
    pad = kernel // 2
    width = length + 2 * pad
    result = width - taps + 1
    out = torch.empty((batch, outer, result), dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    packed = torch.empty((outer, taps, inner), dtype=x.dtype, device=x.device)
    n = packed.numel()
    kernel_pack[(triton.cdiv(n, 1024),)](weight, packed, n, inner, TAPS=taps, BLOCK=1024)
    if taps == 3 and length % 2 == 0 and x.dtype == torch.float16 and outer <= 256:
        words, results = x.view(torch.int32), out.view(torch.int32)
        pairs = batch * length // 2
        block_m, block_n, block_k = 128, 64, 32
        kernel_halves[(triton.cdiv(outer, block_m) * triton.cdiv(pairs, block_n),)](
            words,
            packed,
            conv_bias,
            results,
            pairs,
            INNER=inner,
            OUTER=outer,
            HALF=length // 2,
            BLOCK_M=block_m,
            BLOCK_N=block_n,
            BLOCK_K=block_k,
            num_warps=4,
            num_stages=2,
        )
        return out
    padded = torch.empty((batch, width, inner), dtype=x.dtype, device=x.device)
    kernel_last[(batch * triton.cdiv(width, 64), triton.cdiv(inner, 64))](
        x, padded, INNER=inner, LENGTH=length, PAD=pad, BLOCK_L=64, BLOCK_I=64, num_warps=4
    )
    rows = batch * result
    block_m, block_n, block_k = 128, 256, 64
    kernel_product[(triton.cdiv(outer, block_m) * triton.cdiv(rows, block_n),)](
        padded,
        packed,
        conv_bias,
        out,
        rows,
        INNER=inner,
        OUTER=outer,
        WIDTH=width,
        RESULT=result,
        TAPS=taps,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        num_warps=8,
        num_stages=3,
    )
    return out
