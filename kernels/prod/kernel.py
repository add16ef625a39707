# Generated: the kernel of aten::prod for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def multiply(a, b):
    return a * b


@triton.jit
def kernel_prod(x_ptr, out_ptr, rows, n, row_stride, per_program, BOOL: tl.constexpr, DT: tl.constexpr,
                WIDE: tl.constexpr, BITS: tl.constexpr, BR: tl.constexpr, BN: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    for k in range(0, per_program):
        r = (pid * per_program + k) * BR + tl.arange(0, BR)
        one = tl.full([BR, BN], 1, dtype=WIDE)
        total = one
        for start in range(0, n, BN):
            c = start + tl.arange(0, BN).to(tl.int64)
            mask = (r < rows)[:, None] & (c < n)[None, :]
            x = tl.load(x_ptr + r[:, None] * row_stride + c[None, :], mask=mask, other=0)
            if BOOL:
                total = total * tl.where(mask, (x != 0).to(WIDE), one)
            else:
                total = total * tl.where(mask, x.to(DT).to(WIDE), one)
        y = tl.reduce(total, 1, multiply)
        if BITS:
            y = wide(y)
        tl.store(out_ptr + r, y, mask=r < rows)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def compute_dtype(dtype):
    if dtype == torch.bfloat16:
        return tl.bfloat16
    if dtype == torch.float16:
        return tl.float16
    return tl.float32 if dtype.is_floating_point else tl.int64


def wrapper(input, dim=None, keepdim=False, *, dtype=None):
    if not torch.is_tensor(input):
        raise TypeError("prod: input must be a tensor")
    if dim is not None and not isinstance(dim, int):
        raise TypeError("prod: dim must be an int")
    if dtype is None:
        dtype = input.dtype if input.is_floating_point() else torch.int64
    if input.dtype.is_complex or dtype.is_complex:
        raise NotImplementedError("prod: complex numbers are not supported")
    sizes = list(input.shape)
    rank = len(sizes)
    if dim is None:
        reduced = list(range(rank))
    else:
        if not -max(rank, 1) <= dim < max(rank, 1):
            raise IndexError("prod: dim is out of range")
        reduced = [dim % rank] if rank > 0 else []
    kept = [d for d in range(rank) if d not in reduced]
    if keepdim:
        shape = [1 if d in reduced else sizes[d] for d in range(rank)]
    else:
        shape = [sizes[d] for d in kept]
    result = torch.empty(shape, dtype=dtype, device=input.device)
    if result.numel() == 0:
        return result
    rows = math.prod([sizes[d] for d in kept])
    n = math.prod([sizes[d] for d in reduced])
    row_stride = n
    bits = dtype == torch.float64
    target = result.view(torch.int64) if bits else result
    if n == 0:
        x = target
    else:
        x = input.permute(kept + reduced) if rank > 0 else input
        x = x.reshape((rows, n))
        if rows == 1 or n * x.element_size() % 32 == 0:
            x = aligned(x)
        else:
            row_stride = triton.cdiv(n, 32) * 32
            padded = torch.empty((rows, row_stride), dtype=x.dtype, device=x.device)
            padded.narrow(1, 0, n).copy_(x)
            x = padded
    BN = min(triton.next_power_of_2(max(n, 1)), 1024)
    BR = min(triton.next_power_of_2(rows), max(2048 // BN, 1))
    blocks = triton.cdiv(rows, BR)
    per_program = triton.cdiv(blocks, 65535)
    grid = (triton.cdiv(blocks, per_program),)
    acc = tl.float32 if dtype.is_floating_point else tl.int64
    kernel_prod[grid](x, target, rows, n, row_stride, per_program, BOOL=dtype == torch.bool,
                      DT=compute_dtype(dtype), WIDE=acc, BITS=bits, BR=BR, BN=BN)
    return result
