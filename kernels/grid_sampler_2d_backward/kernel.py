# Generated: the kernel of aten::grid_sampler_2d_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def reflected(v, size, ALIGN: tl.constexpr):
    if ALIGN:
        low = 0.0
        span = size - 1.0
    else:
        low = -0.5
        span = size + 0.0
    safe = tl.where(span > 0.0, span, 1.0)
    d = v - low
    y = tl.abs(d)
    whole = tl.zeros_like(y) + safe
    extra = libdevice.fmod(y, whole)
    flips = tl.floor(tl.div_rn(y, whole))
    even = (flips - 2.0 * tl.floor(flips * 0.5)) == 0.0
    r = tl.where(even, extra + low, safe - extra + low)
    sign = tl.where(d < 0.0, -1.0, 1.0)
    sign = tl.where(even, sign, -sign)
    zero = tl.zeros_like(y)
    return tl.where(span > 0.0, r, zero), tl.where(span > 0.0, sign, zero)


@triton.jit
def clipped(v, size):
    top = size - 1.0
    inside = (v > 0.0) & (v < top)
    r = tl.where(v > 0.0, v, 0.0)
    return tl.where(r < top, r, top), tl.where(inside, 1.0, 0.0)


@triton.jit
def rnd(v, T: tl.constexpr):
    return v.to(T).to(tl.float32)


@triton.jit
def unnormal(c, size, ALIGN: tl.constexpr, T: tl.constexpr):
    zero = tl.zeros_like(c)
    if ALIGN:
        v = rnd(rnd(c + 1.0, T) * (rnd(zero + (size - 1.0), T) * 0.5), T)
    else:
        v = rnd(rnd(rnd(c + 1.0, T) * (rnd(zero + size, T) * 0.5), T) - 0.5, T)
    return v


@triton.jit
def place(c, size, PAD: tl.constexpr, ALIGN: tl.constexpr, T: tl.constexpr):
    v = unnormal(c, size, ALIGN, T)
    mult = tl.zeros_like(v) + 1.0
    if PAD == 2:
        v, turn = reflected(v, size, ALIGN)
        v = rnd(v, T)
        mult = mult * turn
    if PAD != 0:
        v, keep = clipped(v, size)
        v = rnd(v, T)
        mult = mult * keep
    return v, mult


@triton.jit
def corner(ptr, plane, px, py, mask, H, W, fH, fW, BLOCK: tl.constexpr):
    ok = mask & (px >= 0.0) & (px < fW) & (py >= 0.0) & (py < fH)
    at = tl.where(ok, py, 0.0).to(tl.int64) * W + tl.where(ok, px, 0.0).to(tl.int64)
    v = tl.load((ptr + plane * H * W + at)[:, None], mask=ok[:, None], other=0)
    return tl.reshape(v, [BLOCK]).to(tl.float32)


