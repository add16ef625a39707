# Generated: the kernel of aten::isin.Tensor_Tensor_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_isin(x_ptr, t_ptr, out_ptr, n, m, T: tl.constexpr, INVERT: tl.constexpr,
                ROWS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * ROWS
    step = tl.num_programs(0).to(tl.int64) * ROWS
    for start in range(first, n, step):
        i = start + tl.arange(0, ROWS)
        mask = i < n
        x = tl.load(x_ptr + i, mask=mask, other=0).to(T)
        found = tl.zeros([ROWS], dtype=tl.int32)
        for begin in range(0, m, BLOCK):
            j = begin + tl.arange(0, BLOCK)
            t = tl.load(t_ptr + j, mask=j < m, other=0).to(T)
            same = (x[:, None] == t[None, :]) & (j < m)[None, :]
            found = tl.maximum(found, tl.max(same.to(tl.int32), axis=1))
        if INVERT:
            y = found == 0
        else:
            y = found != 0
        tl.store(out_ptr + i, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(elements, test_elements, *, assume_unique=False, invert=False, out):
    n = out.numel()
    if n == 0:
        return out
    dtype = torch.result_type(elements, test_elements)
    kinds = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16, torch.int8: tl.int8, torch.uint8: tl.uint8,
             torch.int16: tl.int16, torch.int32: tl.int32}
    kind = tl.float32 if dtype.is_floating_point else tl.int64
    if dtype in kinds:
        kind = kinds[dtype]
    m = test_elements.numel()
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    res = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    block = min(max(triton.next_power_of_2(max(m, 1)), 32), 128)
    rows = min(max(triton.next_power_of_2(n), 32), 256)
    grid = (min(triton.cdiv(n, rows), 8192),)
    kernel_isin[grid](aligned(elements), aligned(test_elements), res, n, m, T=kind,
                      INVERT=True if invert else False, ROWS=rows, BLOCK=block)
    if not direct:
        out.copy_(res)
    return out
