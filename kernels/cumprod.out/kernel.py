# Generated: the kernel of aten::cumprod.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def wide(x):
    # The bits of float32 numbers as float64, which the device stores but does not compute.
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    exponent = (b >> 23) & 255
    # A subnormal number (or zero) counts units of 2 ** -149: as a float32 it has an exponent to be corrected by 149.
    small = (b & 0x7FFFFF).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    digits = tl.where(exponent == 0, small, b)
    lifted = ((digits >> 23) & 255) + tl.where(exponent == 0, 896 - 149, 896)
    lifted = tl.where(exponent == 255, 2047, lifted)
    number = (lifted << 52) | ((digits & 0x7FFFFF) << 29)
    return ((b & 0x80000000) << 32) | tl.where(small + exponent == 0, 0, number)


@triton.jit
def kernel_cumprod(
    x_ptr,
    out_ptr,
    n,
    rows,
    width,
    DTYPE: tl.constexpr,
    ACC: tl.constexpr,
    BITS: tl.constexpr,
    FLAT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    for task in range(tl.program_id(0), tl.cdiv(rows, BLOCK), tl.num_programs(0)):
        if FLAT:
            lanes = task.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        else:
            lanes = task.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[:, None]
        mask = lanes < rows
        acc = (lanes * 0 + 1).to(ACC)
        base = task.to(tl.int64) * 0
        for k in range(0, n):
            x = tl.load(x_ptr + base + lanes, mask=mask, other=1)
            acc = acc * x.to(DTYPE).to(ACC)
            if BITS:
                tl.store(out_ptr + base + lanes, wide(acc), mask=mask)
            else:
                tl.store(out_ptr + base + lanes, acc.to(DTYPE), mask=mask)
            base += width


def block_type(dtype):
    types = {
        torch.float32: tl.float32,
        torch.bfloat16: tl.bfloat16,
        torch.float16: tl.float16,
        torch.int8: tl.int8,
        torch.uint8: tl.uint8,
        torch.int16: tl.int16,
        torch.int32: tl.int32,
        torch.int64: tl.int64,
    }
    if dtype not in types:
        raise NotImplementedError("cumprod: not implemented for this dtype")
    return types[dtype]


def wrapper(input, dim, *, dtype=None, out=None):
    sizes = list(input.shape)
    rank = max(len(sizes), 1)
    if not -rank <= dim < rank:
        raise IndexError("cumprod: dim is out of range")
    dim = dim % rank
    if out is not None:
        if dtype is not None and dtype != out.dtype:
            raise RuntimeError("cumprod: out has another dtype than the one asked for")
        dtype = out.dtype
    if dtype is None:
        dtype = input.dtype if input.is_floating_point() or input.is_complex() else torch.int64
    bits = dtype == torch.float64
    kind = tl.float32 if bits else block_type(dtype)
    if input.dtype != torch.bool:
        block_type(input.dtype)
    result = torch.empty(sizes, dtype=dtype, device=input.device)
    if result.numel() > 0:
        x = input if sizes else input.reshape([1])
        target = result if sizes else result.reshape([1])
        x = x.movedim(dim, 0)
        target = target.movedim(dim, 0)
        n = x.shape[0]
        rows = x.numel() // n
        width = rows if rows < 32 else triton.cdiv(rows, 32) * 32
        padded = torch.empty([n, width], dtype=x.dtype, device=x.device)
        padded.narrow(1, 0, rows).copy_(x.reshape([n, rows]))
        products = torch.empty([n, width], dtype=dtype, device=x.device)
        block = min(triton.next_power_of_2(rows), 1024)
        kernel_cumprod[(min(triton.cdiv(rows, block), 32768),)](
            padded,
            products.view(torch.int64) if bits else products,
            n,
            rows,
            width,
            DTYPE=kind,
            ACC=tl.float32 if dtype.is_floating_point else tl.int64,
            BITS=bits,
            FLAT=rows >= 32,
            BLOCK=block,
        )
        target.copy_(products.narrow(1, 0, rows).reshape(list(target.shape)))
    if out is not None:
        if list(out.shape) != sizes:
            out.resize_(sizes)
        out.copy_(result)
        return out
    return result
