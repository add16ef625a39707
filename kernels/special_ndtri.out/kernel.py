# Generated: the kernel of aten::special_ndtri.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def middle(y):
    t = y * y
    p = -5.99633501014107895267e1
    p = p * t + 9.80010754185999661536e1
    p = p * t - 5.66762857469070293439e1
    p = p * t + 1.39312609387279679503e1
    p = p * t - 1.23916583867381258016e0
    q = t + 1.95448858338141759834e0
    q = q * t + 4.67627912898881538453e0
    q = q * t + 8.63602421390890590575e1
    q = q * t - 2.25462687854119370527e2
    q = q * t + 2.00260212380060660359e2
    q = q * t - 8.20372256168333339912e1
    q = q * t + 1.59056225126211695515e1
    q = q * t - 1.18331621121330003142e0
    return (y + y * (t * p / q)) * 2.50662827463100050242


@triton.jit
def tail_near(z):
    p = z * 4.05544892305962419923e0 + 3.15251094599893866154e1
    p = p * z + 5.71628192246421288162e1
    p = p * z + 4.40805073893200834700e1
    p = p * z + 1.46849561928858024014e1
    p = p * z + 2.18663306850790267539e0
    p = p * z - 1.40256079171354495875e-1
    p = p * z - 3.50424626827848203418e-2
    p = p * z - 8.57456785154685413611e-4
    q = z + 1.57799883256466749731e1
    q = q * z + 4.53907635128879210584e1
    q = q * z + 4.13172038254672030440e1
    q = q * z + 1.50425385692907503408e1
    q = q * z + 2.50464946208309415979e0
    q = q * z - 1.42182922854787788574e-1
    q = q * z - 3.80806407691578277194e-2
    q = q * z - 9.33259480895457427372e-4
    return z * p / q


@triton.jit
def tail_far(z):
    p = z * 3.23774891776946035970e0 + 6.91522889068984211695e0
    p = p * z + 3.93881025292474443415e0
    p = p * z + 1.33303460815807542389e0
    p = p * z + 2.01485389549179081538e-1
    p = p * z + 1.23716634817820021358e-2
    p = p * z + 3.01581553508235416007e-4
    p = p * z + 2.65806974686737550832e-6
    p = p * z + 6.23974539184983293730e-9
    q = z + 6.02427039364742014255e0
    q = q * z + 3.67983563856160859403e0
    q = q * z + 1.37702099489081330271e0
    q = q * z + 2.16236993594496635890e-1
    q = q * z + 1.34204006088543189037e-2
    q = q * z + 3.28014464682127739104e-4
    q = q * z + 2.89247864745380683936e-6
    q = q * z + 6.79019408009981274425e-9
    return z * p / q


@triton.jit
def normal_quantile(v):
    inside = (v > 0) & (v < 1)
    y = tl.where(inside, v, 0.5)
    upper = y > 0.5
    y = tl.where(upper, 1.0 - y, y)
    central = y > 0.13533528323661269189
    # Tails: y is small and exact here, because 1 - v is exact for v above 0.5.
    w = tl.where(central, 0.1, y)
    x = tl.sqrt(-2.0 * libdevice.log(w))
    x0 = x - libdevice.log(x) / x
    z = 1.0 / x
    x1 = tl.where(x < 8.0, tail_near(z), tail_far(z))
    tail = x1 - x0
    m = middle(tl.where(central, y - 0.5, 0.0))
    r = tl.where(central, m, tail)
    r = tl.where(upper, -r, r)
    r = tl.where(v == 0, float("-inf"), r)
    r = tl.where(v == 1, float("inf"), r)
    valid = (v >= 0) & (v <= 1)
    return tl.where(valid, r, float("nan"))


@triton.jit
def kernel_ndtri(x_ptr, out_ptr, n, RESULT: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        y = normal_quantile(x).to(RESULT)
        if BITS:
            tl.store(out_ptr + offsets, wide(y.to(tl.float32)), mask=mask)
        else:
            tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, *, out):
    n = out.numel()
    if n == 0:
        return out
    x = aligned(self)
    result = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    rounded = tl.bfloat16 if self.dtype == torch.bfloat16 else tl.float16 if self.dtype == torch.float16 else tl.float32
    bits = out.dtype == torch.float64
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_ndtri[grid](x, result.view(torch.int64) if bits else result, n, RESULT=rounded, BITS=bits, BLOCK=1024)
    out.copy_(result)
    return out
