# Generated: the kernel of aten::special_modified_bessel_i0.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def bessel(v):
    x = tl.abs(v)
    q = 0.25 * (x * x)
    small = tl.full(x.shape, 1.0, tl.float32)
    for i in tl.static_range(0, 18):
        small = 1.0 + small * (q * (1.0 / ((18 - i) * (18 - i))))
    y = 32.0 / x - 2.0
    a = 1.18891471078464383424e-11 * y + 4.94060238822496958910e-10
    b = y * a + (3.39623202570838634515e-9 - 1.18891471078464383424e-11)
    a = y * b - a + 2.26666899049817806459e-8
    b = y * a - b + 2.04891858946906374183e-7
    a = y * b - a + 2.89137052083475648297e-6
    b = y * a - b + 6.88975834691682398426e-5
    a = y * b - a + 3.36911647825569408990e-3
    large = 0.5 * y * a - b + 0.5 * 8.04490411014108831608e-1
    half = libdevice.exp(0.5 * x)
    large = half * (large / tl.sqrt(x)) * half
    return tl.where(x <= 8.0, small, large)


@triton.jit
def kernel_bessel_i0(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        v = tl.load(x_ptr + offsets, mask=mask, other=1).to(tl.float32)
        tl.store(out_ptr + offsets, bessel(v).to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    if x.storage_offset() * x.element_size() % 32 != 0:
        x = x.clone()
    return x.view(torch.uint8) if x.dtype == torch.bool else x


def wrapper(self, *, out):
    n = out.numel()
    if n == 0:
        return out
    x = aligned(self)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    kernel_bessel_i0[(min(triton.cdiv(n, 1024), 4096),)](x, result, n, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
