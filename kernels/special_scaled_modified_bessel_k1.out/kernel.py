# Generated: the kernel of aten::special_scaled_modified_bessel_k1.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def bessel(x):
    z = x * x
    q = 0.25 * z
    i1 = tl.full(x.shape, 1.0, tl.float32)
    for i in tl.static_range(0, 9):
        i1 = 1.0 + i1 * (q * (1.0 / ((9 - i) * (10 - i))))
    i1 = (0.5 * i1) * x
    y = z - 2.0
    a = -1.41148839263352776110e-10 * y + -2.21338763073472585583e-8
    b = y * a + (-2.43340614156596823496e-6 + 1.41148839263352776110e-10)
    a = y * b - a + -1.73028895751305206302e-4
    b = y * a - b + -6.97572385963986435018e-3
    a = y * b - a + -1.22611180822657148235e-1
    b = y * a - b + -3.53155960776544875667e-1
    small = 0.5 * y * b - a + 0.5 * 1.52530022733894777053
    small = tl.where(x < 1e-5, 1.0, small)
    lg = tl.where(x < 1e-30, libdevice.log(x) - 0.6931471805599453, libdevice.log(0.5 * x))
    small = (tl.div_rn(small, x) + lg * i1) * libdevice.exp(x)
    y = 8.0 / x - 2.0
    a = 9.21831518760500529508e-11 * y + -4.19035475934189648750e-10
    b = y * a + (2.01504975519703286596e-9 - 9.21831518760500529508e-11)
    a = y * b - a + -1.03457624656780970260e-8
    b = y * a - b + 5.74108412545004946722e-8
    a = y * b - a + -3.50196060308781257119e-7
    b = y * a - b + 2.40648494783721712015e-6
    a = y * b - a + -1.93619797416608296024e-5
    b = y * a - b + 1.95215518471351631108e-4
    a = y * b - a + -2.85781685962277938680e-3
    b = y * a - b + 1.03923736576817238437e-1
    large = 0.5 * y * b - a + 0.5 * 2.72062619048444266945
    large = large / tl.sqrt(x)
    r = tl.where(x <= 2.0, small, large)
    r = tl.where(x == 0, float("inf"), r)
    return tl.where(x < 0, float("nan"), r)


@triton.jit
def kernel_scaled_bessel_k1(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
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


def wrapper(x, *, out):
    n = out.numel()
    if n == 0:
        return out
    source = aligned(x)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    kernel_scaled_bessel_k1[(min(triton.cdiv(n, 1024), 4096),)](source, result, n, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
