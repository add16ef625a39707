# Generated: the kernel of aten::replication_pad1d_backward.grad_input for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_edges(x_ptr, left_ptr, right_ptr, lines, wide, nl, nr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, lines, step):
        q = start + tl.arange(0, BLOCK)
        live = (q < lines)[:, None]
        base = (q * wide)[:, None]
        low = tl.zeros([BLOCK, 1], tl.float32)
        for t in range(0, nl):
            low += tl.load(x_ptr + base + t, mask=live, other=0).to(tl.float32)
        high = tl.zeros([BLOCK, 1], tl.float32)
        for t in range(nr, wide):
            high += tl.load(x_ptr + base + t, mask=live, other=0).to(tl.float32)
        tl.store(left_ptr + q, tl.reshape(low, [BLOCK]), mask=q < lines)
        tl.store(right_ptr + q, tl.reshape(high, [BLOCK]), mask=q < lines)


@triton.jit
def kernel_fold(x_ptr, left_ptr, right_ptr, out_ptr, n, length, wide, before, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        p = start + tl.arange(0, BLOCK)
        live = p < n
        i = p % length
        q = p // length
        src = i + before
        ok = live & (src >= 0) & (src < wide)
        v = tl.load(x_ptr + (q * wide + src)[:, None], mask=ok[:, None], other=0).to(tl.float32)
        v += tl.load(left_ptr + q[:, None], mask=(live & (i == 0))[:, None], other=0.0)
        v += tl.load(right_ptr + q[:, None], mask=(live & (i == length - 1))[:, None], other=0.0)
        tl.store(out_ptr + p, tl.reshape(v, [BLOCK]).to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad_output, self, padding, *, grad_input):
    if list(grad_input.shape) != list(self.shape):
        grad_input.resize_(list(self.shape))
    n = grad_input.numel()
    if n == 0:
        return grad_input
    x = aligned(grad_output)
    length, wide, before = self.shape[-1], x.shape[-1], padding[0]
    lines = n // length
    # What lies before and behind the input's own places goes to its first and last element.
    nl = min(max(before, 0), wide)
    nr = min(max(length + before, 0), wide)
    left = torch.empty((lines,), dtype=torch.float32, device=x.device)
    right = torch.empty((lines,), dtype=torch.float32, device=x.device)
    block = min(max(triton.next_power_of_2(lines), 16), 256)
    kernel_edges[(min(triton.cdiv(lines, block), 4096),)](x, left, right, lines, wide, nl, nr, BLOCK=block)
    direct = grad_input.is_contiguous() and grad_input.storage_offset() * grad_input.element_size() % 32 == 0
    result = grad_input if direct else torch.empty(list(self.shape), dtype=grad_input.dtype, device=x.device)
    kernel_fold[(min(triton.cdiv(n, 512), 4096),)](x, left, right, result, n, length, wide, before, BLOCK=512)
    if not direct:
        grad_input.copy_(result)
    return grad_input
