# Generated: the kernel of aten::hardshrink_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_shrink(g_ptr, x_ptr, out_ptr, n, lambd, T: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        g = tl.load(g_ptr + i, mask=mask, other=0).to(tl.float32)
        x = tl.load(x_ptr + i, mask=mask, other=0).to(tl.float32)
        edge = (tl.zeros([BLOCK], dtype=tl.float32) + lambd).to(T).to(tl.float32)
        y = tl.where((x >= 0.0 - edge) & (x <= edge), 0.0, g)
        tl.store(out_ptr + i, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad_out, self, lambd, *, grad_input):
    out = grad_input
    n = out.numel()
    if n == 0:
        return out
    g = aligned(grad_out.expand(out.shape))
    x = aligned(self.expand(out.shape))
    dtype = torch.result_type(grad_out, self)
    kind = tl.bfloat16 if dtype == torch.bfloat16 else tl.float16 if dtype == torch.float16 else tl.float32
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    res = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_shrink[grid](g, x, res, n, float(lambd), T=kind, BLOCK=1024)
    if not direct:
        out.copy_(res)
    return out
