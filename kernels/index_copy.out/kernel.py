# Generated: the kernel of aten::index_copy.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_clear(last_ptr, size, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, size, step):
        k = start + tl.arange(0, BLOCK)
        tl.store(last_ptr + k, tl.full([BLOCK], -1, dtype=tl.int32), mask=k < size)


@triton.jit
def kernel_last(index_ptr, last_ptr, size, count, BLOCK: tl.constexpr):
    # Of the entries for one place the last one wins.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, count, step):
        k = start + tl.arange(0, BLOCK)
        index = tl.load(index_ptr + k, mask=k < count, other=-1)
        tl.atomic_max(last_ptr + index, k.to(tl.int32), mask=(k < count) & (index >= 0) & (index < size))


@triton.jit
def kernel_copy(x_ptr, source_ptr, last_ptr, out_ptr, n, size, inner, count, iterations, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    programs = tl.num_programs(0)
    for step in range(0, iterations):
        i = (program + step * programs) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < n
        column = i % inner
        rest = i // inner
        position = rest % size
        outer = rest // size
        last = tl.load(last_ptr + position[:, None], mask=mask[:, None], other=-1)
        last = tl.reshape(last, [BLOCK]).to(tl.int64)
        use = mask & (last >= 0)
        at = tl.where(use, (outer * count + last) * inner + column, 0)
        source = tl.load(source_ptr + at[:, None], mask=use[:, None], other=0)
        source = tl.reshape(source, [BLOCK])
        x = tl.load(x_ptr + i, mask=mask, other=0)
        tl.store(out_ptr + i, tl.where(use, source, x), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(input, dim, index, source, *, out=None):
    for t in (input, index, source):
        if not isinstance(t, torch.Tensor):
            raise TypeError("index_copy: input, index and source must be tensors")
    if not isinstance(dim, int):
        raise TypeError("index_copy: dim must be an int")
    sizes = list(input.shape)
    source_sizes = list(source.shape)
    rank = max(len(sizes), 1)
    if not -rank <= dim < rank:
        raise IndexError("index_copy: dim is out of range")
    dim = dim % rank
    if index.dim() >= 2:
        raise IndexError("index_copy: index should have dimension 1 or 0")
    count = index.numel()
    if not source_sizes and count != 1:
        raise IndexError("index_copy: when source is scalar, index should have one element")
    if source_sizes and sizes and len(source_sizes) != len(sizes):
        raise IndexError("index_copy: source and input must have the same number of dimensions")
    if index.dtype != torch.int64:
        raise RuntimeError("index_copy: expected a long tensor for index")
    if input.dtype != source.dtype:
        raise RuntimeError("index_copy: input and source must have the same dtype")
    if sizes[:dim] + sizes[dim + 1 :] != source_sizes[:dim] + source_sizes[dim + 1 :]:
        raise RuntimeError("index_copy: source and input must have the same slice shapes")
    if source_sizes and source_sizes[dim] != count:
        raise IndexError("index_copy: the number of indices must equal the size of source along dim")
    if out is not None and out.dtype != input.dtype:
        raise RuntimeError("index_copy: out has the wrong dtype")

    result = torch.empty(sizes, dtype=input.dtype, device=input.device)
    n = result.numel()
    if n > 0:
        size = sizes[dim] if sizes else 1
        inner = math.prod(sizes[dim + 1 :])
        last = torch.empty((size,), dtype=torch.int32, device=input.device)
        kernel_clear[(min(triton.cdiv(size, 1024), 4096),)](last, size, BLOCK=1024)
        if count > 0:
            kernel_last[(min(triton.cdiv(count, 1024), 4096),)](
                aligned(index), last, size, count, BLOCK=1024, enable_scatter_stores=True
            )
        block = 1024
        blocks = triton.cdiv(n, block)
        programs = min(blocks, 16384)
        kernel_copy[(programs,)](
            bits(aligned(input)), bits(aligned(source)), last, bits(result),
            n, size, inner, count, triton.cdiv(blocks, programs), BLOCK=block,
        )
    if out is None:
        return result
    if list(out.shape) != sizes:
        out.resize_(sizes)
    out.copy_(result)
    return out
