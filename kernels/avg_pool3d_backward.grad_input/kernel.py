# Generated: the kernel of aten::avg_pool3d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_spread(
    g_ptr, out_ptr, total, inner, size, outs, window, stride, pad, count, override,
    INCLUDE: tl.constexpr, OVERRIDE: tl.constexpr, LAST: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        line = i // inner
        at = line % size
        base = g_ptr + (line // size) * outs * inner + i % inner
        newest = (at + pad) // stride
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, count):
            o = newest - j
            begin = o * stride - pad
            ok = mask & (o >= 0) & (o < outs) & (begin <= at) & (begin + window > at)
            g = tl.reshape(tl.load((base + o * inner)[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
            if not OVERRIDE:
                if INCLUDE:
                    n = tl.minimum(begin + window, size + pad) - begin
                else:
                    n = tl.minimum(begin + window, size) - tl.maximum(begin, 0)
                n = tl.where(ok, n, 1)
                g = tl.div_rn(g, n.to(tl.float32))
            acc += tl.where(ok, g, 0.0)
        if OVERRIDE:
            if LAST:
                acc = tl.div_rn(acc, tl.zeros([BLOCK], dtype=tl.float32) + override)
        tl.store(out_ptr + i, acc, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def triple(value):
    if isinstance(value, int):
        return [value] * 3
    return [value[0]] * 3 if len(value) == 1 else [value[0], value[1], value[2]]


def wrapper(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, *, grad_input):
    if grad_input.numel() == 0:
        return grad_input
    windows = triple(kernel_size)
    strides = list(windows)
    if stride is not None and (isinstance(stride, int) or len(stride) > 0):
        strides = triple(stride)
    pads = triple(padding)
    sizes = list(grad_input.shape)[-3:]
    outs = list(grad_output.shape)[-3:]
    planes = math.prod(list(grad_input.shape)[:-3])
    g = aligned(grad_output)
    for axis in (2, 1, 0):
        last = axis == 0
        shape = [planes] + outs[:axis] + sizes[axis:]
        dtype = grad_input.dtype if last else torch.float32
        result = torch.empty(shape, dtype=dtype, device=self.device)
        total = math.prod(shape)
        if total > 0:
            count = min(triton.cdiv(windows[axis], strides[axis]), (sizes[axis] + pads[axis]) // strides[axis] + 1)
            kernel_spread[(min(triton.cdiv(total, 512), 8192),)](
                g, result, total, math.prod(sizes[axis + 1 :]), sizes[axis], outs[axis],
                windows[axis], strides[axis], pads[axis], count,
                1.0 if divisor_override is None else float(divisor_override),
                INCLUDE=bool(count_include_pad), OVERRIDE=divisor_override is not None, LAST=last, BLOCK=512,
            )
        g = result
    grad_input.copy_(g.reshape(list(grad_input.shape)))
    return grad_input
