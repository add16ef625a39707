# Generated: the kernel of aten::max for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_max(x_ptr, out_ptr, n, FLOAT: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr):
    # One number from each program.
    pid = tl.program_id(0).to(tl.int64)
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    best = tl.zeros([BLOCK], dtype=ACC)
    if FLOAT:
        best = best + float("-inf")
    else:
        best = best - 9223372036854775807 - 1
    nan = tl.zeros([BLOCK], dtype=tl.int32)
    for start in range(pid * BLOCK, n, step):
        k = start + tl.arange(0, BLOCK)
        valid = k < n
        x = tl.load(x_ptr + k, mask=valid, other=0).to(ACC)
        better = valid & (x > best)
        best = tl.where(better, x, best)
        if FLOAT:
            nan = tl.where(valid & (x != x), 1, nan)
    top = tl.max(best, axis=0)
    if FLOAT:
        top = tl.where(tl.max(nan, axis=0) > 0, float("nan"), top)
    tl.store(out_ptr + pid, top)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self):
    n = self.numel()
    if n == 0:
        raise RuntimeError("max(): Expected reduction dim to be specified for input.numel() == 0.")
    x = aligned(self)
    out = torch.empty([], dtype=self.dtype, device=self.device)
    floating = self.is_floating_point()
    acc = tl.float32 if floating else tl.int64
    if n > 16384:
        count = min(triton.cdiv(n, 4096), 1024)
        parts = torch.empty((count,), dtype=self.dtype, device=self.device)
        kernel_max[(count,)](x, parts, n, FLOAT=floating, ACC=acc, BLOCK=1024)
        x, n = parts, count
    kernel_max[(1,)](x, out, n, FLOAT=floating, ACC=acc, BLOCK=1024)
    return out
