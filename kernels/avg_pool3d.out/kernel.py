# Generated: the kernel of aten::avg_pool3d.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_pool(
    x_ptr, out_ptr, total, tiles, inner, longest,
    size, outs, window, step, pad,
    high, outs_high, window_high, step_high, pad_high,
    wide, outs_wide, window_wide, step_wide, pad_wide,
    override,
    LAST: tl.constexpr, INCLUDE: tl.constexpr, OVERRIDE: tl.constexpr, ACC: tl.constexpr,
    OUT: tl.constexpr, K: tl.constexpr,
):
    lane = tl.arange(0, OUT * K)
    k = (lane % K).to(tl.int64)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        first = tile.to(tl.int64) * OUT
        i = first + lane // K
        o = (i // inner) % outs
        base = (i // inner // outs) * size * inner + i % inner
        begin = o * step - pad
        end = tl.minimum(begin + window, size)
        begin = tl.maximum(begin, 0)
        acc = tl.zeros([OUT, K], dtype=ACC)
        for chunk in range(0, longest, K):
            at = begin + k + chunk
            valid = (i < total) & (at < end)
            x = tl.load(x_ptr + (base + at * inner)[:, None], mask=valid[:, None], other=0).to(ACC)
            acc += tl.reshape(x, [OUT, K])
        result = tl.sum(acc, axis=1)
        j = first + tl.arange(0, OUT)
        if LAST:
            if OVERRIDE:
                divisor = tl.zeros([OUT], dtype=tl.int64) + override
            else:
                d = ((j // inner) % outs) * step - pad
                h = ((j // outs_wide) % outs_high) * step_high - pad_high
                w = (j % outs_wide) * step_wide - pad_wide
                if INCLUDE:
                    nd = tl.minimum(d + window, size + pad) - d
                    nh = tl.minimum(h + window_high, high + pad_high) - h
                    nw = tl.minimum(w + window_wide, wide + pad_wide) - w
                else:
                    nd = tl.minimum(d + window, size) - tl.maximum(d, 0)
                    nh = tl.minimum(h + window_high, high) - tl.maximum(h, 0)
                    nw = tl.minimum(w + window_wide, wide) - tl.maximum(w, 0)
                divisor = tl.where(j < total, nd * nh * nw, 1)
            if ACC == tl.int64:
                result = result // divisor
            else:
                result = tl.div_rn(result, divisor.to(tl.float32))
        tl.store(out_ptr + j, result, mask=j < total)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def triple(value, what):
    if isinstance(value, int):
        return [int(value)] * 3
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"avg_pool3d: {what} must be an int or a tuple of ints")
    for v in value:
        if not isinstance(v, int):
            raise TypeError(f"avg_pool3d: {what} must be an int or a tuple of ints")
    if len(value) == 1:
        return [int(value[0])] * 3
    if len(value) != 3:
        raise RuntimeError(f"avg_pool3d: {what} must be a single int, or a tuple of three ints")
    return [int(v) for v in value]


def pool(x, out, axis, sizes, outs, windows, steps, pads, override, include, last):
    total = out.numel()
    inner = 1
    for later in range(axis + 1, 3):
        inner = inner * outs[later]
    longest = min(windows[axis], sizes[axis])
    k = min(triton.next_power_of_2(longest), 2048)
    block = 2048 // k
    tiles = triton.cdiv(total, block)
    kernel_pool[(min(tiles, 32768),)](
        x, out, total, tiles, inner, longest,
        sizes[axis], outs[axis], windows[axis], steps[axis], pads[axis],
        sizes[1], outs[1], windows[1], steps[1], pads[1],
        sizes[2], outs[2], windows[2], steps[2], pads[2],
        0 if override is None else override,
        LAST=last, INCLUDE=include, OVERRIDE=override is not None,
        ACC=tl.int64 if x.dtype == torch.int64 else tl.float32,
        OUT=block, K=k,
    )


def wrapper(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, out):
    input, given = self, out
    windows = triple(kernel_size, "kernel_size")
    if stride is None or (isinstance(stride, (tuple, list)) and len(stride) == 0):
        steps = list(windows)
    else:
        steps = triple(stride, "stride")
    pads = triple(padding, "padding")
    rank = input.dim()
    if rank != 4 and rank != 5:
        raise RuntimeError("avg_pool3d: non-empty 4D or 5D (batch mode) tensor expected for input")
    if divisor_override is not None and divisor_override == 0:
        raise RuntimeError("avg_pool3d: divisor must be not zero")
    shape = list(input.shape)
    for size in shape[rank - 4 :]:
        if size <= 0:
            raise RuntimeError("avg_pool3d: expected input's non-batch dimensions to have positive length")
    sizes = shape[-3:]
    outs = []
    for axis in range(3):
        size, window, step, pad = sizes[axis], windows[axis], steps[axis], pads[axis]
        if window <= 0:
            raise RuntimeError("avg_pool3d: kernel size should be greater than zero")
        if step <= 0:
            raise RuntimeError("avg_pool3d: stride should be greater than zero")
        if size < window:
            raise RuntimeError("avg_pool3d: input image smaller than kernel size")
        if pad < 0 or pad > window // 2:
            raise RuntimeError("avg_pool3d: pad should be at least zero and at most half of kernel size")
        count = (size + 2 * pad - window + (step - 1 if ceil_mode else 0)) // step + 1
        if ceil_mode and (count - 1) * step >= size + pad:
            count = count - 1
        if count < 1:
            raise RuntimeError("avg_pool3d: output size is too small")
        outs.append(count)
    if input.dtype not in (torch.float32, torch.float16, torch.bfloat16, torch.int64):
        raise NotImplementedError("avg_pool3d: not implemented for this dtype")
    lead = shape[:-3]
    if given.numel() == 0:
        return given
    out = torch.empty(lead + outs, dtype=given.dtype, device=input.device)
    include = bool(count_include_pad)
    between = torch.int64 if input.dtype == torch.int64 else torch.float32
    planes = math.prod(lead)
    x = aligned(input)
    for axis in (2, 1):
        if windows[axis] == 1 and steps[axis] == 1:
            continue
        middle = [planes] + sizes[:axis] + outs[axis:]
        y = torch.empty(middle, dtype=between, device=input.device)
        pool(x, y, axis, sizes, outs, windows, steps, pads, None, include, False)
        x = y
    pool(x, out, 0, sizes, outs, windows, steps, pads, divisor_override, include, True)
    given.copy_(out)
    return given
