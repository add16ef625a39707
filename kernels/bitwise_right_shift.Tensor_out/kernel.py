# Generated: the kernel of aten::bitwise_right_shift.Tensor_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def double_of(v):
    # The bits of whole numbers as float64.
    negative = v < 0
    m = tl.where(negative, 0 - v, v)
    top = tl.zeros_like(m)
    rest = m
    for k in tl.static_range(6):
        s = 32 >> k
        big = (rest >> s) > 0
        top += tl.where(big, s, 0)
        rest = tl.where(big, rest >> s, rest)
    left = tl.where(top <= 52, 52 - top, 0)
    right = tl.where(top > 52, top - 52, 0)
    cut = (m << left) >> right
    lost = m - (cut << right)
    half = tl.where(right > 0, (lost * 0 + 1) << tl.maximum(right - 1, 0), 0)
    up = (right > 0) & ((lost > half) | ((lost == half) & ((cut & 1) == 1)))
    cut = cut + tl.where(up, 1, 0)
    bits = cut + ((top + 1022) << 52)
    bits = tl.where(m == 0, 0, bits)
    return tl.where(negative, bits | (-9223372036854775807 - 1), bits)


@triton.jit
def kernel_fill(out_ptr, value):
    tl.store(out_ptr + tl.arange(0, 1), tl.zeros([1], dtype=tl.int64) + value)


@triton.jit
def kernel_shift(a_ptr, b_ptr, out_ptr, n, T: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        a = tl.load(a_ptr + i, mask=mask, other=0).to(T).to(tl.int64)
        b = tl.load(b_ptr + i, mask=mask, other=0).to(T).to(tl.int64)
        # A shift by a negative number, or by all bits, leaves the sign.
        good = (b >= 0) & (b < 63)
        y = (a >> tl.where(good, b, 63)).to(T)
        if BITS:
            tl.store(out_ptr + i, double_of(y.to(tl.int64)), mask=mask)
        else:
            tl.store(out_ptr + i, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def tensor_of(x, dtype, device):
    if isinstance(x, torch.Tensor):
        return x
    t = torch.empty((1,), dtype=dtype, device=device)
    kernel_fill[(1,)](t, int(x))
    return t.reshape([])


def wrapper(self, other, *, out):
    dtype = torch.result_type(self, other)
    n = out.numel()
    if n == 0:
        return out
    a = aligned(tensor_of(self, dtype, out.device).expand(out.shape))
    b = aligned(tensor_of(other, dtype, out.device).expand(out.shape))
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    res = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    kinds = {torch.int8: tl.int8, torch.int16: tl.int16, torch.int32: tl.int32, torch.int64: tl.int64,
             torch.uint8: tl.uint8}
    bits = out.dtype == torch.float64
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_shift[grid](a, b, res.view(torch.int64) if bits else res, n, T=kinds[dtype], BITS=bits, BLOCK=1024)
    if not direct:
        out.copy_(res)
    return out
