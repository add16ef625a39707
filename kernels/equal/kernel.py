# Generated: the kernel of aten::equal for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def narrow(b):
    sign = ((b >> 63) & 1) << 31
    e = ((b >> 52) & 2047) - 896
    m = b & 0xFFFFFFFFFFFFF
    full = m | (1 << 52)
    s = tl.minimum(29 + tl.maximum(1 - e, 0), 60)
    q = full >> s
    rest = full - (q << s)
    half = (full * 0 + 1) << (s - 1)
    q += ((rest > half) | ((rest == half) & ((q & 1) == 1))).to(tl.int64)
    r = tl.minimum(((tl.maximum(e, 1) - 1) << 23) + q, 0x7F800000)
    r = tl.where((e == 2047 - 896) & (m != 0), 0x7FC00000, r)
    return (r | sign).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def fetch(p, offsets, mask, DOUBLE: tl.constexpr, DT: tl.constexpr, FLOAT: tl.constexpr):
    v = tl.load(p + offsets, mask=mask, other=0)
    if DOUBLE:
        v = narrow(v)
    v = v.to(DT)
    if FLOAT:
        v = v.to(tl.float32)
    return v


@triton.jit
def kernel_differ(x_ptr, y_ptr, flags_ptr, n, X64: tl.constexpr, Y64: tl.constexpr, BOTH64: tl.constexpr,
                  DT: tl.constexpr, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    found = tl.zeros([BLOCK], dtype=tl.int32)
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        if BOTH64:
            x = tl.load(x_ptr + offsets, mask=mask, other=0)
            y = tl.load(y_ptr + offsets, mask=mask, other=0)
            size = x & 0x7FFFFFFFFFFFFFFF
            other = y & 0x7FFFFFFFFFFFFFFF
            bad = ((x != y) & ((size | other) != 0)) | (size > 0x7FF0000000000000)
        else:
            x = fetch(x_ptr, offsets, mask, X64, DT, FLOAT)
            y = fetch(y_ptr, offsets, mask, Y64, DT, FLOAT)
            bad = x != y
        found = found | (bad & mask).to(tl.int32)
    tl.store(flags_ptr + tl.program_id(0), tl.max(found, axis=0))


@triton.jit
def kernel_any(flags_ptr, out_ptr, n, BLOCK: tl.constexpr):
    found = tl.zeros([BLOCK], dtype=tl.int32)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        found = found | tl.load(flags_ptr + offsets, mask=offsets < n, other=0)
    tl.store(out_ptr, tl.max(found, axis=0))


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def block_type(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    if dtype.is_floating_point:
        return tl.float32
    if dtype == torch.int8:
        return tl.int8
    if dtype == torch.int16:
        return tl.int16
    if dtype == torch.int32 or dtype == torch.bool:
        return tl.int32
    if dtype == torch.uint8:
        return tl.uint8
    return tl.int64


def wrapper(self, other):
    if list(self.shape) != list(other.shape):
        return False
    n = self.numel()
    if n == 0:
        return True
    dtype = torch.promote_types(self.dtype, other.dtype)
    x, y = aligned(self), aligned(other)
    x64, y64 = x.dtype == torch.float64, y.dtype == torch.float64
    programs = min(triton.cdiv(n, 1024), 1024)
    flags = torch.empty((programs,), dtype=torch.int32, device=self.device)
    flag = torch.empty((1,), dtype=torch.int32, device=self.device)
    kernel_differ[(programs,)](
        x.view(torch.int64) if x64 else x, y.view(torch.int64) if y64 else y, flags, n, X64=x64, Y64=y64,
        BOTH64=x64 and y64, DT=block_type(dtype), FLOAT=dtype.is_floating_point, BLOCK=1024,
    )
    kernel_any[(1,)](flags, flag, programs, BLOCK=1024)
    return flag.item() == 0
