@triton.jit
def kernel_cumsum(x_ptr, out_ptr, n, ACC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    carry = tl.zeros([1], dtype=ACC)
    for start in range(0, n, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < n
        x = tl.load(x_ptr + row + column, mask=mask, other=0).to(ACC)
        tl.store(out_ptr + row + column, carry + tl.cumsum(x, axis=0), mask=mask)
        carry += tl.sum(x, axis=0)


def wrapper(input, dim, *, dtype=None, out=None):
    rank = max(input.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"cumsum: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
    if dtype is None:
        dtype = input.dtype if input.is_floating_point() else torch.int64
    x = input.reshape(1) if input.dim() == 0 else input
    x = x.transpose(dim, -1).contiguous()
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    if out.numel() > 0:
        n = x.shape[-1]
        acc = tl.float64 if dtype == torch.float64 else tl.float32 if dtype.is_floating_point else tl.int64
        kernel_cumsum[(x.numel() // n,)](x, out, n, ACC=acc, BLOCK=2048, num_warps=8)
    return out.transpose(dim, -1).contiguous().reshape(input.shape)
