# Generated: the kernel of aten::uniform_ for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_uniform(out_ptr, n, seed, low, high, span, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        u = tl.rand(seed, offsets.to(tl.int32))
        y = u * span + low
        y = tl.where(y >= high, low, y)
        tl.store(out_ptr + offsets, y, mask=mask)


def wrapper(self, low=0.0, high=1.0, *, seed):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    target = self if direct else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_uniform[grid](target, n, seed, low * 1.0, high * 1.0, (high - low) * 1.0, BLOCK=1024)
    if not direct:
        self.copy_(target)
    return self
