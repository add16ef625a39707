# Generated: the kernel of aten::grid_sampler_2d for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def place(g, size, ALIGN: tl.constexpr):
    if ALIGN:
        r = (g + 1.0) * ((size - 1) * 0.5)
    else:
        r = (g + 1.0) * (size * 0.5) - 0.5
    return r


@triton.jit
def fit(x, size, PADDING: tl.constexpr, ALIGN: tl.constexpr):
    r = x
    if PADDING == 2:
        if ALIGN:
            a = tl.abs(x)
            twice = tl.zeros_like(x) + (size - 1) * 2.0
            extra = a - tl.floor(a / tl.maximum(twice, 1.0)) * twice
            r = tl.minimum(extra, twice - extra)
        else:
            a = tl.abs(x + 0.5)
            twice = tl.zeros_like(x) + size * 2.0
            extra = a - tl.floor(a / twice) * twice
            r = tl.minimum(extra, twice - extra) - 0.5
    if PADDING != 0:
        # NaN goes to 0.
        r = tl.where(r > 0.0, r, 0.0)
        r = tl.minimum(r, tl.zeros_like(x) + (size - 1) * 1.0)
    return r


@triton.jit
def share(t, k, MODE: tl.constexpr):
    if MODE == 0:
        r = tl.where(k == 0, 1.0 - t, t)
    else:
        u = 1.0 - t
        c0 = -0.75 * t * u * u
        c1 = (1.25 * t - 2.25) * t * t + 1.0
        c2 = (1.25 * u - 2.25) * u * u + 1.0
        c3 = -0.75 * u * t * t
        r = tl.where(k == 0, c0, tl.where(k == 1, c1, tl.where(k == 2, c2, c3)))
    return r


@triton.jit
def kernel_sample(x_ptr, grid_ptr, out_ptr, total, tiles, channels, h, w, area, pitch, MODE: tl.constexpr,
                  PADDING: tl.constexpr, ALIGN: tl.constexpr, TAPS: tl.constexpr, LEAD: tl.constexpr,
                  BLOCK: tl.constexpr):
    for work in range(tl.program_id(0).to(tl.int64), total, tl.num_programs(0)):
        plane = work // tiles
        sample = plane // channels
        at = (work % tiles) * BLOCK + tl.arange(0, BLOCK)
        live = at < area
        g = grid_ptr + (sample * area + at) * 2
        x = place(tl.load(g, mask=live, other=0.0).to(tl.float32), w, ALIGN)
        y = place(tl.load(g + 1, mask=live, other=0.0).to(tl.float32), h, ALIGN)
        base = x_ptr + plane * h * w
        if MODE == 1:
            xx = libdevice.rint(fit(x, w, PADDING, ALIGN))
            yy = libdevice.rint(fit(y, h, PADDING, ALIGN))
            ok = live & (xx >= 0.0) & (xx < w) & (yy >= 0.0) & (yy < h)
            spot = tl.where(ok, yy, 0.0).to(tl.int64) * w + tl.where(ok, xx, 0.0).to(tl.int64)
            acc = tl.load(base + spot, mask=ok, other=0.0).to(tl.float32)
        else:
            if MODE == 0:
                x = fit(x, w, PADDING, ALIGN)
                y = fit(y, h, PADDING, ALIGN)
            fx = tl.floor(x)
            fy = tl.floor(y)
            tx = x - fx
            ty = y - fy
            acc = tl.zeros([BLOCK], tl.float32)
            for j in range(0, TAPS):
                yy = fy + (j - LEAD).to(tl.float32)
                if MODE == 2:
                    yy = fit(yy, h, PADDING, ALIGN)
                row_ok = live & (yy >= 0.0) & (yy < h)
                line = tl.where(row_ok, yy, 0.0).to(tl.int64) * w
                row = tl.zeros([BLOCK], tl.float32)
                for i in range(0, TAPS):
                    xx = fx + (i - LEAD).to(tl.float32)
                    if MODE == 2:
                        xx = fit(xx, w, PADDING, ALIGN)
                    ok = row_ok & (xx >= 0.0) & (xx < w)
                    spot = line + tl.where(ok, xx, 0.0).to(tl.int64)
                    v = tl.load(base + spot, mask=ok, other=0.0).to(tl.float32)
                    row += v * share(tx, i, MODE)
                acc += row * share(ty, j, MODE)
        tl.store(out_ptr + plane * pitch + at, acc.to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(input, grid, interpolation_mode, padding_mode, align_corners):
    n, channels, h, w = list(input.shape)
    oh, ow = grid.shape[1], grid.shape[2]
    area = oh * ow
    planes = n * channels
    out = torch.empty([n, channels, oh, ow], dtype=input.dtype, device=input.device)
    if out.numel() == 0:
        return out
    unit = 32 // input.element_size()
    pitch = triton.cdiv(area, unit) * unit
    wide = out if pitch == area else torch.empty([planes, pitch], dtype=input.dtype, device=input.device)
    block = min(max(triton.next_power_of_2(area), 16), 128)
    tiles = triton.cdiv(area, block)
    total = planes * tiles
    taps = 4 if interpolation_mode == 2 else 2
    kernel_sample[(min(total, 8192),)](
        aligned(input), aligned(grid), wide, total, tiles, channels, h, w, area, pitch, MODE=interpolation_mode,
        PADDING=padding_mode, ALIGN=bool(align_corners), TAPS=taps, LEAD=1 if taps == 4 else 0, BLOCK=block)
    if pitch != area:
        out.view(planes, area).copy_(wide[:, :area])
    return out
