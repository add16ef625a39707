@triton.jit
def kernel_index_copy(out_ptr, index_ptr, source_ptr, count, size, inner, BLOCK: tl.constexpr):
    # One program copies one slice of the source to the place that its index names.
    outer = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1)
    index = tl.load(index_ptr + k)
    for start in range(0, inner, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(source_ptr + (outer * count + k) * inner + i, mask=i < inner)
        tl.store(out_ptr + (outer * size + index) * inner + i, x, mask=i < inner)


def wrapper(input, dim, index, source, *, out=None):
    rank = max(input.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"index_copy: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
    out = input.clone().contiguous()
    if index.numel() == 0 or out.numel() == 0:
        return out
    shape = list(out.shape) or [1]
    dim = dim % len(shape)
    size = shape[dim]
    inner = math.prod(shape[dim + 1 :])
    outer = math.prod(shape[:dim])
    count = index.numel()
    block = min(triton.next_power_of_2(inner), 1024)
    kernel_index_copy[(outer, count)](out, index.contiguous(), source.contiguous(), count, size, inner, BLOCK=block)
    return out
