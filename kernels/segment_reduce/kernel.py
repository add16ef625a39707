# Generated: the kernel of aten::segment_reduce for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def times(a, b):
    return a * b


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
def kernel_reduce(
    x_ptr, off_ptr, out_ptr, total, tiles, size, segments, inner, initial,
    KIND: tl.constexpr, GIVEN: tl.constexpr, OUT: tl.constexpr, K: tl.constexpr,
):
    lane = tl.arange(0, OUT * K)
    k = (lane % K).to(tl.int64)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        first = tile.to(tl.int64) * OUT
        i = first + lane // K
        live = i < total
        column = i % inner
        line = i // inner
        row = line // segments
        at = tl.where(live, row * (segments + 1) + line % segments, 0)
        begin = tl.reshape(tl.load((off_ptr + at)[:, None], mask=live[:, None], other=0), [OUT * K]).to(tl.int64)
        end = tl.reshape(tl.load((off_ptr + at + 1)[:, None], mask=live[:, None], other=0), [OUT * K]).to(tl.int64)
        span = end - begin
        longest = tl.max(span, axis=0)
        base = x_ptr + row * size * inner + column
        if KIND == 0:
            acc = tl.full([OUT * K], float("-inf"), dtype=tl.float32)
        elif KIND == 1:
            acc = tl.full([OUT * K], float("inf"), dtype=tl.float32)
        elif KIND == 4:
            acc = tl.full([OUT * K], 1.0, dtype=tl.float32)
        else:
            acc = tl.zeros([OUT * K], dtype=tl.float32)
        nans = tl.zeros([OUT * K], dtype=tl.int32)
        for start in range(0, longest, K):
            p = begin + start + k
            ok = live & (p < end)
            x = tl.load((base + tl.where(ok, p, 0) * inner)[:, None], mask=ok[:, None], other=0)
            x = tl.reshape(x, [OUT * K]).to(tl.float32)
            nans = tl.where(ok & (x != x), 1, nans)
            if KIND == 0:
                acc = tl.where(ok & (x > acc), x, acc)
            elif KIND == 1:
                acc = tl.where(ok & (x < acc), x, acc)
            elif KIND == 4:
                acc = tl.where(ok, acc * x, acc)
            else:
                acc = tl.where(ok, acc + x, acc)
        acc = tl.reshape(acc, [OUT, K])
        bad = tl.max(tl.reshape(nans, [OUT, K]), axis=1) > 0
        count = tl.max(tl.reshape(span, [OUT, K]), axis=1)
        if KIND == 0:
            result = tl.max(acc, axis=1)
            result = tl.where(result > initial, result, initial)
            result = tl.where(bad, float("nan"), result)
        elif KIND == 1:
            result = tl.min(acc, axis=1)
            result = tl.where(result < initial, result, initial)
            result = tl.where(bad, float("nan"), result)
        elif KIND == 4:
            result = tl.reduce(acc, 1, times) * initial
        else:
            result = tl.sum(acc, axis=1) + initial
            if KIND == 3:
                result = tl.div_rn(result, tl.where(count > 0, count, 1).to(tl.float32))
                if not GIVEN:
                    result = tl.where(count > 0, result, float("nan"))
        j = first + tl.arange(0, OUT)
        tl.store(out_ptr + j, result, mask=j < total)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    shape = list(data.shape)
    axis = axis % len(shape)
    size = shape[axis]
    inner = math.prod(shape[axis + 1 :])
    rows = math.prod(shape[:axis])
    segments = lengths.shape[-1] if lengths is not None else offsets.shape[-1] - 1
    out = torch.empty(shape[:axis] + [segments] + shape[axis + 1 :], dtype=data.dtype, device=data.device)
    total = out.numel()
    if total == 0:
        return out
    if lengths is not None:
        table = torch.empty((rows, segments + 1), dtype=torch.int64, device=data.device)
        kernel_offsets[(min(rows, 4096),)](aligned(lengths), table, rows, segments, BLOCK=1024)
    else:
        table = aligned(offsets)
    kind = {"max": 0, "min": 1, "sum": 2, "mean": 3, "prod": 4}[reduce]
    start = float(initial) if initial is not None else (-math.inf, math.inf, 0.0, 0.0, 1.0)[kind]
    k = min(triton.next_power_of_2(max(triton.cdiv(size, segments), 1)), 1024)
    block = 1024 // k
    tiles = triton.cdiv(total, block)
    x = aligned(data) if data.numel() > 0 else table
    kernel_reduce[(min(tiles, 8192),)](
        x, table, out, total, tiles, size, segments, inner, start,
        KIND=kind, GIVEN=initial is not None, OUT=block, K=k,
    )
    return out
