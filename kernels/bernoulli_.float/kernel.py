# Generated: the kernel of aten::bernoulli_.float for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_bernoulli(out_ptr, n, tiles, p, seed, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        offsets = tile * BLOCK + tl.arange(0, BLOCK)
        hit = tl.rand(seed, offsets) < p
        tl.store(out_ptr + offsets, tl.where(hit, 1.0, 0.0).to(out_ptr.dtype.element_ty), mask=offsets < n)


def wrapper(self, p=0.5, *, seed):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    result = self if direct else torch.empty(list(self.shape), dtype=self.dtype, device=self.device)
    target = result.view(torch.uint8) if result.dtype == torch.bool else result
    block = 1024
    tiles = triton.cdiv(n, block)
    kernel_bernoulli[(min(tiles, 4096),)](target, n, tiles, float(p), seed, BLOCK=block)
    if not direct:
        self.copy_(result)
    return self
