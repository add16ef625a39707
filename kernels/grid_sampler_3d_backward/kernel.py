# Generated: the kernel of aten::grid_sampler_3d_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
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
        v = rnd((rnd(c + 1.0, T) * 0.5) * last, T)
        mult = last * 0.5
    else:
        v = rnd(rnd(rnd(c + 1.0, T) * n, T) - 1.0, T) * 0.5
        mult = n * 0.5
    if PAD == 2:
        if ALIGN:
            low = 0.0
            span = rnd(zero + 2.0 * (size - 1.0), T) * 0.5
        else:
            low = -0.5
            span = rnd(zero + 2.0 * size, T) * 0.5
        safe = tl.where(span > 0.0, span, 1.0)
        d = rnd(v - low, T)
        y = tl.abs(d)
        extra = libdevice.fmod(y, safe)
        flips = tl.floor(rnd(tl.div_rn(y, safe), T))
        even = (flips - 2.0 * tl.floor(flips * 0.5)) == 0.0
        r = tl.where(even, rnd(extra + low, T), rnd(rnd(safe - extra, T) + low, T))
        sign = tl.where(d < 0.0, -1.0, 1.0)
        sign = tl.where(even, sign, -sign)
        v = tl.where(span > 0.0, r, zero)
        mult = tl.where(span > 0.0, mult * sign, zero)
    if PAD != 0:
        out = (v <= 0.0) | (v >= last)
        v = tl.where(v <= 0.0, 0.0, v)
        v = tl.where(v >= last, last, v)
        mult = tl.where(out, 0.0, mult)
    return v, mult


