# Generated: the kernel of aten::random_ for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_random(out_ptr, n, seed, WIDE: tl.constexpr, FLOAT: tl.constexpr, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        at = offsets.to(tl.int32)
        if WIDE:
            high = tl.randint(seed, 2 * at).to(tl.int64) & 0x7FFFFFFF
            low = tl.randint(seed, 2 * at + 1).to(tl.int64) & 0xFFFFFFFF
            tl.store(out_ptr + offsets, (high << 32) | low, mask=mask)
        else:
            r = tl.randint(seed, at).to(tl.int64) & 0xFFFFFFFF
            v = (r * LIMIT) >> 32
            if FLOAT:
                tl.store(out_ptr + offsets, v.to(tl.float32), mask=mask)
            else:
                tl.store(out_ptr + offsets, v.to(tl.int32), mask=mask)


def wrapper(self, *, seed):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    target = self if direct else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    # The count of the numbers, each as likely.
    counts = {
        torch.float32: 2**24 + 1,
        torch.float16: 2**11 + 1,
        torch.bfloat16: 2**8 + 1,
        torch.int32: 2**31,
        torch.int16: 2**15,
        torch.int8: 2**7,
        torch.uint8: 2**8,
        torch.bool: 2,
    }
    wide = self.dtype == torch.int64
    limit = 1 if wide else counts[self.dtype]
    floating = self.is_floating_point()
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_random[grid](target, n, seed, WIDE=wide, FLOAT=floating, LIMIT=limit, BLOCK=1024)
    if not direct:
        self.copy_(target)
    return self
