# Generated: the kernel of aten::special_modified_bessel_k0.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def bessel(x):
    z = x * x
    q = 0.25 * z
    i0 = tl.full(x.shape, 1.0, tl.float32)
    for i in tl.static_range(0, 9):
        i0 = 1.0 + i0 * (q * (1.0 / ((9 - i) * (9 - i))))
    y = z - 2.0
    a = 1.03496952576338420167e-11 * y + 1.90451637722020886025e-9
    b = y * a + (2.53479107902614945675e-7 - 1.03496952576338420167e-11)
    a = y * b - a + 2.28621210311945178607e-5
    b = y * a - b + 1.26461541144692592338e-3
    a = y * b - a + 3.59799365153615016266e-2
    b = y * a - b + 3.44289899924628486886e-1
    small = 0.5 * y * b - a + 0.5 * -5.35327393233902768720e-1
    lg = tl.where(x < 1e-30, libdevice.log(x) - 0.6931471805599453, libdevice.log(0.5 * x))
    small = small - lg * i0
    y = 8.0 / x - 2.0
    a = -7.95748924447710747776e-11 * y + 3.57739728140030116597e-10
    b = y * a + (-1.69753450938905987466e-9 + 7.95748924447710747776e-11)
    a = y * b - a + 8.57403401741422608519e-9
    b = y * a - b + -4.66048989768794782956e-8
    a = y * b - a + 2.76681363944501510342e-7
    b = y * a - b + -1.83175552271911948767e-6
    a = y * b - a + 1.39498137188764993662e-5
    b = y * a - b + -1.28495495816278026384e-4
    a = y * b - a + 1.56988388573005337491e-3
    b = y * a - b + -3.14481013119645005427e-2
    large = 0.5 * y * b - a + 0.5 * 2.44030308206595545468
    half = libdevice.exp(-0.5 * x)
    large = half * (large / tl.sqrt(x)) * half
    r = tl.where(x <= 2.0, small, large)
    r = tl.where(x == 0, float("inf"), r)
    return tl.where(x < 0, float("nan"), r)


@triton.jit
def kernel_bessel_k0(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
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
    kernel_bessel_k0[(min(triton.cdiv(n, 1024), 4096),)](x, result, n, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
