@triton.jit
def kernel_masked_fill(
    x_ptr, mask_ptr, value_ptr, value, out_ptr, n, TENSOR: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = i < n
    x = tl.load(x_ptr + i, mask=valid)
    fill = tl.load(mask_ptr + i, mask=valid, other=0)
    if TENSOR:
        value = tl.load(value_ptr)
    tl.store(out_ptr + i, tl.where(fill != 0, value.to(ACC), x.to(ACC)), mask=valid)


def wrapper(input, mask, value):
    if mask.dtype != torch.bool:
        raise RuntimeError("masked_fill: the mask must be boolean")
    x, mask = torch.broadcast_tensors(input, mask)
    x = x.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    if n == 0:
        return out
    tensor = torch.is_tensor(value)
    kernel_masked_fill[(triton.cdiv(n, 4096),)](
        x, mask.contiguous(), value if tensor else x, 0 if tensor else value, out, n, TENSOR=tensor,
        ACC=tl.float32 if x.is_floating_point() else tl.int64, BLOCK=4096, num_warps=8,
    )  # fmt: skip
    return out
