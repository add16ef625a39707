# Generated: the kernel of aten::bitwise_and.Tensor_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_number(out_ptr, value):
    tl.store(out_ptr, value)


@triton.jit
def kernel_and(a_ptr, b_ptr, out_ptr, n, COMMON: tl.constexpr, BLOCK: tl.constexpr):
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        a = tl.load(a_ptr + i, mask=mask, other=0).to(COMMON)
        b = tl.load(b_ptr + i, mask=mask, other=0).to(COMMON)
        tl.store(out_ptr + i, a & b, mask=mask)


def kind(dtype):
    if dtype == torch.int32:
        return tl.int32
    if dtype == torch.int16:
        return tl.int16
    if dtype == torch.int8:
        return tl.int8
    if dtype == torch.uint8:
        return tl.uint8
    if dtype == torch.bool:
        return tl.int1
    return tl.int64


def operand(x, like):
    if not torch.is_tensor(x):
        made = torch.empty([], dtype=torch.int64, device=like.device)
        kernel_number[(1,)](made, int(x))
        x = made
    x = x.expand(like.shape).contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, other, *, out):
    n = out.numel()
    if n == 0:
        return out
    common = torch.result_type(self, other)
    result = torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    kernel_and[(min(triton.cdiv(n, 1024), 4096),)](
        operand(self, out), operand(other, out), result, n, COMMON=kind(common), BLOCK=1024)
    out.copy_(result)
    return out
