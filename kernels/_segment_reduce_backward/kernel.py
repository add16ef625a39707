# Generated: the kernel of aten::_segment_reduce_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def times(a, b):
    return a * b


@triton.jit
def kernel_zero(out_ptr, n, T: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + i, tl.zeros([BLOCK], dtype=T), mask=i < n)


@triton.jit
def kernel_offsets(length_ptr, out_ptr, rows, segments, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        src = length_ptr + row.to(tl.int64) * segments
        dst = out_ptr + row.to(tl.int64) * (segments + 1)
        carry = tl.program_id(0).to(tl.int64) * 0
        tl.store(dst, carry)
        for start in range(0, segments, BLOCK):
            s = start + tl.arange(0, BLOCK)
            mask = s < segments
            x = tl.reshape(tl.load((src + s)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.int64)
            ends = tl.cumsum(x, axis=0) + carry
            tl.store((dst + 1 + s)[:, None], ends[:, None], mask=mask[:, None])
            carry += tl.sum(x, axis=0)


@triton.jit
def kernel_back(
    g_ptr, y_ptr, x_ptr, off_ptr, out_ptr, total, tiles, size, segments, inner, initial,
    KIND: tl.constexpr, OUT: tl.constexpr, K: tl.constexpr,
):
    k = tl.arange(0, K).to(tl.int64)[None, :]
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        i = tile.to(tl.int64) * OUT + tl.arange(0, OUT).to(tl.int64)
        live = i < total
        column = i % inner
        line = i // inner
        row = line // segments
        at = tl.where(live, row * (segments + 1) + line % segments, 0)
        begin = tl.reshape(tl.load((off_ptr + at)[:, None], mask=live[:, None], other=0), [OUT]).to(tl.int64)
        end = tl.reshape(tl.load((off_ptr + at + 1)[:, None], mask=live[:, None], other=0), [OUT]).to(tl.int64)
        g = tl.reshape(tl.load((g_ptr + i)[:, None], mask=live[:, None], other=0), [OUT]).to(tl.float32)
        y = tl.reshape(tl.load((y_ptr + i)[:, None], mask=live[:, None], other=0), [OUT]).to(tl.float32)
        span = end - begin
        longest = tl.max(span, axis=0)
        base = row * size * inner + column
        ties = tl.zeros([OUT, K], dtype=tl.int32)
        nans = tl.zeros([OUT, K], dtype=tl.int32)
        part = tl.full([OUT, K], 1.0, dtype=tl.float32)
        if (KIND == 0) | (KIND == 4):
            for start in range(0, longest, K):
                p = begin[:, None] + start + k
                ok = live[:, None] & (p < end[:, None])
                where = tl.reshape(base[:, None] + tl.where(ok, p, 0) * inner, [OUT * K])
                flat = tl.reshape(ok, [OUT * K])
                x = tl.load((x_ptr + where)[:, None], mask=flat[:, None], other=0)
                x = tl.reshape(x, [OUT, K]).to(tl.float32)
                if KIND == 0:
                    ties += tl.where(ok & ((x != x) | (x == y[:, None])), 1, 0)
                else:
                    ties += tl.where(ok & (x == 0.0), 1, 0)
                    nans += tl.where(ok & (x != x), 1, 0)
                    part = tl.where(ok & (x == x) & (x != 0.0), part * x, part)
        tied = tl.sum(ties, axis=1)
        odd = tl.sum(nans, axis=1)
        if KIND == 0:
            share = tl.where((tied > 1) & (g > 0.0), tl.div_rn(g, tl.where(tied > 1, tied, 1).to(tl.float32)), g)
        elif KIND == 3:
            share = tl.div_rn(g, tl.where(span > 0, span, 1).to(tl.float32))
        else:
            share = g
        product = tl.reduce(part, 1, times) * initial
        without_zero = tl.where(odd > 0, float("nan"), tl.where(tied > 1, 0.0, product))
        without_nan = tl.where(odd > 1, float("nan"), tl.where(tied > 0, 0.0, product))
        for start in range(0, longest, K):
            p = begin[:, None] + start + k
            ok = live[:, None] & (p < end[:, None])
            where = tl.reshape(base[:, None] + tl.where(ok, p, 0) * inner, [OUT * K])
            flat = tl.reshape(ok, [OUT * K])
            if (KIND == 0) | (KIND == 4):
                x = tl.load((x_ptr + where)[:, None], mask=flat[:, None], other=0)
                x = tl.reshape(x, [OUT, K]).to(tl.float32)
                if KIND == 0:
                    r = tl.where((x != x) | (x == y[:, None]), share[:, None], 0.0)
                else:
                    plain = (x == x) & (x != 0.0)
                    r = tl.div_rn((g * y)[:, None] + tl.zeros([OUT, K], dtype=tl.float32), tl.where(plain, x, 1.0))
                    r = tl.where(x == 0.0, (g * without_zero)[:, None], r)
                    r = tl.where(x != x, (g * without_nan)[:, None], r)
            else:
                r = share[:, None] + tl.zeros([OUT, K], dtype=tl.float32)
            r = tl.reshape(r, [OUT * K])
            tl.store((out_ptr + where)[:, None], r[:, None], mask=flat[:, None])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad, output, data, reduce, *, lengths=None, offsets=None, axis=0, initial=None):
    shape = list(data.shape)
    axis = axis % len(shape)
    size = shape[axis]
    inner = math.prod(shape[axis + 1 :])
    rows = math.prod(shape[:axis])
    out = torch.empty(shape, dtype=grad.dtype, device=data.device)
    n = out.numel()
    if n == 0:
        return out
    kept = tl.bfloat16 if out.dtype == torch.bfloat16 else tl.float16 if out.dtype == torch.float16 else tl.float32
    kernel_zero[(min(triton.cdiv(n, 1024), 4096),)](out, n, T=kept, BLOCK=1024)
    segments = lengths.shape[-1] if lengths is not None else offsets.shape[-1] - 1
    total = rows * segments * inner
    if total == 0:
        return out
    if lengths is not None:
        table = torch.empty((rows, segments + 1), dtype=torch.int64, device=data.device)
        kernel_offsets[(min(rows, 4096),)](aligned(lengths), table, rows, segments, BLOCK=1024)
    else:
        table = aligned(offsets)
    kind = {"max": 0, "min": 0, "sum": 2, "mean": 3, "prod": 4}[reduce]
    k = min(triton.next_power_of_2(max(triton.cdiv(size, segments), 1)), 1024)
    block = 1024 // k
    tiles = triton.cdiv(total, block)
    kernel_back[(min(tiles, 8192),)](
        aligned(grad), aligned(output), aligned(data), table, out, total, tiles, size, segments, inner,
        1.0 if initial is None else float(initial), KIND=kind, OUT=block, K=k, enable_scatter_stores=True,
    )
    return out
