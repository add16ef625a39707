# Generated: the kernel of aten::_cdist_forward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_cdist(
    a_ptr, b_ptr, out_ptr, total, P, R, M, p, inv_p, inv_rest, KIND: tl.constexpr, BINARY: tl.constexpr, BLOCK: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        mask = i < total
        r = i % R
        row = i // R
        batch = row // P
        a_row = a_ptr + row * M
        b_row = b_ptr + (batch * R + r) * M
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        top = tl.zeros([BLOCK], dtype=tl.float32)
        if KIND >= 2:
            for k in range(0, M):
                a = tl.reshape(tl.load((a_row + k)[:, None], mask=mask[:, None], other=0), [BLOCK])
                b = tl.reshape(tl.load((b_row + k)[:, None], mask=mask[:, None], other=0), [BLOCK])
                d = tl.abs(a - b)
                top = tl.where((d > top) | (d != d), d, top)
        if KIND != 3:
            if BINARY:
                unit = (top.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)
                unit = tl.where(unit > 0.0, unit, 1.1754943508222875e-38)
            else:
                unit = top
            safe = tl.where((top > 0.0) & (top < float("inf")), unit, 1.0)
            lost = tl.zeros([BLOCK], dtype=tl.float32)
            for k in range(0, M):
                a = tl.reshape(tl.load((a_row + k)[:, None], mask=mask[:, None], other=0), [BLOCK])
                b = tl.reshape(tl.load((b_row + k)[:, None], mask=mask[:, None], other=0), [BLOCK])
                d = tl.abs(a - b)
                if KIND == 0:
                    term = tl.where(d != 0.0, 1.0, 0.0)
                elif KIND == 1:
                    term = d
                elif KIND == 2:
                    q = tl.div_rn(d, safe)
                    term = q * q
                else:
                    q = tl.div_rn(d, safe)
                    term = libdevice.pow(q, tl.zeros([BLOCK], dtype=tl.float32) + p)
                y = term - lost
                t = acc + y
                lost = (t - acc) - y
                lost = tl.where(lost == lost, lost, 0.0)
                acc = t
            if KIND == 2:
                acc = tl.sqrt_rn(acc) * safe
            elif KIND == 4:
                root = libdevice.pow(acc, tl.zeros([BLOCK], dtype=tl.float32) + inv_p)
                ok = (acc > 0.0) & (acc < float("inf"))
                root = tl.where(ok, root + root * (inv_rest * tl.log(tl.where(ok, acc, 1.0))), root)
                acc = root * safe
        else:
            acc = top
        tl.store(out_ptr + i, acc, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(x1, x2, p, compute_mode=None):
    batch = list(torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]))
    P, M, R = x1.shape[-2], x1.shape[-1], x2.shape[-2]
    out = torch.empty(batch + [P, R], dtype=x1.dtype, device=x1.device)
    total = out.numel()
    if total == 0:
        return out
    if M == 0:
        a = out
        b = out
    else:
        a = aligned(x1.expand(batch + [P, M]))
        b = aligned(x2.expand(batch + [R, M]))
    p = float(p)
    inverse = 1.0
    if p == 0.0:
        kind = 0
    elif p == 1.0:
        kind = 1
    elif p == 2.0:
        kind = 2
    elif p == math.inf:
        kind, p = 3, 1.0
    else:
        kind, inverse = 4, 1.0 / p
    high = inverse
    if kind == 4:
        fraction, exponent = math.frexp(inverse)
        high = math.ldexp(float(round(fraction * 16777216.0)), exponent - 24)
    kernel_cdist[(min(triton.cdiv(total, 256), 4096),)](
        a, b, out, total, P, R, M, p, high, inverse - high, KIND=kind, BINARY=p <= 64.0, BLOCK=256
    )
    return out
