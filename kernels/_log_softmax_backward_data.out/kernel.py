# Generated: the kernel of aten::_log_softmax_backward_data.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_log_softmax_backward(g_ptr, y_ptr, out_ptr, groups, lines, n, pitch, GW: tl.constexpr, YW: tl.constexpr,
                                OW: tl.constexpr, LINES: tl.constexpr, BLOCK: tl.constexpr):
    for group in range(tl.program_id(0).to(tl.int64), groups, tl.num_programs(0)):
        line = group * LINES + tl.arange(0, LINES)
        base = line[:, None] * pitch
        valid = line[:, None] < lines
        total = tl.zeros([LINES], dtype=tl.float32)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            g = single(tl.load(g_ptr + base + k[None, :], mask=mask, other=0), GW)
            total = total + tl.sum(tl.where(mask, g, 0.0), axis=1)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            g = single(tl.load(g_ptr + base + k[None, :], mask=mask, other=0), GW)
            y = single(tl.load(y_ptr + base + k[None, :], mask=mask, other=0), YW)
            r = g - tl.exp(y) * total[:, None]
            if OW:
                tl.store(out_ptr + base + k[None, :], double(r), mask=mask)
            else:
                tl.store(out_ptr + base + k[None, :], r.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def single(v, WIDE: tl.constexpr):
    # A double by its bits, rounded to the nearest float.
    if WIDE:
        mag = v & 0x7fffffffffffffff
        r = ((mag + 0xfffffff + ((mag >> 29) & 1)) >> 29) - 7516192768
        e = mag >> 52
        shift = tl.where(e > 896, 30, tl.where(e < 864, 62, 926 - e))
        tiny = ((((v & 0xfffffffffffff) | 0x10000000000000) >> (shift - 1)) + 1) >> 1
        r = tl.where(e <= 896, tiny, r)
        r = tl.where(r > 0x7f800000, 0x7f800000, r)
        r = tl.where(mag > 0x7ff0000000000000, 0x7fc00000, r)
        sign = (v >> 63).to(tl.int32) << 31
        f = (r.to(tl.int32) | sign).to(tl.float32, bitcast=True)
    else:
        f = v.to(tl.float32)
    return f


@triton.jit
def double(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    e = (b >> 23) & 255
    m = b & 0x7fffff
    s = m.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    tiny = (((s >> 23) + 747) << 52) | ((s & 0x7fffff) << 29)
    tiny = tl.where(m == 0, m, tiny)
    huge = (m << 29) | 0x7ff0000000000000
    r = tl.where(e == 0, tiny, tl.where(e == 255, huge, ((e + 896) << 52) | (m << 29)))
    return ((b & 0x80000000) << 32) | r


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def ready(x):
    return x.is_contiguous() and x.storage_offset() * x.element_size() % 32 == 0


def prepared(x, n, pitch):
    # The reduced axis is the last one; rows begin on multiples of 32 bytes.
    if pitch == n:
        x = x.contiguous()
        return x if ready(x) else x.clone()
    padded = torch.empty(list(x.shape)[:-1] + [pitch], dtype=x.dtype, device=x.device)
    padded.narrow(-1, 0, n).copy_(x)
    return padded


def wrapper(grad_output, output, dim, input_dtype, *, out):
    if out.numel() == 0:
        return out
    g, y, target = grad_output, output, out
    if target.dim() == 0:
        g, y, target = g.unsqueeze(0), y.unsqueeze(0), target.unsqueeze(0)
    dim = dim % target.dim()
    g, y, target = g.movedim(dim, -1), y.movedim(dim, -1), target.movedim(dim, -1)
    sizes = list(target.shape)
    n = sizes[-1]
    lines = math.prod(sizes[:-1])
    pitch = triton.cdiv(n, 32) * 32
    g = prepared(g, n, pitch)
    y = prepared(y, n, pitch)
    direct = pitch == n and ready(target)
    result = target
    if not direct:
        result = torch.empty(sizes[:-1] + [pitch], dtype=target.dtype, device=target.device)
    block = min(max(triton.next_power_of_2(n), 32), 2048)
    rows = max(min(triton.next_power_of_2(lines), 4096 // block), 1)
    groups = triton.cdiv(lines, rows)
    grid = (min(groups, 4096),)
    kernel_log_softmax_backward[grid](bits(g), bits(y), bits(result), groups, lines, n, pitch,
                                      GW=g.dtype == torch.float64, YW=y.dtype == torch.float64,
                                      OW=result.dtype == torch.float64, LINES=rows, BLOCK=block)
    if not direct:
        target.copy_(result.narrow(-1, 0, n))
    return out
