# Generated: the kernel of aten::bernoulli_.Tensor for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_bernoulli(p_ptr, out_ptr, n, seed, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        p = tl.load(p_ptr + offsets, mask=mask, other=0).to(tl.float32)
        u = tl.rand(seed, offsets.to(tl.int32))
        y = tl.where(u < p, 1.0, 0.0)
        tl.store(out_ptr + offsets, y, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, p, *, seed):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    target = self if direct else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    p = aligned(p.broadcast_to(self.shape))
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_bernoulli[grid](p, target, n, seed, BLOCK=1024)
    if not direct:
        self.copy_(target)
    return self
