# Generated: the kernel of aten::std.correction for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_std(x_ptr, out_ptr, rows, n, count, divisor, CAST: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    for row in range(pid, rows, tl.num_programs(0)):
        base = x_ptr + row * n
        total = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK).to(tl.int64)
            x = tl.load(base + k[:, None], mask=(k < n)[:, None], other=0)
            total += tl.reshape(x, [BLOCK]).to(CAST).to(tl.float32)
        mean = tl.sum(total, axis=0) / count
        squares = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK).to(tl.int64)
            x = tl.load(base + k[:, None], mask=(k < n)[:, None], other=0)
            d = tl.reshape(x, [BLOCK]).to(CAST).to(tl.float32) - mean
            squares += tl.where(k < n, d * d, 0.0)
        variance = tl.sum(squares, axis=0) / divisor
        if BITS:
            tl.store(out_ptr + row, wide(tl.sqrt(variance)))
        else:
            tl.store(out_ptr + row, tl.sqrt(variance))


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(input, dim=None, unbiased=None, *, correction=None, keepdim=False, out=None):
    if not input.is_floating_point():
        raise RuntimeError("std only support floating point and complex dtypes")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    if correction is None:
        correction = 1
    sizes = list(input.shape)
    rank = len(sizes)
    limit = max(rank, 1)
    if dim is None:
        dims = []
    elif isinstance(dim, int):
        dims = [dim]
    else:
        dims = [int(d) for d in dim]
    reduced = []
    for d in dims:
        if not -limit <= d < limit:
            raise IndexError("Dimension out of range")
        d = d % limit
        if d in reduced:
            raise RuntimeError("dim appears multiple times in the list of dims")
        reduced.append(d)
    if not reduced:
        reduced = list(range(rank))
    if rank == 0:
        reduced = []
    kept = [d for d in range(rank) if d not in reduced]
    if keepdim:
        shape = [1 if d in reduced else sizes[d] for d in range(rank)]
    else:
        shape = [sizes[d] for d in kept]
    rows = math.prod([sizes[d] for d in kept])
    n = math.prod([sizes[d] for d in reduced])
    if out is not None and not torch.can_cast(input.dtype, out.dtype):
        raise RuntimeError("std: the result cannot be cast to the dtype of out")
    stored = input.dtype if out is None else out.dtype
    result = torch.empty(shape, dtype=stored, device=input.device)
    if rows > 0:
        x = aligned(input.permute(kept + reduced))
        divisor = float(n - correction) if n > 0 and n > correction else 0.0
        # As PyTorch does, the input is taken in the dtype of out.
        cast = tl.bfloat16 if stored == torch.bfloat16 else tl.float16 if stored == torch.float16 else tl.float32
        bits = stored == torch.float64
        block = min(triton.next_power_of_2(max(n, 1)), 1024)
        kernel_std[(min(rows, 65535),)](
            x, result.view(torch.int64) if bits else result, rows, n, float(n), divisor,
            CAST=cast, BITS=bits, BLOCK=block,
        )
    if out is not None:
        if list(out.shape) != shape:
            out.resize_(shape)
        out.copy_(result)
        return out
    return result
