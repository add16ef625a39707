# Generated: the kernel of aten::eye.m_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_eye(out_ptr, m, total, per, ONE: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * per
    for k in range(0, per):
        i = (first + k) * BLOCK + tl.arange(0, BLOCK)
        mask = i < total
        row = i // m
        column = i - row * m
        value = tl.where(row == column, ONE, 0)
        tl.store(out_ptr + i, value, mask=mask)


def wrapper(n, m=None, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    if m is None:
        m = n
    if not isinstance(n, int) or not isinstance(m, int):
        raise TypeError("eye(): the numbers of rows and columns must be ints")
    if n < 0:
        raise RuntimeError("n must be greater or equal to 0, got " + str(n))
    if m < 0:
        raise RuntimeError("m must be greater or equal to 0, got " + str(m))
    if layout != torch.strided:
        raise RuntimeError("eye: only the strided layout is supported")
    if out is not None:
        if dtype is not None and dtype != out.dtype:
            raise RuntimeError("eye: dtype does not match the dtype of out")
        if tuple(out.shape) != (n, m):
            out.resize_((n, m))
        result = torch.empty((n, m), dtype=out.dtype, device=out.device)
    else:
        if dtype is None:
            dtype = torch.get_default_dtype()
        result = torch.empty((n, m), dtype=dtype, device=device, requires_grad=requires_grad)
    total = n * m
    if total > 0:
        blocks = triton.cdiv(total, 1024)
        per = triton.cdiv(blocks, 32768)
        target, one = result, 1
        if result.dtype == torch.float64:
            target, one = result.view(torch.int64), 0x3FF0000000000000
        kernel_eye[(triton.cdiv(blocks, per),)](target, m, total, per, ONE=one, BLOCK=1024)
    if out is not None:
        out.copy_(result)
        return out
    return result
