# Generated: the kernel of aten::cumsum.out for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_cumsum(x_ptr, out_ptr, lines, n, pitch, per, ACC: tl.constexpr, CAST: tl.constexpr, BITS: tl.constexpr,
                  LINES: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * per
    for g in range(0, per):
        line = (first + g) * LINES + tl.arange(0, LINES)
        base = line[:, None] * pitch
        valid = line[:, None] < lines
        carry = tl.zeros([LINES], dtype=ACC)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK)
            mask = valid & (k[None, :] < n)
            x = tl.load(x_ptr + base + k[None, :], mask=mask, other=0)
            x = x.to(ACC).to(CAST).to(ACC)
            sums = tl.cumsum(x, axis=1) + carry[:, None]
            result = sums
            if BITS:
                result = wide(result)
            tl.store(out_ptr + base + k[None, :], result, mask=mask)
            # The last prefix, and no sum of its own: Triton would move that out of the loop.
            carry = tl.sum(tl.where((k == start + BLOCK - 1)[None, :], sums, 0), axis=1)


def wrapper(input, dim, *, dtype=None, out=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError("cumsum(): argument 'input' must be a Tensor")
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise TypeError("cumsum(): argument 'dim' must be int")
    rank = max(input.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(
            "Dimension out of range (expected to be in range of [%d, %d], but got %d)" % (-rank, rank - 1, dim)
        )
    dim = dim % rank
    if dtype is None:
        if out is not None:
            dtype = out.dtype
        elif input.is_floating_point():
            dtype = input.dtype
        else:
            dtype = torch.int64
    if out is not None and out.dtype != dtype:
        raise RuntimeError("cumsum: the dtype of out is not that of the result")
    if dtype == torch.bool:
        raise RuntimeError("cumsum: not implemented for 'Bool'")
    shape = list(input.shape)
    result = torch.empty(shape, dtype=dtype, device=input.device)
    if result.numel() > 0:
        integers = {
            torch.int8: tl.int8,
            torch.uint8: tl.uint8,
            torch.int16: tl.int16,
            torch.int32: tl.int32,
            torch.int64: tl.int64,
        }
        halves = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}
        if dtype in integers:
            acc, cast = tl.int64, integers[dtype]
        else:
            acc, cast = tl.float32, halves[dtype] if dtype in halves else tl.float32
        source = input if input.dim() > 0 else input.unsqueeze(0)
        target = result if result.dim() > 0 else result.unsqueeze(0)
        source = source.movedim(dim, -1)
        sizes = list(source.shape)
        n = sizes[-1]
        lines = math.prod(sizes[:-1])
        pitch = triton.cdiv(n, 32) * 32
        if pitch == n:
            x = source.contiguous()
            if x.storage_offset() * x.element_size() % 32 != 0:
                x = x.clone()
        else:
            x = torch.empty(sizes[:-1] + [pitch], dtype=input.dtype, device=input.device)
            x.narrow(-1, 0, n).copy_(source)
        direct = pitch == n and dim == rank - 1
        if direct:
            y = target
        else:
            y = torch.empty(sizes[:-1] + [pitch], dtype=dtype, device=input.device)
        block = min(max(triton.next_power_of_2(n), 32), 1024)
        rows = min(triton.next_power_of_2(lines), 4096 // block, 16)
        groups = triton.cdiv(lines, rows)
        per = triton.cdiv(groups, 32768)
        bits = dtype == torch.float64
        kernel_cumsum[(triton.cdiv(groups, per),)](
            x, y.view(torch.int64) if bits else y, lines, n, pitch, per, ACC=acc, CAST=cast, BITS=bits, LINES=rows,
            BLOCK=block
        )
        if not direct:
            target.copy_(y.narrow(-1, 0, n).movedim(-1, dim))
    if out is not None:
        if list(out.shape) != shape:
            out.resize_(shape)
        out.copy_(result)
        return out
    return result
