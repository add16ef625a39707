# Generated: the kernel of aten::take for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_take(x_ptr, index_ptr, out_ptr, n, size, BLOCK: tl.constexpr):
    blocks = (n + BLOCK - 1) // BLOCK
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        i = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        at = tl.load(index_ptr + i, mask=mask, other=0)
        at = tl.where(at < 0, at + size, at)
        x = tl.load(x_ptr + at, mask=mask & (at >= 0) & (at < size), other=0)
        tl.store(out_ptr + i, x, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(input, index):
    if not torch.is_tensor(input) or not torch.is_tensor(index):
        raise TypeError("take(): input and index must be Tensors")
    if index.dtype != torch.int64:
        raise RuntimeError("take(): Expected a long tensor for index")
    if input.numel() == 0 and index.numel() > 0:
        raise IndexError("take(): tried to take from an empty tensor")
    out = torch.empty(index.shape, dtype=input.dtype, device=input.device)
    n = index.numel()
    if n == 0:
        return out
    kernel_take[(min(triton.cdiv(n, 1024), 65535),)](
        bits(aligned(input)), aligned(index), bits(out), n, input.numel(), BLOCK=1024
    )
    return out
