# Generated: the kernel of aten::avg_pool2d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_avg_pool2d_backward(
    g_ptr, out_ptr, total, C, H, W, OH, OW, sN, sC, sY, sX, kH, kW, dH, dW, padH, padW, divisor, overH, overW,
    INCLUDE_PAD: tl.constexpr, OVERRIDE: tl.constexpr, BLOCK: tl.constexpr,
):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(begin, total, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < total
        w = i % W
        rest = i // W
        h = rest % H
        rest = rest // H
        c = rest % C
        n = rest // C
        base = n * sN + c * sC
        lastH = (h + padH) // dH
        lastW = (w + padW) // dW
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for a in range(0, overH):
            oh = lastH - a
            h0 = oh * dH - padH
            h1 = tl.minimum(h0 + kH, H + padH)
            row_ok = mask & (oh >= 0) & (oh < OH) & (h0 + kH > h)
            high = tl.minimum(h1, H) - tl.maximum(h0, 0)
            for b in range(0, overW):
                ow = lastW - b
                w0 = ow * dW - padW
                w1 = tl.minimum(w0 + kW, W + padW)
                ok = row_ok & (ow >= 0) & (ow < OW) & (w0 + kW > w)
                at = tl.where(ok, base + oh * sY + ow * sX, 0)
                g = tl.reshape(tl.load(g_ptr + at[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
                if OVERRIDE:
                    count = at * 0 + divisor
                elif INCLUDE_PAD:
                    count = (h1 - h0) * (w1 - w0)
                else:
                    count = high * (tl.minimum(w1, W) - tl.maximum(w0, 0))
                count = tl.where(ok, count, 1)
                acc += tl.where(ok, tl.div_rn(g, count.to(tl.float32)), 0.0)
        tl.store(out_ptr + i, acc, mask=mask)


def pair(value):
    if isinstance(value, int):
        return value, value
    values = list(value)
    return values[0], values[len(values) - 1]


def wrapper(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
            *, grad_input):
    total = grad_input.numel()
    if total == 0:
        return grad_input
    kH, kW = pair(kernel_size)
    if stride is None or (not isinstance(stride, int) and len(stride) == 0):
        dH, dW = kH, kW
    else:
        dH, dW = pair(stride)
    padH, padW = pair(padding)
    shape = list(grad_input.shape)
    C, H, W = shape[-3], shape[-2], shape[-1]
    OH, OW = grad_output.shape[-2], grad_output.shape[-1]
    g = grad_output
    if g.storage_offset() * g.element_size() % 32 != 0:
        g = g.clone()
    strides = list(g.stride())
    sN = strides[0] if len(shape) == 4 else 0
    direct = grad_input.is_contiguous() and grad_input.storage_offset() * grad_input.element_size() % 32 == 0
    result = grad_input if direct else torch.empty(shape, dtype=grad_input.dtype, device=grad_input.device)
    overH = min(triton.cdiv(kH, dH), OH + triton.cdiv(padH, dH) + triton.cdiv(H, dH) + 1)
    overW = min(triton.cdiv(kW, dW), OW + triton.cdiv(padW, dW) + triton.cdiv(W, dW) + 1)
    grid = (min(triton.cdiv(total, 256), 16384),)
    kernel_avg_pool2d_backward[grid](
        g, result, total, C, H, W, OH, OW, sN, strides[-3], strides[-2], strides[-1], kH, kW, dH, dW, padH, padW,
        1 if divisor_override is None else divisor_override, overH, overW,
        INCLUDE_PAD=bool(count_include_pad), OVERRIDE=divisor_override is not None, BLOCK=256,
    )
    if not direct:
        grad_input.copy_(result)
    return grad_input
