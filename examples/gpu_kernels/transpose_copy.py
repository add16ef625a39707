@triton.jit
def kernel_transpose(x_ptr, out_ptr, m, mid, n, inner, TILE: tl.constexpr):
    # x is [outer, m, mid, n, inner]; one program turns a tile of m and n for one (outer, mid, inner).
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)
    rest = tl.program_id(2).to(tl.int64)
    c = rest % inner
    b = rest // inner % mid
    a = rest // (inner * mid)
    x_at = ((a * m + i[:, None]) * mid + b) * n * inner + j[None, :] * inner + c
    x = tl.load(x_ptr + x_at, mask=(i[:, None] < m) & (j[None, :] < n))
    out_at = ((a * n + j[:, None]) * mid + b) * m * inner + i[None, :] * inner + c
    tl.store(out_ptr + out_at, tl.trans(x), mask=(j[:, None] < n) & (i[None, :] < m))


def wrapper(input, dim0, dim1):
    rank = max(input.dim(), 1)
    for dim in (dim0, dim1):
        if not -rank <= dim < rank:
            raise IndexError(f"transpose_copy: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
    shape = list(input.shape) or [1]
    first = min(dim0 % rank, dim1 % rank)
    last = max(dim0 % rank, dim1 % rank)
    x = input.contiguous()
    swapped = list(shape)
    swapped[first], swapped[last] = shape[last], shape[first]
    out = torch.empty(swapped if input.dim() else [], dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    if first == last:
        m, mid, n, inner = 1, 1, shape[first], math.prod(shape[first + 1 :])
    else:
        m, mid, n = shape[first], math.prod(shape[first + 1 : last]), shape[last]
        inner = math.prod(shape[last + 1 :])
    outer = x.numel() // (m * mid * n * inner)
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64), outer * mid * inner)
    kernel_transpose[grid](x, out, m, mid, n, inner, TILE=64)
    return out
