# Generated: the kernel of aten::tril.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_tril(x_ptr, out_ptr, n, rows, columns, diagonal, reps, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * reps * BLOCK
    for k in range(0, reps):
        p = first + k * BLOCK + tl.arange(0, BLOCK)
        mask = p < n
        line = p // columns
        column = p - line * columns
        row = line % rows
        x = tl.load(x_ptr + p, mask=mask, other=0)
        x = tl.where(column - row <= diagonal, x, tl.zeros_like(x))
        tl.store(out_ptr + p, x, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(input, diagonal=0, *, out=None):
    if not isinstance(input, torch.Tensor):
        raise TypeError("tril: input must be a tensor")
    if not isinstance(diagonal, int):
        raise TypeError("tril: diagonal must be an integer")
    if input.dim() < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    if out is not None and out.dtype != input.dtype:
        raise RuntimeError("tril: out must have the dtype of input")
    shape = tuple(input.shape)
    result = torch.empty(shape, dtype=input.dtype, device=input.device)
    n = result.numel()
    if n > 0:
        block = 1024
        blocks = triton.cdiv(n, block)
        reps = triton.cdiv(blocks, 65535)
        kernel_tril[(triton.cdiv(blocks, reps),)](
            bits(aligned(input)), bits(result), n, shape[-2], shape[-1], diagonal, reps, BLOCK=block
        )
    if out is None:
        return result
    if tuple(out.shape) != shape:
        out.resize_(shape)
    out.copy_(result)
    return out
