# Generated: the kernel of aten::addcdiv.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def narrowed(b):
    exponent = (b >> 52) & 2047
    digits = b & 0xFFFFFFFFFFFFF
    k = exponent - 896
    t = (tl.maximum(k, 0) << 52) | digits
    normal = (t + 0xFFFFFFF + ((t >> 29) & 1)) >> 29
    normal = tl.where(k >= 255, 0x7F800000, tl.minimum(normal, 0x7F800000))
    full = digits | 0x10000000000000
    s = tl.minimum(tl.maximum(30 - k, 1), 54)
    one = tl.full(s.shape, 1, dtype=tl.int64)
    small = (full + ((one << (s - 1)) - 1) + ((full >> s) & 1)) >> s
    r = tl.where(k <= 0, small, normal)
    r = tl.where((exponent == 2047) & (digits != 0), 0x7FC00000, r)
    r = r | ((b >> 32) & 0x80000000)
    return r.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def fetch(ptr, offsets, mask, number, NUMBER: tl.constexpr, BITS: tl.constexpr, COMMON: tl.constexpr,
          ACC: tl.constexpr, BLOCK: tl.constexpr):
    if NUMBER:
        x = tl.full([BLOCK], number, dtype=ACC)
    else:
        loaded = tl.load(ptr + offsets, mask=mask, other=0)
        if BITS:
            x = narrowed(loaded)
        else:
            x = loaded.to(ACC)
    return x.to(COMMON).to(ACC)


@triton.jit
def kernel_addcdiv(a_ptr, b_ptr, c_ptr, out_ptr, a, b, c, value, n, A: tl.constexpr, B: tl.constexpr,
                   C: tl.constexpr, A64: tl.constexpr, B64: tl.constexpr, C64: tl.constexpr, COMMON: tl.constexpr,
                   ACC: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = fetch(a_ptr, offsets, mask, a, A, A64, COMMON, ACC, BLOCK)
        y = fetch(b_ptr, offsets, mask, b, B, B64, COMMON, ACC, BLOCK)
        z = fetch(c_ptr, offsets, mask, c, C, C64, COMMON, ACC, BLOCK)
        factor = tl.full([BLOCK], value, dtype=ACC)
        result = x + tl.div_rn(factor * y, z)
        result = result.to(COMMON)
        if BITS:
            tl.store(out_ptr + offsets, wide(result.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, result, mask=mask)


def level(dtype):
    if dtype == torch.bool:
        return 0
    return 2 if dtype.is_floating_point else 1


def common_dtype(operands):
    found = [None, None, None]
    for x in operands:
        if torch.is_tensor(x):
            place, dtype = (0 if x.dim() > 0 else 1), x.dtype
        elif isinstance(x, bool):
            place, dtype = 2, torch.bool
        elif isinstance(x, int):
            place, dtype = 2, torch.int64
        else:
            place, dtype = 2, torch.get_default_dtype()
        found[place] = dtype if found[place] is None else torch.promote_types(found[place], dtype)
    result = None
    for dtype in found:
        if dtype is None:
            continue
        if result is None or level(dtype) > level(result):
            result = dtype
    return result


def device_dtype(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    if dtype.is_floating_point:
        return tl.float32
    if dtype == torch.uint8:
        return tl.uint8
    if dtype == torch.int8:
        return tl.int8
    if dtype == torch.int16:
        return tl.int16
    if dtype == torch.int32:
        return tl.int32
    return tl.int64


def is_aligned(x):
    return x.storage_offset() * x.element_size() % 32 == 0


def prepared(x, shape, order, fallback):
    if not torch.is_tensor(x):
        return fallback
    x = torch.broadcast_to(x, shape)
    if len(order) > 1:
        x = x.permute(order)
    x = x.contiguous()
    if not is_aligned(x):
        x = x.clone()
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def plain(x, floating):
    if torch.is_tensor(x):
        x = 0
    return x * 1.0 if floating else math.trunc(x)


def is_bits(x):
    return torch.is_tensor(x) and x.dtype == torch.float64


def wrapper(self, tensor1, tensor2, *, value=1, out):
    n = out.numel()
    if n == 0:
        return out
    common = common_dtype([self, tensor1, tensor2])
    floating = common.is_floating_point
    rank = out.dim()
    order = sorted(range(rank), key=lambda d: -out.stride(d))
    target = out.permute(order) if rank > 1 else out
    direct = target.is_contiguous() and is_aligned(out)
    if not direct:
        order = list(range(rank))
        target = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    shape = list(out.shape)
    bits = out.dtype == torch.float64
    stored = target.view(torch.int64) if bits else target
    a = prepared(self, shape, order, stored)
    b = prepared(tensor1, shape, order, stored)
    c = prepared(tensor2, shape, order, stored)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_addcdiv[grid](
        a, b, c, stored, plain(self, floating), plain(tensor1, floating), plain(tensor2, floating),
        plain(value, floating), n, A=not torch.is_tensor(self), B=not torch.is_tensor(tensor1),
        C=not torch.is_tensor(tensor2), A64=is_bits(self), B64=is_bits(tensor1), C64=is_bits(tensor2),
        COMMON=device_dtype(common), ACC=tl.float32 if floating else tl.int64, BITS=bits, BLOCK=1024
    )
    if not direct:
        out.copy_(target)
    return out
