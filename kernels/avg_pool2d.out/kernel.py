# Generated: the kernel of aten::avg_pool2d.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_avg_pool2d(
    x_ptr, out_ptr, total, C, H, W, OH, OW, sN, sC, sY, sX, kH, kW, dH, dW, padH, padW, divisor,
    INCLUDE_PAD: tl.constexpr, OVERRIDE: tl.constexpr, FLOAT: tl.constexpr, BLOCK: tl.constexpr,
):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(begin, total, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < total
        ow = i % OW
        rest = i // OW
        oh = rest % OH
        rest = rest // OH
        c = rest % C
        n = rest // C
        h0 = oh * dH - padH
        w0 = ow * dW - padW
        h1 = tl.minimum(h0 + kH, H + padH)
        w1 = tl.minimum(w0 + kW, W + padW)
        pool = (h1 - h0) * (w1 - w0)
        hs = tl.maximum(h0, 0)
        ws = tl.maximum(w0, 0)
        he = tl.minimum(h1, H)
        we = tl.minimum(w1, W)
        filled = (hs < he) & (ws < we)
        base = n * sN + c * sC
        if FLOAT:
            acc = tl.zeros([BLOCK], dtype=tl.float32)
        else:
            acc = tl.zeros([BLOCK], dtype=tl.int64)
        for a in range(0, kH):
            h = h0 + a
            row_ok = mask & (h >= 0) & (h < H)
            row = base + h * sY
            for b in range(0, kW):
                w = w0 + b
                ok = row_ok & (w >= 0) & (w < W)
                at = tl.where(ok, row + w * sX, 0)
                x = tl.reshape(tl.load(x_ptr + at[:, None], mask=ok[:, None], other=0), [BLOCK])
                if FLOAT:
                    acc += x.to(tl.float32)
                else:
                    acc += x.to(tl.int64)
        if OVERRIDE:
            count = pool * 0 + divisor
        elif INCLUDE_PAD:
            count = pool
        else:
            count = (he - hs) * (we - ws)
        count = tl.where(filled, count, 1)
        if FLOAT:
            y = tl.div_rn(acc, count.to(tl.float32))
            y = tl.where(filled, y, 0.0)
        else:
            y = acc // count
            y = tl.where(filled, y, 0)
        tl.store(out_ptr + i, y, mask=mask)


def pair(value):
    if isinstance(value, int):
        return value, value
    values = list(value)
    return values[0], values[len(values) - 1]


def wrapper(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None,
            *, out):
    total = out.numel()
    if total == 0:
        return out
    kH, kW = pair(kernel_size)
    if stride is None or (not isinstance(stride, int) and len(stride) == 0):
        dH, dW = kH, kW
    else:
        dH, dW = pair(stride)
    padH, padW = pair(padding)
    shape = list(self.shape)
    C, H, W = shape[-3], shape[-2], shape[-1]
    OH, OW = out.shape[-2], out.shape[-1]
    x = self
    if x.storage_offset() * x.element_size() % 32 != 0:
        x = x.clone()
    strides = list(x.stride())
    sN = strides[0] if len(shape) == 4 else 0
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    grid = (min(triton.cdiv(total, 256), 16384),)
    kernel_avg_pool2d[grid](
        x, result, total, C, H, W, OH, OW, sN, strides[-3], strides[-2], strides[-1], kH, kW, dH, dW, padH, padW,
        1 if divisor_override is None else divisor_override,
        INCLUDE_PAD=bool(count_include_pad), OVERRIDE=divisor_override is not None,
        FLOAT=self.is_floating_point(), BLOCK=256,
    )
    if not direct:
        out.copy_(result)
    return out
