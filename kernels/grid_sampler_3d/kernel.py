# Generated: the kernel of aten::grid_sampler_3d for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def rnd(v, T: tl.constexpr):
    return v.to(T).to(tl.float32)


@triton.jit
def place(c, size, PAD: tl.constexpr, ALIGN: tl.constexpr, T: tl.constexpr):
    zero = tl.zeros_like(c)
    n = rnd(zero + size, T)
    last = rnd(zero + (size - 1.0), T)
    if ALIGN:
        x = rnd((rnd(c + 1.0, T) * 0.5) * last, T)
    else:
        x = rnd(rnd(rnd(c + 1.0, T) * n, T) - 1.0, T) * 0.5
    if PAD == 2:
        if ALIGN:
            low = 0.0
            span = rnd(zero + 2.0 * (size - 1.0), T) * 0.5
        else:
            low = -0.5
            span = rnd(zero + 2.0 * size, T) * 0.5
        safe = tl.where(span > 0.0, span, 1.0)
        y = tl.abs(rnd(x - low, T))
        extra = libdevice.fmod(y, safe)
        flips = tl.floor(rnd(tl.div_rn(y, safe), T))
        even = flips - 2.0 * tl.floor(flips * 0.5) == 0.0
        x = tl.where(even, rnd(extra + low, T), rnd(rnd(safe - extra, T) + low, T))
        x = tl.where(span > 0.0, x, zero)
    if PAD != 0:
        x = tl.where(x < 0.0, 0.0, x)
        x = tl.where(x < last, x, last)
    return x


@triton.jit
def kernel_sample(
    x_ptr, grid_ptr, out_ptr, items, blocks, S, C, D, H, W, fD, fH, fW,
    MODE: tl.constexpr, PAD: tl.constexpr, ALIGN: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):
    for item in range(tl.program_id(0).to(tl.int64), items, tl.num_programs(0)):
        n = item // blocks
        s = (item - n * blocks) * BLOCK + tl.arange(0, BLOCK)
        mask = s < S
        gp = grid_ptr + n * S * 3 + s * 3
        gx = tl.reshape(tl.load(gp[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        gy = tl.reshape(tl.load((gp + 1)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        gz = tl.reshape(tl.load((gp + 2)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        x = place(gx, fW, PAD, ALIGN, T)
        y = place(gy, fH, PAD, ALIGN, T)
        z = place(gz, fD, PAD, ALIGN, T)
        if MODE == 1:
            x = libdevice.rint(x)
            y = libdevice.rint(y)
            z = libdevice.rint(z)
            ok = mask & (x >= 0.0) & (x < fW) & (y >= 0.0) & (y < fH) & (z >= 0.0) & (z < fD)
            xi = tl.where(ok, x, 0.0).to(tl.int64)
            yi = tl.where(ok, y, 0.0).to(tl.int64)
            zi = tl.where(ok, z, 0.0).to(tl.int64)
            at = (zi * H + yi) * W + xi
            for c in range(0, C):
                plane = n * C + c
                src = x_ptr + plane * D * H * W + at
                v = tl.load(src[:, None], mask=ok[:, None], other=0)
                tl.store((out_ptr + plane * S + s)[:, None], v, mask=mask[:, None])
        else:
            x0 = tl.floor(x)
            y0 = tl.floor(y)
            z0 = tl.floor(z)
            for c in range(0, C):
                plane = n * C + c
                acc = tl.zeros([BLOCK], dtype=tl.float32)
                for k in range(0, 8):
                    right = (k & 1) == 1
                    lower = ((k >> 1) & 1) == 1
                    back = ((k >> 2) & 1) == 1
                    cx = tl.where(right, x0 + 1.0, x0)
                    cy = tl.where(lower, y0 + 1.0, y0)
                    cz = tl.where(back, z0 + 1.0, z0)
                    wx = rnd(tl.where(right, x - rnd(x0, T), rnd(x0 + 1.0, T) - x), T)
                    wy = rnd(tl.where(lower, y - rnd(y0, T), rnd(y0 + 1.0, T) - y), T)
                    wz = rnd(tl.where(back, z - rnd(z0, T), rnd(z0 + 1.0, T) - z), T)
                    ok = mask & (cx >= 0.0) & (cx < fW) & (cy >= 0.0) & (cy < fH) & (cz >= 0.0) & (cz < fD)
                    xi = tl.where(ok, cx, 0.0).to(tl.int64)
                    yi = tl.where(ok, cy, 0.0).to(tl.int64)
                    zi = tl.where(ok, cz, 0.0).to(tl.int64)
                    src = x_ptr + plane * D * H * W + (zi * H + yi) * W + xi
                    v = tl.reshape(tl.load(src[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
                    weight = rnd(rnd(wx * wy, T) * wz, T)
                    acc = rnd(acc + tl.where(ok, rnd(v * weight, T), 0.0), T)
                tl.store((out_ptr + plane * S + s)[:, None], acc[:, None], mask=mask[:, None])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(input, grid, interpolation_mode, padding_mode, align_corners):
    N, C, D, H, W = list(input.shape)
    OD, OH, OW = list(grid.shape)[1:4]
    out = torch.empty((N, C, OD, OH, OW), dtype=input.dtype, device=input.device)
    if out.numel() == 0:
        return out
    S = OD * OH * OW
    blocks = triton.cdiv(S, 256)
    items = N * blocks
    kept = tl.bfloat16 if input.dtype == torch.bfloat16 else tl.float16 if input.dtype == torch.float16 else tl.float32
    kernel_sample[(min(items, 4096),)](
        aligned(input), aligned(grid), out, items, blocks, S, C, D, H, W, float(D), float(H), float(W),
        MODE=interpolation_mode, PAD=padding_mode, ALIGN=bool(align_corners), T=kept, BLOCK=256,
    )
    return out
