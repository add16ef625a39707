# Generated: the kernel of aten::convolution_backward_overrideable for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_input(x_ptr, w_ptr, out_ptr, D, H, W, OH, OW, P, R, channels, outs, groups, lda, ldo,
                 KD, KH, KW, s0, s1, s2, p0, p1, p2, d0, d1, d2, tiles_m, tiles_p, total,
                 SPREAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
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
        acc = tl.zeros([BM, BN], dtype=tl.float32)
        for start in range(0, R, BK):
            r = start + tl.arange(0, BK).to(tl.int64)
            c = r // (KD * KH * KW)
            kz = r // (KH * KW) % KD
            ky = r // KW % KH
            kx = r % KW
            inside = (r[:, None] < R) & (p[None, :] < P)
            if SPREAD:
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
            acc += tl.dot(a, tl.reshape(b, [BK, BN]), input_precision="ieee")
        tl.store(out_ptr + (image * groups * outs + row)[:, None] * ldo + p[None, :],
                 acc.to(out_ptr.dtype.element_ty), mask=(m[:, None] < outs) & (p[None, :] < P))


@triton.jit
def kernel_weight(a_ptr, b_ptr, out_ptr, AH, AW, P, D, H, W, Q, R, rows, channels, groups, ldo,
                  KD, KH, KW, s0, s1, s2, p0, p1, p2, d0, d1, d2, tiles_m, tiles_r, total,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # Element (row, r) of a group: over images and places of `a`, a[row, place] * b[channel, place * s - p + k * d].
    for tile in range(tl.program_id(0).to(tl.int64), total, tl.num_programs(0)):
        tr = tile % tiles_r
        rest = tile // tiles_r
        tm = rest % tiles_m
        g = rest // tiles_m
        m = tm * BM + tl.arange(0, BM)
        r = tr * BN + tl.arange(0, BN)
        c = r // (KD * KH * KW)
        bz = r // (KH * KW) % KD * d0 - p0
        by = r // KW % KH * d1 - p1
        bx = r % KW * d2 - p2
        acc = tl.zeros([BM, BN], dtype=tl.float32)
        for start in range(0, Q, BK):
            q = start + tl.arange(0, BK).to(tl.int64)
            image = q // P
            place = q % P
            az = place // (AH * AW)
            ay = place // AW % AH
            ax = place % AW
            a_at = ((image * groups + g) * rows)[None, :] + m[:, None]
            a_at = a_at * P + place[None, :]
            a_in = (m[:, None] < rows) & (q[None, :] < Q)
            a = tl.load(a_ptr + a_at[:, :, None], mask=a_in[:, :, None], other=0)
            z = (az * s0)[:, None] + bz[None, :]
            y = (ay * s1)[:, None] + by[None, :]
            x = (ax * s2)[:, None] + bx[None, :]
            inside = (q[:, None] < Q) & (r[None, :] < R) & (z >= 0) & (z < D) & (y >= 0) & (y < H)
            inside = inside & (x >= 0) & (x < W)
            at = ((image * groups + g) * channels)[:, None] + c[None, :]
            at = ((at * D + z) * H + y) * W + x
            b = tl.load(b_ptr + at[:, :, None], mask=inside[:, :, None], other=0)
            acc += tl.dot(tl.reshape(a, [BM, BK]), tl.reshape(b, [BK, BN]), input_precision="ieee")
        tl.store(out_ptr + (g * rows + m)[:, None] * ldo + r[None, :], acc.to(out_ptr.dtype.element_ty),
                 mask=(m[:, None] < rows) & (r[None, :] < R))


@triton.jit
def kernel_bias(g_ptr, out_ptr, channels, P, Q, BLOCK: tl.constexpr):
    for c in range(tl.program_id(0).to(tl.int64), channels, tl.num_programs(0)):
        acc = tl.zeros([BLOCK, 1], dtype=tl.float32)
        for start in range(0, Q, BLOCK):
            q = start + tl.arange(0, BLOCK).to(tl.int64)
            at = (q // P * channels + c) * P + q % P
            acc += tl.load(g_ptr + at[:, None], mask=(q < Q)[:, None], other=0).to(tl.float32)
        tl.store(out_ptr + c, tl.sum(tl.reshape(acc, [BLOCK]), axis=0).to(out_ptr.dtype.element_ty))


def aligned(x):
    if x.numel() == 0:
        return torch.empty((32,), dtype=x.dtype, device=x.device)
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def three(values, rank, filler):
    values = list(values)
    if len(values) == 1:
        values = values * rank
    return [filler] * (3 - rank) + values


def wrapper(grad_output, input, weight, stride, padding, dilation, transposed, output_padding, groups, output_mask):
    rank = weight.dim() - 2
    device, dtype = input.device, input.dtype
    batch, cin = input.shape[0], input.shape[1]
    O = grad_output.shape[1]
    ispace = [1] * (3 - rank) + list(input.shape[2:])
    ospace = [1] * (3 - rank) + list(grad_output.shape[2:])
    KD, KH, KW = [1] * (3 - rank) + list(weight.shape[2:])
    s = three(stride, rank, 1)
    p = three(padding, rank, 0)
    d = three(dilation, rank, 1)
    volume = KD * KH * KW
    ins, outs = cin // groups, O // groups
    go = aligned(grad_output)
    x = aligned(input)
    unit = 32
    grad_input, grad_weight, grad_bias = None, None, None

    if output_mask[0]:
        grad_input = torch.empty(list(input.shape), dtype=dtype, device=device)
        if grad_input.numel() > 0:
            P = math.prod(ispace)
            R = outs * volume
            lda = max(triton.cdiv(R, unit), 1) * unit
            w = torch.empty((cin, lda), dtype=dtype, device=device)
            if R > 0:
                if transposed:
                    flat = weight.reshape(cin, R)
                else:
                    flat = weight.reshape(groups, outs, ins, volume).permute(0, 2, 1, 3).reshape(cin, R)
                w[:, :R].copy_(flat)
            ldo = triton.cdiv(P, unit) * unit
            res = torch.empty((batch * cin, ldo), dtype=dtype, device=device)
            BM = min(max(triton.next_power_of_2(ins), 16), 64)
            BN = min(max(triton.next_power_of_2(P), 32), 64)
            BK = min(max(triton.next_power_of_2(R), 16), 32)
            tiles_m, tiles_p = triton.cdiv(ins, BM), triton.cdiv(P, BN)
            total = batch * groups * tiles_m * tiles_p
            kernel_input[(min(total, 4096),)](
                go, w, res, ospace[0], ospace[1], ospace[2], ispace[1], ispace[2], P, R, outs, ins, groups, lda, ldo,
                KD, KH, KW, s[0], s[1], s[2], p[0], p[1], p[2], d[0], d[1], d[2], tiles_m, tiles_p, total,
                SPREAD=False if transposed else True, BM=BM, BN=BN, BK=BK)
            grad_input.copy_(res[:, :P].reshape(grad_input.shape))

    if output_mask[1]:
        grad_weight = torch.empty(list(weight.shape), dtype=dtype, device=device)
        if grad_weight.numel() > 0:
            if transposed:
                a, b, rows, channels, aspace, bspace = x, go, ins, outs, ispace, ospace
            else:
                a, b, rows, channels, aspace, bspace = go, x, outs, ins, ospace, ispace
            P = math.prod(aspace)
            Q = batch * P
            R = channels * volume
            ldo = triton.cdiv(R, unit) * unit
            res = torch.empty((groups * rows, ldo), dtype=dtype, device=device)
            BM = min(max(triton.next_power_of_2(rows), 16), 64)
            BN = min(max(triton.next_power_of_2(R), 32), 64)
            BK = min(max(triton.next_power_of_2(max(Q, 1)), 16), 32)
            tiles_m, tiles_r = triton.cdiv(rows, BM), triton.cdiv(R, BN)
            total = groups * tiles_m * tiles_r
            kernel_weight[(min(total, 4096),)](
                a, b, res, aspace[1], aspace[2], P, bspace[0], bspace[1], bspace[2], Q, R, rows, channels, groups, ldo,
                KD, KH, KW, s[0], s[1], s[2], p[0], p[1], p[2], d[0], d[1], d[2], tiles_m, tiles_r, total,
                BM=BM, BN=BN, BK=BK)
            grad_weight.copy_(res[:, :R].reshape(grad_weight.shape))

    if output_mask[2]:
        grad_bias = torch.empty([O], dtype=dtype, device=device)
        if O > 0:
            P = math.prod(ospace)
            kernel_bias[(min(O, 4096),)](go, grad_bias, O, P, batch * P, BLOCK=1024)
    return grad_input, grad_weight, grad_bias
