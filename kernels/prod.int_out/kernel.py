# Generated: the kernel of aten::prod.int_out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def multiply(a, b):
    return a * b


@triton.jit
def kernel_prod(x_ptr, out_ptr, rows, n, row_stride, BOOL: tl.constexpr, DT: tl.constexpr, WIDE: tl.constexpr,
                X64: tl.constexpr, O64: tl.constexpr, BR: tl.constexpr, BN: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BR
    step = tl.num_programs(0).to(tl.int64) * BR
    for base in range(begin, rows, step):
        r = base + tl.arange(0, BR)
        one = tl.full([BR, BN], 1, dtype=WIDE)
        total = one
        for start in range(0, n, BN):
            c = start + tl.arange(0, BN).to(tl.int64)
            mask = (r < rows)[:, None] & (c < n)[None, :]
            x = tl.load(x_ptr + r[:, None] * row_stride + c[None, :], mask=mask, other=0)
            if X64:
                x = narrow(x)
            if BOOL:
                x = (x != 0).to(WIDE)
            else:
                x = x.to(DT).to(WIDE)
            total = total * tl.where(mask, x, one)
        y = tl.reduce(total, 1, multiply)
        if BOOL:
            tl.store(out_ptr + r, y != 0, mask=r < rows)
        elif O64:
            tl.store(out_ptr + r, wide(y), mask=r < rows)
        else:
            tl.store(out_ptr + r, y, mask=r < rows)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def compute_type(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    return tl.float32 if dtype.is_floating_point else tl.int64


def wrapper(self, dim, keepdim=False, *, dtype=None, out):
    if out.numel() == 0:
        return out
    kind = out.dtype
    sizes = list(self.shape)
    rank = len(sizes)
    reduced = [dim % rank] if rank > 0 else []
    kept = [d for d in range(rank) if d not in reduced]
    rows = math.prod([sizes[d] for d in kept])
    n = math.prod([sizes[d] for d in reduced])
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=kind, device=out.device)
    given = result.view(torch.int64) if kind == torch.float64 else result
    x64 = self.dtype == torch.float64 and n > 0
    BN = min(triton.next_power_of_2(max(n, 1)), 1024)
    BR = min(triton.next_power_of_2(rows), max(2048 // BN, 1))
    row_stride = n
    if n == 0:
        x = given
    else:
        x = self.permute(kept + reduced) if rank > 0 else self
        x = x.reshape((rows, n))
        size = x.element_size()
        if rows == 1 or n * size % 32 == 0 or BN * size < 32:
            x = aligned(x)
        else:
            row_stride = triton.cdiv(n * size, 32) * 32 // size
            padded = torch.empty((rows, row_stride), dtype=x.dtype, device=x.device)
            padded.narrow(1, 0, n).copy_(x)
            x = padded
        if x64:
            x = x.view(torch.int64)
    grid = (min(triton.cdiv(rows, BR), 16384),)
    kernel_prod[grid](
        x, given, rows, n, row_stride, BOOL=kind == torch.bool, DT=compute_type(kind),
        WIDE=tl.float32 if kind.is_floating_point else tl.int64, X64=x64, O64=kind == torch.float64, BR=BR, BN=BN,
    )
    if not direct:
        out.copy_(result)
    return out
