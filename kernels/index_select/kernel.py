# Generated: the kernel of aten::index_select for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_index_select(x_ptr, index_ptr, out_ptr, total, n, k, inner, iters, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    for i in range(iters):
        offsets = (program * iters + i) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < total
        at = offsets % inner
        rest = offsets // inner
        position = rest % k
        outer = rest // k
        index = tl.load(index_ptr + position[:, None], mask=mask[:, None], other=0).to(tl.int64)
        index = tl.reshape(index, [BLOCK])
        valid = mask & (index >= 0) & (index < n)
        source = tl.where(valid, (outer * n + index) * inner + at, 0)
        x = tl.load(x_ptr + source[:, None], mask=valid[:, None], other=0)
        x = tl.reshape(x, [BLOCK])
        tl.store(out_ptr + offsets, x, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(input, dim, index, *, out=None):
    if not isinstance(input, torch.Tensor) or not isinstance(index, torch.Tensor):
        raise TypeError("index_select(): arguments 'input' and 'index' must be Tensors")
    if isinstance(dim, (bool, float)) or not isinstance(dim, int):
        raise TypeError("index_select(): argument 'dim' must be int")
    shape = list(input.shape)
    rank = max(len(shape), 1)
    if not -rank <= dim < rank:
        raise IndexError("Dimension out of range")
    dim = dim % rank
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype != torch.int64 and index.dtype != torch.int32:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    k = index.numel()
    if len(shape) == 0 and k != 1:
        raise RuntimeError("index_select(): Index to scalar can have only 1 value")
    if out is not None and out.dtype != input.dtype:
        raise RuntimeError("index_select(): self and result must have the same scalar type")
    n = shape[dim] if shape else 1
    outer = math.prod(shape[:dim])
    inner = math.prod(shape[dim + 1 :])
    size = list(shape)
    if shape:
        size[dim] = k
    total = outer * k * inner
    if total > 0 and n == 0:
        raise IndexError("index out of range in self")
    result = torch.empty(size, dtype=input.dtype, device=input.device)
    if total > 0:
        block = 1024
        blocks = triton.cdiv(total, block)
        iters = triton.cdiv(blocks, 65535)
        grid = (triton.cdiv(blocks, iters),)
        kernel_index_select[grid](
            bits(aligned(input)), aligned(index), bits(result), total, n, k, inner, iters, BLOCK=block
        )
    if out is not None:
        if list(out.shape) != size:
            out.resize_(size)
        out.copy_(result)
        return out
    return result
