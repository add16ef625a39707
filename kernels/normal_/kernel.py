# Generated: the kernel of aten::normal_ for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_normal(out_ptr, n, seed, mean, std, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        z = tl.randn(seed, offsets.to(tl.int32))
        tl.store(out_ptr + offsets, z * std + mean, mask=mask)


def wrapper(self, mean=0.0, std=1.0, *, seed):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    target = self if direct else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_normal[grid](target, n, seed, mean * 1.0, std * 1.0, BLOCK=1024)
    if not direct:
        self.copy_(target)
    return self
