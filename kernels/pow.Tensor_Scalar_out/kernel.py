# Generated: the kernel of aten::pow.Tensor_Scalar_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_pow(x_ptr, out_ptr, exponent, n, FORM: tl.constexpr, RESULT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=1).to(tl.float32)
        one = tl.full([BLOCK], 1.0, tl.float32)
        if FORM == 0:
            y = one
        elif FORM == 1:
            y = x
        elif FORM == 2:
            y = x * x
        elif FORM == 3:
            y = x * x * x
        elif FORM == 4:
            y = tl.sqrt_rn(x)
        elif FORM == 5:
            y = tl.div_rn(one, tl.sqrt_rn(x))
        elif FORM == 6:
            y = tl.div_rn(one, x)
        else:
            y = libdevice.pow(x, tl.full([BLOCK], exponent, tl.float32))
        y = y.to(RESULT)
        tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def kernel_integers(x_ptr, out_ptr, exponent, bits, n, RESULT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        base = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.int64)
        y = tl.full([BLOCK], 1, tl.int64)
        left = tl.full([BLOCK], exponent, tl.int64)
        for _ in range(0, bits):
            y = tl.where((left & 1) != 0, y * base, y)
            base = base * base
            left = left >> 1
        y = y.to(RESULT)
        tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def single(value):
    # A number as float32 takes it: beyond its range it is infinite.
    value = float(value)
    if value >= 3.4028235677973366e38:
        return math.inf
    if value <= -3.4028235677973366e38:
        return -math.inf
    return value


def wrapper(self, exponent, *, out):
    if out.shape != self.shape:
        out.resize_(self.shape)
    n = self.numel()
    if n == 0:
        return out
    dtype = torch.result_type(self, exponent)
    floating = dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64)
    x = aligned(self)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(self.shape), dtype=out.dtype, device=out.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    if floating:
        rounded = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
        number = single(exponent)
        if number == 0:
            form = 0
        elif number == 1:
            form = 1
        elif number == 2:
            form = 2
        elif number == 3:
            form = 3
        elif number == 0.5:
            form = 4
        elif number == -0.5:
            form = 5
        elif number == -1:
            form = 6
        else:
            form = 7
        kernel_pow[grid](x, result, number, n, FORM=form, RESULT=rounded, BLOCK=1024)
    else:
        if dtype == torch.int32:
            rounded = tl.int32
        elif dtype == torch.int16:
            rounded = tl.int16
        elif dtype == torch.int8:
            rounded = tl.int8
        elif dtype == torch.uint8:
            rounded = tl.uint8
        else:
            rounded = tl.int64
        number = int(exponent)
        bits = 0
        rest = number
        while rest > 0:
            bits = bits + 1
            rest = rest // 2
        kernel_integers[grid](x, result, number, bits, n, RESULT=rounded, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
