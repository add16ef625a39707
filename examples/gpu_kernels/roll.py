@triton.jit
def kernel_roll(x_ptr, out_ptr, total, n, inner, shift, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    at = i // inner % n
    source = i + ((at + n - shift) % n - at) * inner
    tl.store(out_ptr + i, tl.load(x_ptr + source, mask=mask), mask=mask)


def wrapper(input, shifts, dims=None):
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [] if dims is None else [dims] if isinstance(dims, int) else list(dims)
    x = input.contiguous()
    if not dims:
        if len(shifts) != 1:
            raise RuntimeError("roll: without dims there is one shift")
        passes = [(shifts[0], input.numel(), 1)]
    else:
        if len(shifts) != len(dims):
            raise RuntimeError("roll: shifts and dims must have the same length")
        passes = []
        for shift, dim in zip(shifts, dims):
            if not -input.dim() <= dim < input.dim():
                raise IndexError(f"roll: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
            dim = dim % input.dim()
            passes.append((shift, input.shape[dim], math.prod(input.shape[dim + 1 :])))
    total = input.numel()
    if total == 0:
        return x.clone()
    for shift, n, inner in passes:
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        kernel_roll[(triton.cdiv(total, 1024),)](x, out, total, n, inner, shift % n, BLOCK=1024)
        x = out
    return x
