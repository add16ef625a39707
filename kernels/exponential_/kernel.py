# Generated: the kernel of aten::exponential_ for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_exponential(out_ptr, n, seed, lambd, limit, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        u = tl.rand(seed, offsets.to(tl.int32))
        u = tl.maximum(u, 1.1641532182693481e-10)
        y = -libdevice.log1p(-u) / lambd
        y = tl.maximum(y, 1.1754943508222875e-38)
        y = tl.minimum(y, limit)
        tl.store(out_ptr + offsets, y, mask=mask)


def wrapper(self, lambd=1.0, *, seed):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    target = self if direct else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if self.dtype == torch.float16:
        limit = 65504.0
    elif self.dtype == torch.bfloat16:
        limit = 3.3895313892515355e38
    else:
        limit = 3.4028234663852886e38
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_exponential[grid](target, n, seed, lambd * 1.0, limit, BLOCK=1024)
    if not direct:
        self.copy_(target)
    return self
