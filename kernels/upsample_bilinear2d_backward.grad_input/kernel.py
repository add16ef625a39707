# Generated: the kernel of aten::upsample_bilinear2d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_collect(
    x_ptr, y_ptr, count, n, size, inner, ratio, half, limit, SAME: tl.constexpr, FLAT: tl.constexpr, BLOCK: tl.constexpr
):
    # From [outer, n, inner] to [outer, size, inner]: element i collects from all q that were interpolated from it.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, count, step):
        t = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = t < count
        rest = t // inner
        i = rest % size
        base = rest // size * n * inner + t % inner
        if SAME:
            low = i
            high = i + 1
        elif FLAT:
            low = i * 0
            high = low + n
        else:
            place = i.to(tl.float32)
            lowest = tl.floor((place - 1.0 + half) / ratio - half) - 1.0
            highest = tl.ceil((place + 1.0 + half) / ratio - half) + 2.0
            low = tl.minimum(tl.maximum(lowest, 0.0), limit).to(tl.int64)
            high = tl.minimum(tl.maximum(highest, 0.0), limit).to(tl.int64)
            low = tl.where(i == 0, i * 0, low)
            high = tl.where(i == size - 1, i * 0 + n, high)
        span = tl.max(tl.where(mask, high - low, i * 0), axis=0)
        total = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, span):
            q = low + j
            if SAME:
                near = q
                far = q
                weight = tl.zeros([BLOCK], dtype=tl.float32)
            else:
                at = tl.maximum(ratio * (q.to(tl.float32) + half) - half, 0.0)
                near = tl.minimum(tl.floor(at).to(tl.int64), size - 1)
                weight = tl.minimum(tl.maximum(at - near.to(tl.float32), 0.0), 1.0)
                far = tl.minimum(near + 1, size - 1)
            valid = mask & (q < high) & ((near == i) | (far == i))
            x = tl.load((x_ptr + base + q * inner)[:, None], mask=valid[:, None], other=0)
            x = tl.reshape(x, [BLOCK]).to(tl.float32)
            total += tl.where(valid & (near == i), x * (1.0 - weight), 0.0)
            total += tl.where(valid & (far == i), x * weight, 0.0)
        tl.store(y_ptr + t, total, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def collect(x, y, n, size, inner, align_corners, scale):
    if align_corners:
        ratio = (size - 1) / (n - 1) if n > 1 else 0.0
        half = 0.0
    else:
        ratio = 1.0 / scale if scale is not None and scale > 0 else size / n
        half = 0.5
    count = y.numel()
    block = min(max(triton.next_power_of_2(count), 16), 1024)
    grid = (min(triton.cdiv(count, block), 4096),)
    kernel_collect[grid](
        x, y, count, n, size, inner, ratio, half, 1.0 * n, SAME=n == size, FLAT=ratio == 0.0, BLOCK=block
    )


def wrapper(grad_output, output_size, input_size, align_corners, scales_h=None, scales_w=None, *, grad_input):
    if grad_input.numel() == 0:
        return grad_input
    images, channels, height, width = list(grad_input.shape)
    rows, columns = grad_output.shape[2], grad_output.shape[3]
    part = torch.empty((images, channels, rows, width), dtype=torch.float32, device=grad_input.device)
    collect(aligned(grad_output), part, columns, width, 1, align_corners, scales_w)
    direct = grad_input.is_contiguous() and grad_input.storage_offset() * grad_input.element_size() % 32 == 0
    result = grad_input
    if not direct:
        result = torch.empty((images, channels, height, width), dtype=grad_input.dtype, device=grad_input.device)
    collect(part, result, rows, height, width, align_corners, scales_h)
    if not direct:
        grad_input.copy_(result)
    return grad_input
