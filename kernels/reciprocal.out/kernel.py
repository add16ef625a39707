# Generated: the kernel of aten::reciprocal.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def to_single(b):
    e = ((b >> 52) & 2047) - 896
    f = b & 0xFFFFFFFFFFFFF
    m = tl.where(e > 0, (e << 52) | f, f | (1 << 52))
    s = tl.where(e > 0, 29, tl.minimum(30 - e, 60))
    half = (tl.zeros_like(b) + 1) << (s - 1)
    v = tl.minimum((m + half - 1 + ((m >> s) & 1)) >> s, 0x7F800000)
    v = tl.where((e == 1151) & (f != 0), 0x7FC00000, v)
    return (v | ((b >> 63) << 31)).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def to_double(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    e = (b >> 23) & 255
    f = b & 0x7FFFFF
    s = f.to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    low = tl.where(f == 0, 0, (((s >> 23) + 747) << 52) | ((s & 0x7FFFFF) << 29))
    v = (tl.where(e == 255, 2047, e + 896) << 52) | (f << 29)
    return tl.where(e == 0, low, v) | ((b >> 63) << 63)


@triton.jit
def kernel_reciprocal(x_ptr, out_ptr, n, RESULT: tl.constexpr, FROM: tl.constexpr, INTO: tl.constexpr,
                      BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    one = tl.full([BLOCK], 1.0, tl.float32)
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        if FROM:
            x = to_single(tl.load(x_ptr + offsets, mask=mask, other=1023 << 52))
        else:
            x = tl.load(x_ptr + offsets, mask=mask, other=1).to(tl.float32)
        y = tl.div_rn(one, x).to(RESULT)
        if INTO:
            tl.store(out_ptr + offsets, to_double(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, *, out):
    n = out.numel()
    if n == 0:
        return out
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    x = aligned(self)
    result = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    dtype = self.dtype
    rounded = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
    source = dtype == torch.float64
    double = out.dtype == torch.float64
    kernel_reciprocal[(min(triton.cdiv(n, 1024), 4096),)](
        x.view(torch.int64) if source else x, result.view(torch.int64) if double else result, n,
        RESULT=rounded, FROM=source, INTO=double, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