@triton.jit
def kernel_zero(ptr, n, T: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(ptr + i, tl.zeros([BLOCK], dtype=T), mask=i < n)


@triton.jit
def kernel_input(
    go_ptr, grid_ptr, gi_ptr, planes, begin, end, S, C, D, H, W, fD, fH, fW,
    MODE: tl.constexpr, PAD: tl.constexpr, ALIGN: tl.constexpr, TAPS: tl.constexpr,
    T: tl.constexpr, BLOCK: tl.constexpr,
):
    plane = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = plane < planes
    n = plane // C
    for s in range(begin, end):
        gp = grid_ptr + (n * S + s) * 3
        cx = tl.reshape(tl.load(gp[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        cy = tl.reshape(tl.load((gp + 1)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        cz = tl.reshape(tl.load((gp + 2)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        go = tl.reshape(tl.load((go_ptr + plane * S + s)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        x, mx = place(cx, fW, PAD, ALIGN, T)
        y, my = place(cy, fH, PAD, ALIGN, T)
        z, mz = place(cz, fD, PAD, ALIGN, T)
        if MODE == 1:
            x0 = libdevice.rint(x)
            y0 = libdevice.rint(y)
            z0 = libdevice.rint(z)
        else:
            x0 = tl.floor(x)
            y0 = tl.floor(y)
            z0 = tl.floor(z)
        for k in range(0, TAPS):
            jx = (k & 1) * 1.0
            jy = ((k >> 1) & 1) * 1.0
            jz = ((k >> 2) & 1) * 1.0
            px = x0 + jx
            py = y0 + jy
            pz = z0 + jz
            ok = mask & (px >= 0.0) & (px < fW) & (py >= 0.0) & (py < fH) & (pz >= 0.0) & (pz < fD)
            xi = tl.where(ok, px, 0.0).to(tl.int64)
            yi = tl.where(ok, py, 0.0).to(tl.int64)
            zi = tl.where(ok, pz, 0.0).to(tl.int64)
            dst = gi_ptr + plane * D * H * W + (zi * H + yi) * W + xi
            share = go
            if MODE != 1:
                wx = tl.where(jx > 0.0, rnd(x - rnd(x0, T), T), rnd(rnd(x0 + 1.0, T) - x, T))
                wy = tl.where(jy > 0.0, rnd(y - rnd(y0, T), T), rnd(rnd(y0 + 1.0, T) - y, T))
                wz = tl.where(jz > 0.0, rnd(z - rnd(z0, T), T), rnd(rnd(z0 + 1.0, T) - z, T))
                share = rnd(rnd(rnd(wx * wy, T) * wz, T) * go, T)
            old = tl.reshape(tl.load(dst[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
            tl.store(dst[:, None], (old + share)[:, None], mask=ok[:, None])
            tl.debug_barrier()


@triton.jit
def kernel_backward(
    go_ptr, x_ptr, grid_ptr, gi_ptr, gg_ptr, total, S, C, D, H, W, fD, fH, fW,
    MODE: tl.constexpr, PAD: tl.constexpr, ALIGN: tl.constexpr,
    WANT_IN: tl.constexpr, WANT_GRID: tl.constexpr, TAPS: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        n = i // S
        s = i % S
        gp = grid_ptr + i * 3
        cx = tl.reshape(tl.load(gp[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        cy = tl.reshape(tl.load((gp + 1)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        cz = tl.reshape(tl.load((gp + 2)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        x, mx = place(cx, fW, PAD, ALIGN, T)
        y, my = place(cy, fH, PAD, ALIGN, T)
        z, mz = place(cz, fD, PAD, ALIGN, T)
        if MODE == 1:
            x0 = libdevice.rint(x)
            y0 = libdevice.rint(y)
            z0 = libdevice.rint(z)
        else:
            x0 = tl.floor(x)
            y0 = tl.floor(y)
            z0 = tl.floor(z)
        dx = tl.zeros([BLOCK], dtype=tl.float32)
        dy = tl.zeros([BLOCK], dtype=tl.float32)
        dz = tl.zeros([BLOCK], dtype=tl.float32)
        for c in range(0, C):
            plane = n * C + c
            go = tl.reshape(tl.load((go_ptr + plane * S + s)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
            for k in range(0, TAPS):
                jx = (k & 1) * 1.0
                jy = ((k >> 1) & 1) * 1.0
                jz = ((k >> 2) & 1) * 1.0
                px = x0 + jx
                py = y0 + jy
                pz = z0 + jz
                ok = mask & (px >= 0.0) & (px < fW) & (py >= 0.0) & (py < fH) & (pz >= 0.0) & (pz < fD)
                xi = tl.where(ok, px, 0.0).to(tl.int64)
                yi = tl.where(ok, py, 0.0).to(tl.int64)
                zi = tl.where(ok, pz, 0.0).to(tl.int64)
                at = plane * D * H * W + (zi * H + yi) * W + xi
                if MODE == 1:
                    if WANT_IN:
                        tl.atomic_add((gi_ptr + at)[:, None], go[:, None], mask=ok[:, None])
                else:
                    ex = 2.0 * jx - 1.0
                    ey = 2.0 * jy - 1.0
                    ez = 2.0 * jz - 1.0
                    wx = tl.where(jx > 0.0, rnd(x - rnd(x0, T), T), rnd(rnd(x0 + 1.0, T) - x, T))
                    wy = tl.where(jy > 0.0, rnd(y - rnd(y0, T), T), rnd(rnd(y0 + 1.0, T) - y, T))
                    wz = tl.where(jz > 0.0, rnd(z - rnd(z0, T), T), rnd(rnd(z0 + 1.0, T) - z, T))
                    if WANT_GRID:
                        v = tl.reshape(tl.load((x_ptr + at)[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
                        ax = rnd(rnd(rnd(v * wy, T) * wz, T) * go, T)
                        ay = rnd(rnd(rnd(v * wx, T) * wz, T) * go, T)
                        az = rnd(rnd(rnd(v * wx, T) * wy, T) * go, T)
                        dx = rnd(dx + tl.where(ok, ax * ex, 0.0), T)
                        dy = rnd(dy + tl.where(ok, ay * ey, 0.0), T)
                        dz = rnd(dz + tl.where(ok, az * ez, 0.0), T)
                    if WANT_IN:
                        share = tl.where(ok, go * (wx * wy * wz), 0.0)
                        tl.atomic_add((gi_ptr + at)[:, None], share[:, None], mask=ok[:, None])
        if WANT_GRID:
            dst = gg_ptr + i * 3
            tl.store(dst[:, None], (dx * mx)[:, None], mask=mask[:, None])
            tl.store((dst + 1)[:, None], (dy * my)[:, None], mask=mask[:, None])
            tl.store((dst + 2)[:, None], (dz * mz)[:, None], mask=mask[:, None])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask):
    want_in, want_grid = bool(output_mask[0]), bool(output_mask[1])
    N, C, D, H, W = list(input.shape)
    OD, OH, OW = list(grid.shape)[1:4]
    device = input.device
    grad_input = torch.empty((N, C, D, H, W), dtype=input.dtype, device=device) if want_in else None
    grad_grid = torch.empty(list(grid.shape), dtype=grid.dtype, device=device) if want_grid else None
    size = N * C * D * H * W
    kept = tl.bfloat16 if input.dtype == torch.bfloat16 else tl.float16 if input.dtype == torch.float16 else tl.float32
    half = input.dtype != torch.float32
    do_in = want_in and size > 0
    if do_in:
        kernel_zero[(min(triton.cdiv(size, 1024), 4096),)](grad_input, size, T=kept, BLOCK=1024)
    S = OD * OH * OW
    total = N * S
    taps = 1 if interpolation_mode == 1 else 8
    if total > 0 and (do_in or want_grid):
        places = aligned(grid)
        x = aligned(input) if size > 0 else places
        go = aligned(grad_output) if size > 0 else places
        if do_in and half:
            planes = N * C
            lanes = 16
            longest = 100000
            for begin in range(0, S, longest):
                kernel_input[(triton.cdiv(planes, lanes),)](
                    go, places, grad_input, planes, begin, min(begin + longest, S), S, C, D, H, W,
                    float(D), float(H), float(W),
                    MODE=interpolation_mode, PAD=padding_mode, ALIGN=bool(align_corners), TAPS=taps,
                    T=kept, BLOCK=lanes, enable_scatter_stores=True,
                )
        if want_grid or not half:
            kernel_backward[(min(triton.cdiv(total, 256), 4096),)](
                go, x, places, grad_input if do_in else places, grad_grid if want_grid else places,
                total, S, C, D, H, W, float(D), float(H), float(W),
                MODE=interpolation_mode, PAD=padding_mode, ALIGN=bool(align_corners),
                WANT_IN=do_in and not half, WANT_GRID=want_grid, TAPS=taps, T=kept, BLOCK=256,
                enable_scatter_stores=True,
            )
    return grad_input, grad_grid
