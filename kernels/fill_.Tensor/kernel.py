# Generated: the kernel of aten::fill_.Tensor for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def wide(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    exponent = (b >> 23) & 255
    small = (b & 0x7FFFFF).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    digits = tl.where(exponent == 0, small, b)
    lifted = ((digits >> 23) & 255) + tl.where(exponent == 0, 896 - 149, 896)
    lifted = tl.where(exponent == 255, 2047, lifted)
    number = (lifted << 52) | ((digits & 0x7FFFFF) << 29)
    return ((b & 0x80000000) << 32) | tl.where(small + exponent == 0, 0, number)


@triton.jit
def narrow(b):
    # float64 bits to float32, rounded to nearest even.
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
def kernel_fill(value, out_ptr, n, NUMBER: tl.constexpr, WHOLE: tl.constexpr, READ: tl.constexpr,
                BOOL: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    if NUMBER:
        if WHOLE:
            v = tl.full([BLOCK], value, dtype=tl.int64)
        else:
            v = tl.full([BLOCK], value, dtype=tl.float32)
    else:
        v = tl.broadcast_to(tl.load(value), [BLOCK])
    if READ:
        v = narrow(v)
    if BOOL:
        v = v != 0
    if BITS:
        v = wide(v.to(tl.float32))
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, v, mask=offsets < n)


def wrapper(self, value):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    result = self if direct else torch.empty(list(self.shape), dtype=self.dtype, device=self.device)
    double = self.dtype == torch.float64
    number = not torch.is_tensor(value)
    whole = number and not isinstance(value, float)
    read = False
    bits = double
    if number:
        given = int(value) if whole else value
    else:
        given = value
        if given.storage_offset() * given.element_size() % 32 != 0:
            given = given.clone()
        if given.dtype == torch.float64:
            read = not double
            bits = False
            given = given.view(torch.int64)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_fill[grid](
        given, result.view(torch.int64) if double else result, n, NUMBER=number, WHOLE=whole, READ=read,
        BOOL=self.dtype == torch.bool, BITS=bits, BLOCK=1024,
    )
    if not direct:
        self.copy_(result)
    return self
