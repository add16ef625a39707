# Generated: the kernel of aten::_cdist_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
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
def kernel_grad(g_ptr, a_ptr, b_ptr, dist_ptr, out_ptr, total, P, R, M, power, KIND: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < total
        m = i % M
        row = i // M
        batch = row // P
        a = tl.load(a_ptr + i, mask=mask, other=0)
        pair = row * R
        b_base = b_ptr + batch * R * M + m
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for r in range(0, R):
            g = tl.reshape(tl.load((g_ptr + pair + r)[:, None], mask=mask[:, None], other=0), [BLOCK])
            b = tl.reshape(tl.load((b_base + r.to(tl.int64) * M)[:, None], mask=mask[:, None], other=0), [BLOCK])
            d = a - b
            size = tl.abs(d)
            sign = tl.where(d > 0.0, 1.0, tl.where(d < 0.0, -1.0, d * 0.0))
            if KIND == 1:
                acc += sign * g
            else:
                dist = tl.reshape(tl.load((dist_ptr + pair + r)[:, None], mask=mask[:, None], other=0), [BLOCK])
                if KIND == 3:
                    acc += tl.where(size == dist, sign * g, d * 0.0)
                else:
                    safe = tl.where(dist == 0.0, 1.0, dist)
                    if KIND == 2:
                        part = g * tl.div_rn(d, safe)
                        acc += tl.where(dist == 0.0, 0.0, part)
                    else:
                        ratio = tl.div_rn(size, safe)
                        part = sign * libdevice.pow(ratio, tl.zeros([BLOCK], dtype=tl.float32) + power) * g
                        acc += tl.where((dist == 0.0) | (d == 0.0), 0.0, part)
        tl.store(out_ptr + i, acc, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad, x1, x2, p, cdist):
    batch = list(torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]))
    P, M, R = x1.shape[-2], x1.shape[-1], x2.shape[-2]
    total = math.prod(batch) * P * M
    p = float(p)
    if total == 0 or R == 0:
        out = torch.empty_like(x1)
        n = out.numel()
        if n > 0:
            kernel_zero[(min(triton.cdiv(n, 1024), 4096),)](out, n, BLOCK=1024)
        return out
    out = torch.empty(batch + [P, M], dtype=x1.dtype, device=x1.device)
    if p == 0.0:
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
    a = aligned(x1.expand(batch + [P, M]))
    b = aligned(x2.expand(batch + [R, M]))
    g = aligned(grad.expand(batch + [P, R]))
    dist = aligned(cdist.expand(batch + [P, R]))
    power = p - 1.0 if kind == 4 else 1.0
    kernel_grad[(min(triton.cdiv(total, 256), 4096),)](
        g, a, b, dist, out, total, P, R, M, power, KIND=kind, BLOCK=256
    )
    return out
