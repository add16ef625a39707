@triton.jit
def kernel_gather(x_ptr, index_ptr, out_ptr, total, x_size, size, inner, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    outer = i // (size * inner)
    column = i % inner
    index = tl.load(index_ptr + i, mask=mask, other=0)
    x = tl.load(x_ptr + (outer * x_size + index) * inner + column, mask=mask)
    tl.store(out_ptr + i, x, mask=mask)


def wrapper(input, dim, index, *, sparse_grad=False, out=None):
    shape = index.shape
    out = torch.empty(shape, dtype=input.dtype, device=input.device)
    if out.numel() == 0:
        return out
    x = input.reshape(1) if input.dim() == 0 else input
    index = index.reshape(1) if index.dim() == 0 else index
    if x.dim() != index.dim():
        raise RuntimeError("gather: index and input must have the same number of dimensions")
    if not -x.dim() <= dim < x.dim():
        raise IndexError(f"gather: dim {dim} is out of range")
    dim = dim % x.dim()
    for d in range(x.dim()):
        if d != dim:
            if index.shape[d] > x.shape[d]:
                raise RuntimeError(f"gather: index is larger than input in dimension {d}")
            x = x.narrow(d, 0, index.shape[d])
    x = x.contiguous()
    index = index.contiguous()
    inner = math.prod(index.shape[dim + 1 :])
    total = index.numel()
    kernel_gather[(triton.cdiv(total, 1024),)](x, index, out, total, x.shape[dim], index.shape[dim], inner, BLOCK=1024)
    return out
