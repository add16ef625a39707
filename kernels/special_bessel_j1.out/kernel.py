# Generated: the kernel of aten::special_bessel_j1.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def bessel(x):
    a = tl.abs(x)
    # Up to 5: a rational function of x * x, with the first two zeros as factors; a difference to a zero is taken from
    # x itself, the zero in two parts, so that nothing is lost near it.
    inner = tl.where(a <= 5.0, a, 0.0)
    z = inner * inner
    rp = ((-8.99971225705559398224e8 * z + 4.52228297998194034323e11) * z - 7.27494245221818276015e13) * z + 3.68295732863852883286e15
    rq = z + 6.20836478118054335476e2
    rq = rq * z + 2.56987256757748830383e5
    rq = rq * z + 8.35146791431949253037e7
    rq = rq * z + 2.21511595479792499675e10
    rq = rq * z + 4.74914122079991414898e12
    rq = rq * z + 7.84369607876235854894e14
    rq = rq * z + 8.95222336184627338078e16
    rq = rq * z + 5.32278620332680085395e18
    to_zero = ((inner - 3.83154296875) - 0.00016300145751231561) * (inner + 3.83170597020751231561)
    near = (rp / rq) * to_zero * (z - 4.92184563216946036703e1) * x
    # Beyond: modulus and phase.
    outer = tl.where(a <= 5.0, 5.0, a)
    w = 5.0 / outer
    u = w * w
    # P is 1 and a small difference, which is taken by itself: numerator less denominator.
    pd = 1.908024881356244e-4 * u + 4.2941148186422166354e-3
    pd = pd * u + 0.02205375495623228266
    pd = pd * u + 0.03821565018206156261
    pd = pd * u + 0.02419035814168261170
    pd = pd * u + 0.00468749999999682444
    pd = pd * u
    pq = 5.71323128072548699714e-4 * u + 6.88455908754495404082e-2
    pq = pq * u + 1.10514232634061696926
    pq = pq * u + 5.07386386128601488557
    pq = pq * u + 8.39985554327604159757
    pq = pq * u + 5.20982848682361821619
    pq = pq * u + 1.0
    qp = 5.10862594750176621635e-2 * u + 4.98213872951233449420
    qp = qp * u + 7.58238284132545283818e1
    qp = qp * u + 3.66779609360150777800e2
    qp = qp * u + 7.10856304998926107277e2
    qp = qp * u + 5.97489612400613639965e2
    qp = qp * u + 2.11688757100572135698e2
    qp = qp * u + 2.52070205858023719784e1
    qq = 7.42373277035675149943e1 * u + 1.05644886038262816351e3
    qq = qq * u + 4.98641058337653607651e3
    qq = qq * u + 9.56231892404756170795e3
    qq = qq * u + 7.99704160447350683650e3
    qq = qq * u + 2.82619278517639096600e3
    qq = qq * u + 3.36093607810698293419e2
    p = 1.0 + pd / pq
    q = w * (qp / qq)
    # x - 3 pi / 4 = k * pi / 2 + r, with pi / 4 in three parts of which the first two have exact multiples.
    middle = tl.where(outer < 8192.0, outer, 5.0)
    k = tl.floor((middle - 2.35619449019234492885) * 0.63661977236758134308 + 0.5)
    j = 2.0 * k + 3.0
    r = middle - j * 0.78515625
    r = r - j * 2.4187564849853515625e-4
    r = r - j * 3.77489497744594108e-8
    turned = r + libdevice.atan(q / p)
    cosine = libdevice.cos(turned)
    sine = libdevice.sin(turned)
    quarter = k.to(tl.int32) & 3
    wave = tl.where(quarter == 0, cosine, tl.where(quarter == 1, -sine, tl.where(quarter == 2, -cosine, sine)))
    modulus = tl.sqrt_rn((1.0 + (q * q + (p - 1.0) * (p + 1.0))) / outer) * 0.79788456080286535588
    # Far out: the angle is too large to be reduced in parts; sin and cos do that themselves.
    c = tl.cos(outer)
    s = tl.sin(outer)
    far = (p * (s - c) + q * (s + c)) * 0.56418958354775628695 / tl.sqrt_rn(outer)
    y = tl.where(outer < 8192.0, modulus * wave, far)
    y = tl.where(x < 0, -y, y)
    y = tl.where(a <= 5.0, near, y)
    return tl.where(x == x, y, x)


@triton.jit
def kernel_bessel_j1(x_ptr, out_ptr, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        y = bessel(x)
        if BITS:
            tl.store(out_ptr + offsets, wide(y), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def given(out, result):
    if out is None:
        return result
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def wrapper(input, *, out=None):
    if input.dtype in (torch.float16, torch.bfloat16) or input.is_complex():
        raise NotImplementedError(f"bessel_j1 is not implemented for {input.dtype}")
    dtype = input.dtype if input.is_floating_point() else torch.get_default_dtype()
    if out is not None and not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(f"bessel_j1: result type {dtype} cannot be cast to {out.dtype}")
    stored = dtype if out is None else out.dtype
    result = torch.empty_like(input, dtype=stored)
    if result.is_contiguous() or result.stride() != input.stride():
        input = aligned(input)
        result = torch.empty_like(input, dtype=stored)
    elif input.storage_offset() * input.element_size() % 32 != 0:
        input = input.clone()
    n = input.numel()
    if n > 0:
        bits = stored == torch.float64
        grid = (min(triton.cdiv(n, 1024), 4096),)
        kernel_bessel_j1[grid](input, result.view(torch.int64) if bits else result, n, BITS=bits, BLOCK=1024)
    return given(out, result)
