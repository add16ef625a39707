# Generated: the kernel of aten::_pdist_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_zero(out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + i, tl.zeros([BLOCK], dtype=tl.float32), mask=i < n)


@triton.jit
def kernel_grad(g_ptr, x_ptr, dist_ptr, out_ptr, total, N, M, power, KIND: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        at = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = at < total
        m = at % M
        i = at // M
        a = tl.load(x_ptr + at, mask=mask, other=0)
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for j in range(0, N):
            lo = tl.minimum(i, j)
            hi = tl.maximum(i, j)
            use = mask & (i != j)
            pair = lo * (2 * N - lo - 1) // 2 + hi - lo - 1
            pair = tl.where(use, pair, 0)
            g = tl.reshape(tl.load((g_ptr + pair)[:, None], mask=use[:, None], other=0), [BLOCK])
            b = tl.reshape(tl.load((x_ptr + (i * 0 + j) * M + m)[:, None], mask=use[:, None], other=0), [BLOCK])
            d = a - b
            size = tl.abs(d)
            sign = tl.where(d > 0.0, 1.0, tl.where(d < 0.0, -1.0, d * 0.0))
            if KIND == 1:
                part = sign * g
            else:
                dist = tl.reshape(tl.load((dist_ptr + pair)[:, None], mask=use[:, None], other=0), [BLOCK])
                safe = tl.where(dist == 0.0, 1.0, dist)
                if KIND == 3:
                    part = tl.where(size == dist, sign * g, d * 0.0)
                elif KIND == 2:
                    part = tl.where(dist == 0.0, 0.0, g * tl.div_rn(d, safe))
                else:
                    ratio = tl.div_rn(size, safe)
                    part = sign * libdevice.pow(ratio, tl.zeros([BLOCK], dtype=tl.float32) + power) * g
                    part = tl.where((dist == 0.0) | (d == 0.0), 0.0, part)
            acc += tl.where(use, part, 0.0)
        tl.store(out_ptr + at, acc, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad, self, p, pdist):
    N, M = self.shape[0], self.shape[1]
    out = torch.empty((N, M), dtype=self.dtype, device=self.device)
    total = N * M
    if total == 0:
        return out
    p = float(p)
    if p == 0.0 or grad.numel() == 0:
        kernel_zero[(min(triton.cdiv(total, 1024), 4096),)](out, total, BLOCK=1024)
        return out
    if p == 1.0:
        kind = 1
    elif p == 2.0:
        kind = 2
    elif p == math.inf:
        kind = 3
    else:
        kind = 4
    power = p - 1.0 if kind == 4 else 1.0
    kernel_grad[(min(triton.cdiv(total, 256), 4096),)](
        aligned(grad), aligned(self), aligned(pdist), out, total, N, M, power, KIND=kind, BLOCK=256
    )
    return out
