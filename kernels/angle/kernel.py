# Generated: the kernel of aten::angle for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_angle(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
        y = tl.where(x < 0.0, 3.14159265358979323846, 0.0).to(tl.float32)
        y = tl.where(x != x, x, y)
        tl.store(out_ptr + offsets, y, mask=mask)


def wrapper(self):
    dtype = self.dtype if self.is_floating_point() else torch.float32
    result = torch.empty_like(self, dtype=dtype)
    n = result.numel()
    if n == 0:
        return result
    source = self
    if self.stride() != result.stride() or self.storage_offset() * self.element_size() % 32 != 0:
        # Dense memory in the order of the result, so that elements correspond.
        source = torch.empty_strided(result.shape, result.stride(), dtype=self.dtype, device=self.device)
        source.copy_(self)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_angle[grid](source, result, n, BLOCK=1024)
    return result
