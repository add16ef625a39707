# Generated: the kernel of aten::_softmax.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_softmax(x_ptr, out_ptr, groups, lines, n, pitch, WIDE: tl.constexpr, LINES: tl.constexpr,
                   BLOCK: tl.constexpr):
    for group in range(tl.program_id(0).to(tl.int64), groups, tl.num_programs(0)):
        line = group * LINES + tl.arange(0, LINES)
        base = line[:, None] * pitch
        valid = line[:, None] < lines
        top = tl.full([LINES], float("-inf"), tl.float32)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            x = tl.load(x_ptr + base + k[None, :], mask=mask, other=0).to(tl.float32)
            top = tl.maximum(top, tl.max(tl.where(mask, x, float("-inf")), axis=1))
        total = tl.zeros([LINES], dtype=tl.float32)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            x = tl.load(x_ptr + base + k[None, :], mask=mask, other=0).to(tl.float32)
            total = total + tl.sum(tl.where(mask, tl.exp(x - top[:, None]), 0.0), axis=1)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            x = tl.load(x_ptr + base + k[None, :], mask=mask, other=0).to(tl.float32)
            y = tl.exp(x - top[:, None]) / total[:, None]
            if WIDE:
                tl.store(out_ptr + base + k[None, :], encode(y), mask=mask)
            else:
                tl.store(out_ptr + base + k[None, :], y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def encode(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    e = (b >> 23) & 255
    m = b & 0x7fffff
    s = m.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    tiny = (((s >> 23) + 747) << 52) | ((s & 0x7fffff) << 29)
    tiny = tl.where(m == 0, m, tiny)
    huge = (m << 29) | 0x7ff0000000000000
    r = tl.where(e == 0, tiny, tl.where(e == 255, huge, ((e + 896) << 52) | (m << 29)))
    return ((b & 0x80000000) << 32) | r


@triton.jit
def decode(b):
    # The double as a sum of two floats; finite numbers beyond float32 become its largest one.
    sign = (b >> 63).to(tl.int32) << 31
    e = ((b >> 52) & 2047).to(tl.int32)
    m = b & 0xfffffffffffff
    h = ((e - 896) << 23) | (m >> 29).to(tl.int32)
    h = tl.where(e >= 1151, 0x7f7fffff, h)
    h = tl.where(e <= 896, 0, h)
    h = tl.where(e == 2047, tl.where(m != 0, 0x7fc00000, 0x7f800000), h)
    hi = (h | sign).to(tl.float32, bitcast=True)
    p = tl.where((e > 948) & (e < 1151), (e - 948) << 23, 0) | sign
    lo = (m & 0x1fffffff).to(tl.int32).to(tl.float32) * p.to(tl.float32, bitcast=True)
    return hi, lo


@triton.jit
def ordered(b):
    return b ^ ((b >> 63) & 0x7fffffffffffffff)


@triton.jit
def below(b, top, thi, tlo):
    hi, lo = decode(b)
    return tl.where((tl.abs(hi) > 1e30) & (b != top), float("-inf"), (hi - thi) + (lo - tlo)) + 0.0 * (thi - thi)


@triton.jit
def kernel_softmax_wide(x_ptr, out_ptr, groups, lines, n, pitch, WIDE: tl.constexpr, LINES: tl.constexpr,
                        BLOCK: tl.constexpr):
    for group in range(tl.program_id(0).to(tl.int64), groups, tl.num_programs(0)):
        line = group * LINES + tl.arange(0, LINES)
        base = line[:, None] * pitch
        valid = line[:, None] < lines
        best = tl.full([LINES], -0x7fffffffffffffff, tl.int64)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            b = tl.load(x_ptr + base + k[None, :], mask=mask, other=0)
            best = tl.maximum(best, tl.max(tl.where(mask, ordered(b), -0x7fffffffffffffff), axis=1))
        top = ordered(best)[:, None]
        thi, tlo = decode(top)
        total = tl.zeros([LINES], dtype=tl.float32)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            b = tl.load(x_ptr + base + k[None, :], mask=mask, other=0)
            total = total + tl.sum(tl.where(mask, tl.exp(below(b, top, thi, tlo)), 0.0), axis=1)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            b = tl.load(x_ptr + base + k[None, :], mask=mask, other=0)
            y = tl.exp(below(b, top, thi, tlo)) / total[:, None]
            if WIDE:
                tl.store(out_ptr + base + k[None, :], encode(y), mask=mask)
            else:
                tl.store(out_ptr + base + k[None, :], y.to(out_ptr.dtype.element_ty), mask=mask)


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


def wrapper(self, dim, half_to_float, *, out):
    if out.numel() == 0:
        return out
    source, target = self, out
    if self.dim() == 0:
        source, target = source.unsqueeze(0), target.unsqueeze(0)
    dim = dim % source.dim()
    source, target = source.movedim(dim, -1), target.movedim(dim, -1)
    sizes = list(source.shape)
    n = sizes[-1]
    lines = math.prod(sizes[:-1])
    pitch = triton.cdiv(n, 32) * 32
    x = prepared(source, n, pitch)
    direct = pitch == n and ready(target)
    y = target if direct else torch.empty(sizes[:-1] + [pitch], dtype=out.dtype, device=out.device)
    block = min(max(triton.next_power_of_2(n), 32), 2048)
    rows = max(min(triton.next_power_of_2(lines), 4096 // block), 1)
    groups = triton.cdiv(lines, rows)
    wide = out.dtype == torch.float64
    z = y.view(torch.int64) if wide else y
    if self.dtype == torch.float64:
        kernel_softmax_wide[(min(groups, 4096),)](x.view(torch.int64), z, groups, lines, n, pitch, WIDE=wide,
                                                  LINES=rows, BLOCK=block)
    else:
        kernel_softmax[(min(groups, 4096),)](x, z, groups, lines, n, pitch, WIDE=wide, LINES=rows, BLOCK=block)
    if not direct:
        target.copy_(y.narrow(-1, 0, n))
    return out
