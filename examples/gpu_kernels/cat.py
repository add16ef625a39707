@triton.jit
def kernel_cat(x_ptr, out_ptr, width, out_width, offset, BLOCK: tl.constexpr):
    # A row of the input goes to its place in the row of the result.
    row = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * width + i, mask=i < width)
    tl.store(out_ptr + row * out_width + offset + i, x, mask=i < width)


def wrapper(tensors, dim=0, *, out=None):
    tensors = list(tensors)
    if not tensors:
        raise RuntimeError("cat: expected a non-empty list of tensors")
    dtype = tensors[0].dtype
    for x in tensors:
        dtype = torch.promote_types(dtype, x.dtype)
    device = tensors[0].device
    # Empty one-dimensional tensors may be joined to anything.
    parts = [x for x in tensors if list(x.shape) != [0]]
    if not parts:
        return torch.empty([0], dtype=dtype, device=device)
    rank = parts[0].dim()
    if not -rank <= dim < rank:
        raise IndexError(f"cat: dim {dim} is out of range for tensors of {rank} dimensions")
    dim = dim % rank
    shape = list(parts[0].shape)
    for x in parts:
        sizes = list(x.shape)
        if sizes[:dim] + sizes[dim + 1 :] != shape[:dim] + shape[dim + 1 :]:
            raise RuntimeError("cat: sizes must match except in the joined dimension")
    shape[dim] = sum([x.shape[dim] for x in parts])
    out = torch.empty(shape, dtype=dtype, device=device)
    rows = math.prod(shape[:dim])
    out_width = math.prod(shape[dim:])
    offset = 0
    for x in parts:
        width = math.prod(x.shape[dim:])
        if x.numel() > 0:
            kernel_cat[(triton.cdiv(width, 1024), rows)](x.contiguous(), out, width, out_width, offset, BLOCK=1024)
        offset += width
    return out
