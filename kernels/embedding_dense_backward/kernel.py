# Generated: the kernel of aten::embedding_dense_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_zero(a_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        tl.store(a_ptr + at, tl.zeros([BLOCK], tl.int32), mask=at < n)


@triton.jit
def kernel_keys(index_ptr, key_ptr, count, padded, rows, skipped, BLOCK: tl.constexpr):
    # Row and place as one number; what adds nothing comes behind all rows.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, padded, step):
        at = start + tl.arange(0, BLOCK)
        row = tl.load(index_ptr + at, mask=at < count, other=-1).to(tl.int64)
        row = tl.where((row < 0) | (row >= rows) | (row == skipped), rows, row)
        tl.store(key_ptr + at, row * padded + at)


@triton.jit
def kernel_block(key_ptr, padded, size, BLOCK: tl.constexpr):
    # Sort each block; up and down by turns where larger pieces are still to be merged.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, padded, step):
        at = start + tl.arange(0, BLOCK)
        flip = tl.where((at & size) != 0, -1, 0).to(tl.int64)
        key = tl.load(key_ptr + at) ^ flip
        tl.store(key_ptr + at, tl.sort(key) ^ flip)


@triton.jit
def kernel_exchange(key_ptr, padded, size, apart, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, padded // 2, step):
        base = start // apart * 2 * apart + start % apart
        at = base + tl.arange(0, BLOCK)
        low = tl.load(key_ptr + at)
        high = tl.load(key_ptr + apart + at)
        swap = (low > high) == ((at & size) == 0)
        tl.store(key_ptr + at, tl.where(swap, high, low))
        tl.store(key_ptr + apart + at, tl.where(swap, low, high))


@triton.jit
def kernel_bounds(key_ptr, begin_ptr, end_ptr, padded, rows, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, padded, step):
        at = start + tl.arange(0, BLOCK)
        row = tl.load(key_ptr + at) // padded
        before = tl.load((key_ptr + at - 1)[:, None], mask=(at > 0)[:, None], other=0)
        before = tl.where(at > 0, tl.reshape(before, [BLOCK]) // padded, -1)
        behind = tl.load((key_ptr + at + 1)[:, None], mask=(at + 1 < padded)[:, None], other=0)
        behind = tl.where(at + 1 < padded, tl.reshape(behind, [BLOCK]) // padded, rows + 1)
        tl.store(begin_ptr + row, at.to(tl.int32), mask=(row != before) & (row < rows))
        tl.store(end_ptr + row, (at + 1).to(tl.int32), mask=(row != behind) & (row < rows))


@triton.jit
def kernel_add(g_ptr, key_ptr, begin_ptr, end_ptr, out_ptr, n, width, padded, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        live = at < n
        row = tl.where(live, at // width, 0)
        column = tl.where(live, at % width, 0)
        begin = tl.reshape(tl.load((begin_ptr + row)[:, None], mask=live[:, None], other=0), [BLOCK])
        end = tl.reshape(tl.load((end_ptr + row)[:, None], mask=live[:, None], other=0), [BLOCK])
        many = end - begin
        total = tl.zeros([BLOCK], tl.float32)
        for k in range(0, tl.max(many, axis=0)):
            there = (live & (k < many))[:, None]
            key = tl.load((key_ptr + begin + k)[:, None], mask=there, other=0)
            g = tl.load(g_ptr + key % padded * width + column[:, None], mask=there, other=0).to(tl.float32)
            g = tl.reshape(g, [BLOCK])
            if SCALE:
                g = g / tl.maximum(many, 1).to(tl.float32)
            total += g
        tl.store(out_ptr + at, total.to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def grid(n, block):
    return (min(triton.cdiv(n, block), 4096),)


def wrapper(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    device = grad_output.device
    rest = list(grad_output.shape)[indices.dim():]
    out = torch.empty([num_weights] + rest, dtype=grad_output.dtype, device=device)
    n = out.numel()
    if n == 0:
        return out
    width = math.prod(rest)
    count = indices.numel()
    begin = torch.empty((num_weights,), dtype=torch.int32, device=device)
    end = torch.empty((num_weights,), dtype=torch.int32, device=device)
    kernel_zero[grid(num_weights, 1024)](begin, num_weights, BLOCK=1024)
    kernel_zero[grid(num_weights, 1024)](end, num_weights, BLOCK=1024)
    g, keys, padded = out, begin, 1024
    if count > 0:
        g = aligned(grad_output)
        padded = max(triton.next_power_of_2(count), 1024)
        keys = torch.empty((padded,), dtype=torch.int64, device=device)
        kernel_keys[grid(padded, 1024)](aligned(indices), keys, count, padded, num_weights, padding_idx, BLOCK=1024)
        kernel_block[grid(padded, 1024)](keys, padded, 1024, BLOCK=1024)
        size = 2048
        while size <= padded:
            apart = size // 2
            while apart >= 1024:
                kernel_exchange[grid(padded // 2, 1024)](keys, padded, size, apart, BLOCK=1024)
                apart = apart // 2
            kernel_block[grid(padded, 1024)](keys, padded, size, BLOCK=1024)
            size = size * 2
        kernel_bounds[grid(padded, 1024)](keys, begin, end, padded, num_weights, BLOCK=1024, enable_scatter_stores=True)
    kernel_add[grid(n, 256)](
        g, keys, begin, end, out, n, width, padded, SCALE=bool(scale_grad_by_freq), BLOCK=256
    )
    return out
