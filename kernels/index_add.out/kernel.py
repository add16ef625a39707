# Generated: the kernel of aten::index_add.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_index_add(
    x_ptr, index_ptr, source_ptr, out_ptr,
    total, blocks, n, m, inner, alpha,
    ACC: tl.constexpr, IS_BOOL: tl.constexpr, BLOCK: tl.constexpr,
):
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        i = tl.cast(block, tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = i < total
        column = i % inner
        position = (i // inner) % n
        base = (i // inner) // n * m * inner + column
        acc = tl.load(x_ptr + i, mask=mask, other=0).to(ACC)
        for k in range(0, m):
            wanted = tl.load(index_ptr + k).to(tl.int64)
            hit = mask & (position == wanted)
            at = base + tl.cast(k, tl.int64) * inner
            s = tl.load(source_ptr + at[:, None], mask=hit[:, None], other=0)
            s = tl.reshape(s, [BLOCK]).to(ACC)
            acc = tl.where(hit, acc + s * alpha, acc)
        if IS_BOOL:
            tl.store(out_ptr + i, acc != 0, mask=mask)
        else:
            tl.store(out_ptr + i, acc, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def fitting(number, dtype):
    # PyTorch takes a number only if the dtype that it is multiplied in holds it.
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return
    if dtype.is_floating_point:
        if abs(number) > torch.finfo(dtype).max and abs(number) != math.inf:
            raise RuntimeError("value cannot be converted to type float without overflow")
    elif dtype != torch.bool:
        # Whole numbers below zero are taken for unsigned ones as well: they wrap.
        limits = torch.iinfo(dtype)
        low = -limits.max if limits.min == 0 and isinstance(number, int) else limits.min
        if not low <= number <= limits.max:
            raise RuntimeError("value cannot be converted to type int without overflow")


def wrapper(input, dim, index, source, *, alpha=1, out=None):
    fitting(alpha, input.dtype)
    sizes = list(input.shape)
    source_sizes = list(source.shape)
    rank = max(len(sizes), 1)
    if not -rank <= dim < rank:
        raise IndexError("index_add: dim is out of range")
    dim = dim % rank
    if index.dim() > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    if index.dtype != torch.int64 and index.dtype != torch.int32:
        raise RuntimeError("index_add_(): Expected dtype int32/int64 for index")
    if source.dtype != input.dtype:
        raise RuntimeError("index_add_(): self and source must have the same scalar type")
    if dim != 0 and dim >= len(source_sizes):
        raise RuntimeError("index_add_(): Indexing dim is out of bounds of the source tensor")
    m = index.numel()
    if m != (source_sizes[dim] if source_sizes else 1):
        raise RuntimeError("index_add_(): Number of indices should be equal to source.size(dim)")
    left, right = sizes, source_sizes
    if sizes and source_sizes:
        left = sizes[:dim] + sizes[dim + 1 :]
        right = source_sizes[:dim] + source_sizes[dim + 1 :]
    if left != right:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension")
    is_bool = input.dtype == torch.bool
    if not isinstance(alpha, (bool, int, float)):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if isinstance(alpha, bool) and not is_bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if out is not None and out.dtype != input.dtype:
        raise RuntimeError("index_add: out has another dtype than the result")

    result = torch.empty(sizes, dtype=input.dtype, device=input.device)
    total = input.numel()
    if total > 0:
        n = sizes[dim] if sizes else 1
        inner = math.prod(sizes[dim + 1 :])
        block = 1024
        blocks = triton.cdiv(total, block)
        kernel_index_add[(min(blocks, 65535),)](
            aligned(input), aligned(index), aligned(source), result,
            total, blocks, n, m, inner,
            float(alpha) if input.is_floating_point() else int(alpha),
            ACC=tl.float32 if input.is_floating_point() else tl.int64,
            IS_BOOL=is_bool, BLOCK=block,
        )
    if out is None:
        return result
    if list(out.shape) != sizes:
        out.resize_(sizes)
    out.copy_(result)
    return out
