# Generated: the kernel of aten::nanmedian for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def block_keys(x_ptr, start, n, FLOAT: tl.constexpr, KEY: tl.constexpr, BLOCK: tl.constexpr):
    at = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if FLOAT:
        y = x.to(tl.float32)
        y = tl.where(y == 0, 0.0, y)
        bits = y.to(tl.int32, bitcast=True)
        key = bits ^ ((bits >> 31) & 2147483647)
        key = tl.where(y != y, 2147483647, key)
    else:
        key = x.to(KEY)
    return key


@triton.jit
def kernel_nanmedian(
    x_ptr, out_ptr, n, FLOAT: tl.constexpr, KEY: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):
    zero = tl.program_id(0).to(tl.int64) * 0
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    valid = zero + n
    if FLOAT:
        numbers = tl.zeros([BLOCK], dtype=tl.int64)
        for start in range(0, n, BLOCK):
            key = block_keys(x_ptr, start, n, FLOAT, KEY, BLOCK)
            numbers += ((start + lanes < n) & (key != 2147483647)).to(tl.int64)
        valid = tl.sum(numbers, axis=0)
    half = tl.maximum(valid - 1, zero) // 2
    low = tl.full([BLOCK], 1, dtype=KEY) << (WIDTH - 1)
    top = ~low
    target = low
    bit = low
    for b in range(0, WIDTH):
        candidate = target ^ bit
        counts = tl.zeros([BLOCK], dtype=tl.int64)
        for start in range(0, n, BLOCK):
            key = block_keys(x_ptr, start, n, FLOAT, KEY, BLOCK)
            counts += ((start + lanes < n) & (key < candidate)).to(tl.int64)
        count = tl.sum(counts, axis=0)
        target = tl.where(count <= half, candidate, target)
        bit = (bit >> 1) & top
    best = tl.full([BLOCK], 9223372036854775807, dtype=tl.int64)
    for start in range(0, n, BLOCK):
        key = block_keys(x_ptr, start, n, FLOAT, KEY, BLOCK)
        k = start + lanes
        best = tl.minimum(best, tl.where((k < n) & (key == target), k, 9223372036854775807))
    at = tl.min(best, axis=0)
    tl.store(out_ptr, tl.load(x_ptr + at))


@triton.jit
def kernel_nothing(out_ptr, FLOAT: tl.constexpr, LOWEST: tl.constexpr):
    if FLOAT:
        tl.store(out_ptr, float("nan"))
    else:
        tl.store(out_ptr, LOWEST)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self):
    out = torch.empty([], dtype=self.dtype, device=self.device)
    floating = self.is_floating_point()
    n = self.numel()
    if n == 0:
        # The NaN that PyTorch would give, as its conversion to an integer has it.
        kernel_nothing[(1,)](out, FLOAT=floating, LOWEST=0 if floating else torch.iinfo(self.dtype).min)
        return out
    wide = self.dtype == torch.int64
    block = max(min(triton.next_power_of_2(n), 4096), 16)
    kernel_nanmedian[(1,)](
        aligned(self), out, n,
        FLOAT=floating, KEY=tl.int64 if wide else tl.int32, WIDTH=64 if wide else 32, BLOCK=block,
    )
    return out
