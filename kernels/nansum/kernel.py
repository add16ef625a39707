# Generated: the kernel of aten::nansum for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_nansum(x_ptr, out_ptr, rows, n, width, ACC: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        base = x_ptr + row.to(tl.int64) * width
        acc = tl.zeros([BLOCK], dtype=ACC)
        for start in range(0, n, BLOCK):
            k = start + tl.arange(0, BLOCK).to(tl.int64)
            x = tl.load(base + k, mask=k < n, other=0)
            if not BITS:
                x = x.to(out_ptr.dtype.element_ty)
            x = x.to(ACC)
            acc += tl.where(x == x, x, tl.zeros([BLOCK], dtype=ACC))
        total = tl.sum(acc, axis=0)
        if BITS:
            tl.store(out_ptr + row, wide(total))
        else:
            tl.store(out_ptr + row, total.to(out_ptr.dtype.element_ty))


def wrapper(input, dim=None, keepdim=False, *, dtype=None):
    if not torch.is_tensor(input):
        raise TypeError("nansum(): expected a Tensor")
    rank = max(input.dim(), 1)
    dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    reduced = []
    for d in dims:
        if not -rank <= d < rank:
            raise IndexError("Dimension out of range")
        if d % rank in reduced:
            raise RuntimeError("dim appears multiple times in the list of dims")
        reduced.append(d % rank)
    if not reduced:
        reduced = list(range(rank))
    if input.is_complex():
        raise RuntimeError("nansum does not support complex inputs")
    if dtype is None:
        dtype = input.dtype if input.is_floating_point() else torch.int64
    sizes = list(input.shape)
    rest = [d for d in range(len(sizes)) if d not in reduced]
    shape = []
    for d in range(len(sizes)):
        if d not in reduced:
            shape.append(sizes[d])
        elif keepdim:
            shape.append(1)
    out = torch.empty(shape, dtype=dtype, device=input.device)
    rows = out.numel()
    if rows == 0:
        return out
    n = math.prod([sizes[d] for d in reduced]) if sizes else 1
    width = max(triton.cdiv(n, 32), 1) * 32
    padded = torch.empty((rows, width), dtype=input.dtype, device=input.device)
    if n > 0:
        x = input.permute(rest + sorted(reduced)) if sizes else input
        padded[:, :n].copy_(x.reshape(rows, n))
    acc = tl.float32 if dtype.is_floating_point else tl.int64
    block = min(max(triton.next_power_of_2(max(n, 1)), 32), 1024)
    bits = dtype == torch.float64
    target = out.view(torch.int64) if bits else out
    kernel_nansum[(min(rows, 65535),)](padded, target, rows, n, width, ACC=acc, BITS=bits, BLOCK=block)
    return out
