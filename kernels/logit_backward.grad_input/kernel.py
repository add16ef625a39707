# Generated: the kernel of aten::logit_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_logit(g_ptr, x_ptr, out_ptr, n, low, outside, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        g = tl.load(g_ptr + i, mask=mask, other=0).to(tl.float32)
        x = tl.load(x_ptr + i, mask=mask, other=0.5).to(tl.float32)
        lo = tl.zeros([BLOCK], dtype=tl.float32) + low
        hi = 1.0 - lo
        y = tl.div_rn(g, x * (1.0 - x))
        y = tl.where((x >= lo) & (x <= hi), y, outside)
        tl.store(out_ptr + i, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad_output, self, eps=None, *, grad_input):
    out = grad_input
    n = out.numel()
    if n == 0:
        return out
    g = aligned(grad_output.expand(out.shape))
    x = aligned(self.expand(out.shape))
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    res = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    none = eps is None or eps < 0
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_logit[grid](g, x, res, n, 0.0 if none else float(eps), math.nan if none else 0.0, BLOCK=1024)
    if not direct:
        out.copy_(res)
    return out
