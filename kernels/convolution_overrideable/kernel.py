# Generated: the kernel of aten::convolution_overrideable for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_conv(x_ptr, w_ptr, bias_ptr, out_ptr, D, H, W, OH, OW, P, R, channels, outs, groups, lda, ldo,
                KD, KH, KW, s0, s1, s2, p0, p1, p2, d0, d1, d2, tiles_m, tiles_p, total,
                TRANSPOSED: tl.constexpr, HAS_BIAS: tl.constexpr, FLOAT: tl.constexpr, BM: tl.constexpr,
                BN: tl.constexpr, BK: tl.constexpr):
    ACC: tl.constexpr = tl.float32 if FLOAT else tl.int64
    for tile in range(tl.program_id(0).to(tl.int64), total, tl.num_programs(0)):
        tp = tile % tiles_p
        rest = tile // tiles_p
        tm = rest % tiles_m
        rest = rest // tiles_m
        g = rest % groups
        image = rest // groups
        m = tm * BM + tl.arange(0, BM)
        p = tp * BN + tl.arange(0, BN)
        row = g * outs + m
        oz = p // (OH * OW)
        oy = p // OW % OH
        ox = p % OW
        first = (image * groups + g) * channels
        acc = tl.zeros([BM, BN], dtype=ACC)
        for start in range(0, R, BK):
            r = start + tl.arange(0, BK).to(tl.int64)
            c = r // (KD * KH * KW)
            kz = r // (KH * KW) % KD
            ky = r // KW % KH
            kx = r % KW
            inside = (r[:, None] < R) & (p[None, :] < P)
            if TRANSPOSED:
                z = (oz + p0)[None, :] - (kz * d0)[:, None]
                inside = inside & (z >= 0) & (z % s0 == 0)
                z = z // s0
                y = (oy + p1)[None, :] - (ky * d1)[:, None]
                inside = inside & (y >= 0) & (y % s1 == 0)
                y = y // s1
                x = (ox + p2)[None, :] - (kx * d2)[:, None]
                inside = inside & (x >= 0) & (x % s2 == 0)
                x = x // s2
            else:
                z = (oz * s0 - p0)[None, :] + (kz * d0)[:, None]
                y = (oy * s1 - p1)[None, :] + (ky * d1)[:, None]
                x = (ox * s2 - p2)[None, :] + (kx * d2)[:, None]
                inside = inside & (z >= 0) & (y >= 0) & (x >= 0)
            inside = inside & (z < D) & (y < H) & (x < W)
            at = (((first + c)[:, None] * D + z) * H + y) * W + x
            a = tl.load(w_ptr + row[:, None] * lda + r[None, :],
                        mask=(m[:, None] < outs) & (r[None, :] < R), other=0)
            b = tl.load(x_ptr + at[:, :, None], mask=inside[:, :, None], other=0)
            b = tl.reshape(b, [BK, BN])
            if FLOAT:
                acc += tl.dot(a, b, input_precision="ieee")
            else:
                acc += tl.sum(a.to(tl.int64)[:, :, None] * b.to(tl.int64)[None, :, :], axis=1)
        if HAS_BIAS:
            acc += tl.load(bias_ptr + row[:, None], mask=m[:, None] < outs, other=0).to(ACC)
        tl.store(out_ptr + (image * groups * outs + row)[:, None] * ldo + p[None, :],
                 acc.to(out_ptr.dtype.element_ty), mask=(m[:, None] < outs) & (p[None, :] < P))


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def three(values, rank, filler):
    values = list(values)
    if len(values) == 1:
        values = values * rank
    return [filler] * (3 - rank) + values


def wrapper(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    rank = weight.dim() - 2
    device, dtype = input.device, input.dtype
    batch, cin = input.shape[0], input.shape[1]
    D, H, W = three(input.shape[2:], rank, 1) if rank != 1 else [1, 1, input.shape[2]]
    KD, KH, KW = three(weight.shape[2:], rank, 1) if rank != 1 else [1, 1, weight.shape[2]]
    s = three(stride, rank, 1)
    p = three(padding, rank, 0)
    d = three(dilation, rank, 1)
    extra = three(output_padding, rank, 0) if transposed else [0, 0, 0]
    volume = KD * KH * KW
    channels = cin // groups
    outs = weight.shape[1] if transposed else weight.shape[0] // groups
    O = outs * groups
    sizes = []
    for n, k, i in [(D, KD, 0), (H, KH, 1), (W, KW, 2)]:
        if transposed:
            sizes.append((n - 1) * s[i] - 2 * p[i] + d[i] * (k - 1) + extra[i] + 1)
        else:
            sizes.append((n + 2 * p[i] - d[i] * (k - 1) - 1) // s[i] + 1)
    OD, OH, OW = sizes
    out = torch.empty([batch, O] + sizes[3 - rank:], dtype=dtype, device=device)
    if out.numel() == 0:
        return out
    R, P = channels * volume, OD * OH * OW
    lda = max(triton.cdiv(R, 32), 1) * 32
    w = torch.empty((O, lda), dtype=dtype, device=device)
    if R > 0:
        if transposed:
            flat = weight.reshape(groups, channels, outs, volume).permute(0, 2, 1, 3).reshape(O, R)
        else:
            flat = weight.reshape(O, R)
        w[:, :R].copy_(flat)
    x = aligned(input) if input.numel() > 0 else torch.empty((32,), dtype=dtype, device=device)
    ldo = triton.cdiv(P, 32) * 32
    res = torch.empty((batch * O, ldo), dtype=dtype, device=device)
    floating = input.is_floating_point()
    BM = min(max(triton.next_power_of_2(outs), 16), 64) if floating else 16
    BN = min(max(triton.next_power_of_2(P), 32), 64) if floating else 32
    BK = min(max(triton.next_power_of_2(R), 16), 32) if floating else 16
    tiles_m, tiles_p = triton.cdiv(outs, BM), triton.cdiv(P, BN)
    total = batch * groups * tiles_m * tiles_p
    kernel_conv[(min(total, 4096),)](
        x, w, w if bias is None else aligned(bias), res, D, H, W, OH, OW, P, R, channels, outs, groups, lda, ldo,
        KD, KH, KW, s[0], s[1], s[2], p[0], p[1], p[2], d[0], d[1], d[2], tiles_m, tiles_p, total,
        TRANSPOSED=True if transposed else False, HAS_BIAS=bias is not None, FLOAT=floating, BM=BM, BN=BN, BK=BK)
    out.copy_(res[:, :P].reshape(out.shape))
    return out
