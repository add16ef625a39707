# Generated: the kernel of aten::cos.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_cos(x_ptr, out_ptr, n, RESULT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        # libdevice reduces large arguments in full.
        y = libdevice.cos(x).to(RESULT)
        tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, *, out):
    if out.shape != self.shape:
        out.resize_(self.shape)
    n = self.numel()
    if n == 0:
        return out
    x = aligned(self)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(self.shape), dtype=out.dtype, device=out.device)
    rounded = tl.bfloat16 if self.dtype == torch.bfloat16 else tl.float16 if self.dtype == torch.float16 else tl.float32
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_cos[grid](x, result, n, RESULT=rounded, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
