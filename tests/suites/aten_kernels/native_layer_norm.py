@triton.jit
def kernel_norm(x, weight, bias, out_ptr, mean_ptr, rstd_ptr, n, pitch, eps, HAS_WEIGHT: tl.constexpr,
                HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    line = tl.program_id(0)
    base = line * pitch
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        k = start + tl.arange(0, BLOCK)
        total += tl.load(x + base + k, mask=k < n, other=0).to(tl.float32)
    mean = tl.sum(total, axis=0) / tl.maximum(n, 1)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        k = start + tl.arange(0, BLOCK)
        v = tl.load(x + base + k, mask=k < n, other=0).to(tl.float32)
        squares += tl.where(k < n, (v - mean) * (v - mean), 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        k = start + tl.arange(0, BLOCK)
        v = (tl.load(x + base + k, mask=k < n, other=0).to(tl.float32) - mean) * rstd
        if HAS_WEIGHT:
            v = v * tl.load(weight + k, mask=k < n, other=0).to(tl.float32)
        if HAS_BIAS:
            v = v + tl.load(bias + k, mask=k < n, other=0).to(tl.float32)
        tl.store(out_ptr + base + k, v, mask=k < n)
    tl.store(mean_ptr + line, mean)
    tl.store(rstd_ptr + line, rstd)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(input, normalized_shape, weight, bias, eps):
    kept = list(input.shape)[: input.dim() - len(normalized_shape)]
    lines, n = math.prod(kept), math.prod(normalized_shape)
    statistics = kept + [1] * len(normalized_shape)
    out = torch.empty(input.shape, dtype=input.dtype, device=input.device)
    mean = torch.empty(statistics, dtype=input.dtype, device=input.device)
    rstd = torch.empty(statistics, dtype=input.dtype, device=input.device)
    if lines:  # of an empty line the mean is 0, and the deviation no number
        pitch = max(triton.cdiv(n, 32), 1) * 32
        x = torch.empty((lines, pitch), dtype=input.dtype, device=input.device)
        x[:, :n].copy_(input.reshape(lines, n))
        y = torch.empty((lines, pitch), dtype=input.dtype, device=input.device)
        kernel_norm[(lines,)](
            x, x if weight is None else aligned(weight), x if bias is None else aligned(bias), y, mean, rstd, n, pitch,
            eps, HAS_WEIGHT=weight is not None, HAS_BIAS=bias is not None, BLOCK=128,
        )
        out.copy_(y[:, :n].reshape(out.shape))
    return out, mean, rstd
