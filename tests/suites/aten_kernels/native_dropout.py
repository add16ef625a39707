@triton.jit
def kernel_dropout(x_ptr, y_ptr, m_ptr, n, seed, p, scale, DROP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x = tl.load(x_ptr + i, mask=inside, other=0).to(tl.float32)
    if DROP:
        kept = tl.rand(seed, i) >= p
        y = tl.where(kept, x * scale, 0.0)
    else:
        kept = i >= 0
        y = x
    tl.store(y_ptr + i, y, mask=inside)
    tl.store(m_ptr + i, kept, mask=inside)


def wrapper(input, p, train, *, seed):
    x = input.contiguous()
    if x.storage_offset() * x.element_size() % 32 != 0:
        x = x.clone()
    result = torch.empty_like(x)
    mask = torch.empty_like(x, dtype=torch.bool)
    n = x.numel()
    if n:
        drop = train is not False
        kernel_dropout[(triton.cdiv(n, 1024),)](x, result, mask, n, seed, p, 1 / (1 - p), DROP=drop, BLOCK=1024)
    return result, mask