@triton.jit
def kernel_linear_grid(
    go_ptr, x_ptr, grid_ptr, gg_ptr, total, S, C, H, W, fH, fW,
    PAD: tl.constexpr, ALIGN: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        n = i // S
        s = i % S
        gp = grid_ptr + i * 2
        cx = tl.reshape(tl.load(gp[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        cy = tl.reshape(tl.load((gp + 1)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        x, mx = place(cx, fW, PAD, ALIGN, T)
        y, my = place(cy, fH, PAD, ALIGN, T)
        x0 = tl.floor(x)
        y0 = tl.floor(y)
        w = rnd(x - x0, T)
        e = rnd(1.0 - w, T)
        north = rnd(y - y0, T)
        south = rnd(1.0 - north, T)
        dx = tl.zeros([BLOCK], dtype=tl.float32)
        dy = tl.zeros([BLOCK], dtype=tl.float32)
        for c in range(0, C):
            plane = n * C + c
            go = tl.reshape(tl.load((go_ptr + plane * S + s)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
            nw = corner(x_ptr, plane, x0, y0, mask, H, W, fH, fW, BLOCK)
            ne = corner(x_ptr, plane, x0 + 1.0, y0, mask, H, W, fH, fW, BLOCK)
            sw = corner(x_ptr, plane, x0, y0 + 1.0, mask, H, W, fH, fW, BLOCK)
            se = corner(x_ptr, plane, x0 + 1.0, y0 + 1.0, mask, H, W, fH, fW, BLOCK)
            ax = rnd(rnd(rnd(ne - nw, T) * south, T) + rnd(rnd(se - sw, T) * north, T), T)
            ay = rnd(rnd(rnd(sw - nw, T) * e, T) + rnd(rnd(se - ne, T) * w, T), T)
            dx = rnd(dx + rnd(ax * go, T), T)
            dy = rnd(dy + rnd(ay * go, T), T)
        if ALIGN:
            sx = (fW - 1.0) * 0.5
            sy = (fH - 1.0) * 0.5
        else:
            sx = fW * 0.5
            sy = fH * 0.5
        dst = gg_ptr + i * 2
        dx = tl.where(mx != 0.0, dx * (mx * sx), 0.0)
        dy = tl.where(my != 0.0, dy * (my * sy), 0.0)
        tl.store(dst[:, None], dx[:, None], mask=mask[:, None])
        tl.store((dst + 1)[:, None], dy[:, None], mask=mask[:, None])


@triton.jit
def kernel_zero_half(ptr, n, T: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(ptr + i, tl.zeros([BLOCK], dtype=T), mask=i < n)


@triton.jit
def kernel_input(
    go_ptr, grid_ptr, gi_ptr, planes, begin, end, S, C, H, W, fH, fW,
    MODE: tl.constexpr, PAD: tl.constexpr, ALIGN: tl.constexpr, TAPS: tl.constexpr,
    T: tl.constexpr, BLOCK: tl.constexpr,
):
    plane = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    n = plane // C
    for t in range(begin, end):
        group = t // (16 * TAPS)
        rest = t % (16 * TAPS)
        k = rest // 16
        s = group * 16 + rest % 16
        mask = (plane < planes) & (s < S)
        gp = grid_ptr + (n * S + s) * 2
        cx = tl.reshape(tl.load(gp[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        cy = tl.reshape(tl.load((gp + 1)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        go = tl.reshape(tl.load((go_ptr + plane * S + s)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        if MODE == 2:
            x = unnormal(cx, fW, ALIGN, T)
            y = unnormal(cy, fH, ALIGN, T)
            x0 = tl.floor(x)
            y0 = tl.floor(y)
            jx = (k // 4) - 1.0
            jy = (k % 4) - 1.0
            wx, ex = cubic(x - x0 - jx)
            wy, ey = cubic(y - y0 - jy)
            px = bounded(x0 + jx, fW, PAD, ALIGN)
            py = bounded(y0 + jy, fH, PAD, ALIGN)
            share = rnd(rnd(go * rnd(wx, T), T) * rnd(wy, T), T)
        else:
            x, mx = place(cx, fW, PAD, ALIGN, T)
            y, my = place(cy, fH, PAD, ALIGN, T)
            if MODE == 1:
                px = libdevice.rint(x)
                py = libdevice.rint(y)
                share = go
            else:
                jx = (k % 2) * 1.0
                jy = (k // 2) * 1.0
                px = tl.floor(x) + jx
                py = tl.floor(y) + jy
                w = rnd(x - tl.floor(x), T)
                north = rnd(y - tl.floor(y), T)
                wx = tl.where(jx > 0.0, w, rnd(1.0 - w, T))
                wy = tl.where(jy > 0.0, north, rnd(1.0 - north, T))
                share = rnd(rnd(wx * wy, T) * go, T)
        ok = mask & (px >= 0.0) & (px < fW) & (py >= 0.0) & (py < fH)
        xi = tl.where(ok, px, 0.0).to(tl.int64)
        yi = tl.where(ok, py, 0.0).to(tl.int64)
        dst = gi_ptr + plane * H * W + yi * W + xi
        old = tl.reshape(tl.load(dst[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
        tl.store(dst[:, None], (old + share)[:, None], mask=ok[:, None])
        tl.debug_barrier()


@triton.jit
def bounded(v, size, PAD: tl.constexpr, ALIGN: tl.constexpr):
    if PAD == 2:
        v, turn = reflected(v, size, ALIGN)
    if PAD != 0:
        v, keep = clipped(v, size)
    return v


@triton.jit
def cubic(u):
    d = tl.abs(u)
    near = (1.25 * d - 2.25) * d * d + 1.0
    far = ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0
    dnear = (3.75 * d - 4.5) * d
    dfar = (-2.25 * d + 7.5) * d - 6.0
    w = tl.where(d <= 1.0, near, far)
    g = tl.where(d <= 1.0, dnear, dfar)
    return w, tl.where(u < 0.0, -g, g)


@triton.jit
def kernel_zero(ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        tl.store(ptr + i, tl.zeros([BLOCK], dtype=tl.float32), mask=i < n)


@triton.jit
def kernel_round(src_ptr, dst_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(src_ptr + i, mask=i < n, other=0)
        tl.store(dst_ptr + i, v, mask=i < n)


@triton.jit
def kernel_backward(
    go_ptr, x_ptr, grid_ptr, gi_ptr, gg_ptr, total, S, C, H, W, fH, fW,
    MODE: tl.constexpr, PAD: tl.constexpr, ALIGN: tl.constexpr,
    WANT_IN: tl.constexpr, WANT_GRID: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK).to(tl.int64)
        mask = i < total
        n = i // S
        s = i % S
        gp = grid_ptr + i * 2
        cx = tl.reshape(tl.load(gp[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        cy = tl.reshape(tl.load((gp + 1)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
        if ALIGN:
            sx = (fW - 1.0) * 0.5
            sy = (fH - 1.0) * 0.5
        else:
            sx = fW * 0.5
            sy = fH * 0.5
        dx = tl.zeros([BLOCK], dtype=tl.float32)
        dy = tl.zeros([BLOCK], dtype=tl.float32)
        if MODE == 2:
            x = unnormal(cx, fW, ALIGN, T)
            y = unnormal(cy, fH, ALIGN, T)
            mx = tl.zeros([BLOCK], dtype=tl.float32) + 1.0
            my = tl.zeros([BLOCK], dtype=tl.float32) + 1.0
            x0 = tl.floor(x)
            y0 = tl.floor(y)
            tx = x - x0
            ty = y - y0
        else:
            x, mx = place(cx, fW, PAD, ALIGN, T)
            y, my = place(cy, fH, PAD, ALIGN, T)
            if MODE == 1:
                x0 = libdevice.rint(x)
                y0 = libdevice.rint(y)
            else:
                x0 = tl.floor(x)
                y0 = tl.floor(y)
            tx = x - x0
            ty = y - y0
        if MODE == 2:
            TAPS: tl.constexpr = 16
        elif MODE == 1:
            TAPS: tl.constexpr = 1
        else:
            TAPS: tl.constexpr = 4
        for c in range(0, C):
            plane = n * C + c
            go = tl.reshape(tl.load((go_ptr + plane * S + s)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
            for k in range(0, TAPS):
                if MODE == 2:
                    jx = (k & 3) - 1.0
                    jy = (k >> 2) - 1.0
                    wx, ex = cubic(tx - jx)
                    wy, ey = cubic(ty - jy)
                    px = bounded(x0 + jx, fW, PAD, ALIGN)
                    py = bounded(y0 + jy, fH, PAD, ALIGN)
                elif MODE == 1:
                    wx = tl.zeros([BLOCK], dtype=tl.float32) + 1.0
                    wy = tl.zeros([BLOCK], dtype=tl.float32) + 1.0
                    ex = tl.zeros([BLOCK], dtype=tl.float32)
                    ey = tl.zeros([BLOCK], dtype=tl.float32)
                    px = x0
                    py = y0
                else:
                    jx = (k & 1) * 1.0
                    jy = (k >> 1) * 1.0
                    px = x0 + jx
                    py = y0 + jy
                    wx = 1.0 - jx + (2.0 * jx - 1.0) * tx
                    wy = 1.0 - jy + (2.0 * jy - 1.0) * ty
                    ex = tl.zeros([BLOCK], dtype=tl.float32) + (2.0 * jx - 1.0)
                    ey = tl.zeros([BLOCK], dtype=tl.float32) + (2.0 * jy - 1.0)
                ok = mask & (px >= 0.0) & (px < fW) & (py >= 0.0) & (py < fH)
                xi = tl.where(ok, px, 0.0).to(tl.int64)
                yi = tl.where(ok, py, 0.0).to(tl.int64)
                at = plane * H * W + yi * W + xi
                if WANT_GRID:
                    if MODE != 1:
                        v = tl.reshape(tl.load((x_ptr + at)[:, None], mask=ok[:, None], other=0), [BLOCK]).to(tl.float32)
                        dx += tl.where(ok, v * go * (ex * wy), 0.0)
                        dy += tl.where(ok, v * go * (wx * ey), 0.0)
                if WANT_IN:
                    share = tl.where(ok, go * (wx * wy), 0.0)
                    tl.atomic_add((gi_ptr + at)[:, None], share[:, None], mask=ok[:, None])
        if WANT_GRID:
            dst = gg_ptr + i * 2
            tl.store(dst[:, None], (dx * (mx * sx))[:, None], mask=mask[:, None])
            tl.store((dst + 1)[:, None], (dy * (my * sy))[:, None], mask=mask[:, None])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask):
    want_in, want_grid = bool(output_mask[0]), bool(output_mask[1])
    N, C, H, W = list(input.shape)
    OH, OW = list(grid.shape)[1:3]
    device = input.device
    grad_input = torch.empty((N, C, H, W), dtype=input.dtype, device=device) if want_in else None
    grad_grid = torch.empty(list(grid.shape), dtype=grid.dtype, device=device) if want_grid else None
    size = N * C * H * W
    kept = tl.bfloat16 if input.dtype == torch.bfloat16 else tl.float16 if input.dtype == torch.float16 else tl.float32
    half = input.dtype != torch.float32
    acc = None
    if want_in and size > 0:
        acc = grad_input
        kernel_zero_half[(min(triton.cdiv(size, 1024), 4096),)](acc, size, T=kept, BLOCK=1024)
    S = OH * OW
    total = N * S
    do_in = acc is not None
    if total > 0 and (do_in or want_grid):
        grid_ = aligned(grid)
        x = aligned(input) if size > 0 else grid_
        go = aligned(grad_output) if size > 0 else grid_
        taps = (4, 1, 16)[interpolation_mode]
        if do_in and half:
            turns = triton.cdiv(S, 16) * 16 * taps
            for begin in range(0, turns, 1000000):
                kernel_input[(triton.cdiv(N * C, 16),)](
                    go, grid_, acc, N * C, begin, min(begin + 1000000, turns), S, C, H, W, float(H), float(W),
                    MODE=interpolation_mode, PAD=padding_mode, ALIGN=bool(align_corners), TAPS=taps,
                    T=kept, BLOCK=16, enable_scatter_stores=True,
                )
        if half and want_grid and interpolation_mode == 0:
            kernel_linear_grid[(min(triton.cdiv(total, 256), 4096),)](
                go, x, grid_, grad_grid, total, S, C, H, W, float(H), float(W),
                PAD=padding_mode, ALIGN=bool(align_corners), T=kept, BLOCK=256,
            )
        elif want_grid or not half:
            kernel_backward[(min(triton.cdiv(total, 256), 4096),)](
                go, x, grid_, acc if do_in else grid_, grad_grid if want_grid else grid_,
                total, S, C, H, W, float(H), float(W),
                MODE=interpolation_mode, PAD=padding_mode, ALIGN=bool(align_corners),
                WANT_IN=do_in and not half, WANT_GRID=want_grid, T=kept, BLOCK=256, enable_scatter_stores=True,
            )
    return grad_input, grad_grid
