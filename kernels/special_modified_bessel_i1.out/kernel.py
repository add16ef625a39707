# Generated: the kernel of aten::special_modified_bessel_i1.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def bessel(v):
    x = tl.abs(v)
    q = 0.25 * (x * x)
    small = tl.full(x.shape, 1.0, tl.float32)
    for i in tl.static_range(0, 18):
        small = 1.0 + small * (q * (1.0 / ((18 - i) * (19 - i))))
    small = (0.5 * small) * x
    y = 32.0 / x - 2.0
    a = -1.89749581235054123450e-11 * y + -5.58974346219658380687e-10
    b = y * a + (-3.83538038596423702205e-9 + 1.89749581235054123450e-11)
    a = y * b - a + -2.63146884688951950684e-8
    b = y * a - b + -2.51223623787020892529e-7
    a = y * b - a + -3.88256480887769039346e-6
    b = y * a - b + -1.10588938762623716291e-4
    a = y * b - a + -9.76109749136146840777e-3
    large = 0.5 * y * a - b + 0.5 * 7.78576235018280120474e-1
    half = libdevice.exp(0.5 * x)
    large = half * (large / tl.sqrt(x)) * half
    r = tl.where(x <= 8.0, small, large)
    return tl.where(v < 0, -r, tl.where(v == 0, v, r))


@triton.jit
def kernel_bessel_i1(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
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
    kernel_bessel_i1[(min(triton.cdiv(n, 1024), 4096),)](x, result, n, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
