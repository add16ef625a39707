# Generated: the kernel of aten::_adaptive_avg_pool2d_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_spread(x_ptr, y_ptr, count, n, size, inner, span, BLOCK: tl.constexpr):
    # From [outer, n, inner] to [outer, size, inner]: element i gets the shares of all windows that cover it.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, count, step):
        t = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = t < count
        rest = t // inner
        i = rest % size
        base = rest // size * n * inner + t % inner
        low = i * n // size
        high = ((i + 1) * n + size - 1) // size
        total = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, span):
            q = low + j
            valid = mask & (q < high)
            width = ((q + 1) * size + n - 1) // n - q * size // n
            x = tl.load((x_ptr + base + q * inner)[:, None], mask=valid[:, None], other=0)
            x = tl.reshape(x, [BLOCK]).to(tl.float32)
            total += tl.where(valid, x / width.to(tl.float32), 0.0)
        tl.store(y_ptr + t, total, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def channels_last(x):
    sizes, strides = list(x.shape), list(x.stride())
    if len(sizes) != 4 or strides[1] == 0:
        return False
    least = 0
    for d in (1, 3, 2, 0):
        if sizes[d] == 0 or strides[d] < least:
            return False
        if d == 0 and least == strides[1]:
            return False
        least = strides[d] * max(sizes[d], 1)
    return True


def spread(x, y, n, size, inner):
    count = y.numel()
    block = min(max(triton.next_power_of_2(count), 16), 1024)
    grid = (min(triton.cdiv(count, block), 4096),)
    span = triton.cdiv(n, size) + 1
    kernel_spread[grid](x, y, count, n, size, inner, span, BLOCK=block)


def wrapper(grad_output, self):
    shape = list(self.shape)
    result = torch.empty(shape, dtype=self.dtype, device=self.device)
    if result.numel() > 0:
        high, wide = shape[-2], shape[-1]
        rows, columns = grad_output.shape[-2], grad_output.shape[-1]
        part = torch.empty(shape[:-2] + [rows, wide], dtype=torch.float32, device=self.device)
        spread(aligned(grad_output), part, columns, wide, 1)
        spread(part, result, rows, high, wide)
    if channels_last(self):
        placed = torch.empty_permuted(shape, (0, 2, 3, 1), dtype=self.dtype, device=self.device)
        return placed.copy_(result)
    return result
