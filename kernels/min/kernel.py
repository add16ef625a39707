# Generated: the kernel of aten::min for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def least(a, b):
    return tl.where((a < b) | (a != a), a, b)


@triton.jit
def kernel_min(x_ptr, out_ptr, n, FLOAT: tl.constexpr, BOOL: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    if FLOAT:
        top = tl.full([BLOCK], float("inf"), dtype=tl.float32)
    else:
        top = tl.full([BLOCK], 9223372036854775807, dtype=tl.int64)
    best = top
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0)
        if FLOAT:
            x = x.to(tl.float32)
        else:
            x = x.to(tl.int64)
        best = least(best, tl.where(mask, x, top))
    result = tl.reduce(best, 0, least)
    if BOOL:
        tl.store(out_ptr + tl.program_id(0), result != 0)
    else:
        tl.store(out_ptr + tl.program_id(0), result)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self):
    n = self.numel()
    if n == 0:
        raise RuntimeError("min(): Expected reduction dim to be specified for input.numel() == 0.")
    out = torch.empty([], dtype=self.dtype, device=self.device)
    x = aligned(self)
    is_float = self.is_floating_point()
    is_bool = self.dtype == torch.bool
    programs = min(triton.cdiv(n, 4096), 256)
    if programs > 1:
        partial = torch.empty((programs,), dtype=self.dtype, device=self.device)
        kernel_min[(programs,)](x, partial, n, FLOAT=is_float, BOOL=is_bool, BLOCK=1024)
        x, n = partial, programs
    kernel_min[(1,)](x, out, n, FLOAT=is_float, BOOL=is_bool, BLOCK=1024)
    return out
