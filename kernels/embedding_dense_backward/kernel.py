# Generated: the kernel of aten::embedding_dense_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_fill(out_ptr, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + i, tl.full([BLOCK], VALUE, dtype=tl.int32), mask=i < n)


@triton.jit
def kernel_find(indices_ptr, first_ptr, counts_ptr, n, rows, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < n
        at = tl.load(indices_ptr + i, mask=mask, other=0).to(tl.int64)
        valid = mask & (at >= 0) & (at < rows)
        at = tl.where(valid, at, 0)
        one = tl.full([BLOCK, 1], 1, dtype=tl.int32)
        tl.atomic_add(counts_ptr + at[:, None], one, mask=valid[:, None])
        tl.atomic_min(first_ptr + at[:, None], i.to(tl.int32)[:, None], mask=valid[:, None])


@triton.jit
def kernel_rows(
    g_ptr, indices_ptr, first_ptr, counts_ptr, out_ptr, count, width, rows, padding,
    SCALE: tl.constexpr, PLACES: tl.constexpr, COLUMNS: tl.constexpr,
):
    # The program of the first place of an index adds its row, in the order of the places: the same sum every time.
    for i in range(tl.program_id(0).to(tl.int64), count, tl.num_programs(0)):
        row = tl.load(indices_ptr + i).to(tl.int64)
        if (row >= 0) & (row < rows) & (row != padding):
            if tl.load(first_ptr + row) == i:
                times = tl.load(counts_ptr + row)
                for begin in range(0, width, COLUMNS):
                    c = begin + tl.arange(0, COLUMNS).to(tl.int64)
                    inside = c < width
                    total = tl.zeros([COLUMNS], dtype=tl.float32)
                    left = times
                    start = (i // PLACES) * PLACES
                    while left > 0:
                        j = start + tl.arange(0, PLACES)
                        at = tl.load(indices_ptr + j, mask=j < count, other=0).to(tl.int64)
                        places = tl.where((j < count) & (at == row), j, count)
                        k = tl.min(places, axis=0)
                        while k < count:
                            g = tl.load((g_ptr + k * width + c)[:, None], mask=inside[:, None], other=0)
                            g = tl.reshape(g, [COLUMNS]).to(tl.float32)
                            if SCALE:
                                g = g / times.to(tl.float32)
                            total += g
                            left -= 1
                            places = tl.where(places > k, places, count)
                            k = tl.min(places, axis=0)
                        start += PLACES
                    tl.store((out_ptr + row * width + c)[:, None], tl.reshape(total, [COLUMNS, 1]), mask=inside[:, None])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def grid(n):
    return (min(triton.cdiv(n, 1024), 4096),)


def wrapper(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    width = grad_output.shape[-1]
    out = torch.empty((num_weights, width), dtype=grad_output.dtype, device=grad_output.device)
    size = out.numel()
    if size == 0:
        return out
    kernel_fill[grid(size)](out, size, VALUE=0, BLOCK=1024)
    count = indices.numel()
    if count > 0:
        at = aligned(indices)
        first = torch.empty((num_weights,), dtype=torch.int32, device=out.device)
        counts = torch.empty((num_weights,), dtype=torch.int32, device=out.device)
        kernel_fill[grid(num_weights)](first, num_weights, VALUE=2147483647, BLOCK=1024)
        kernel_fill[grid(num_weights)](counts, num_weights, VALUE=0, BLOCK=1024)
        kernel_find[grid(count)](at, first, counts, count, num_weights, BLOCK=1024)
        kernel_rows[(min(count, 16384),)](
            aligned(grad_output), at, first, counts, out, count, width, num_weights, padding_idx,
            SCALE=bool(scale_grad_by_freq), PLACES=256,
            COLUMNS=min(max(triton.next_power_of_2(width), 8), 512), enable_scatter_stores=True,
        )
    return out
