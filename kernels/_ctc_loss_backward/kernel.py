# Generated: the kernel of aten::_ctc_loss_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
NINF = tl.constexpr(-math.inf)


@triton.jit
def column(ptr, i, mask, other, BLOCK: tl.constexpr):
    return tl.reshape(tl.load((ptr + i)[:, None], mask=mask[:, None], other=other), [BLOCK])


@triton.jit
def kernel_beta(lp_ptr, tg_ptr, be_ptr, b, time, size, most, before, st, sn, sc, ss, blank, beta_step,
                BLOCK: tl.constexpr):
    lp = lp_ptr + b * sn
    tg = tg_ptr + before
    be = be_ptr + b * beta_step
    states = 2 * size + 1
    for back in range(0, time):
        t = time - 1 - back
        row = be + t * most
        after = row + most
        for start in range(0, states, BLOCK):
            s = start + tl.arange(0, BLOCK).to(tl.int64)
            here = s < states
            odd = (s % 2) == 1
            label = column(tg, (s // 2) * ss, here & odd, 0, BLOCK).to(tl.int64)
            label = tl.where(odd, label, blank)
            x = column(lp + t * st, label * sc, here, 0.0, BLOCK)
            can = here & odd & (s + 2 < states)
            ahead = column(tg, (s // 2 + 1) * ss, can, 0, BLOCK).to(tl.int64)
            skip = can & (ahead != label)
            known = here & (back > 0)
            a = column(after, s, known, NINF, BLOCK)
            c = column(after, s + 1, known & (s + 1 < states), NINF, BLOCK)
            d = column(after, s + 2, known & skip, NINF, BLOCK)
            m = tl.maximum(tl.maximum(a, c), d)
            m = tl.where(m == NINF, 0.0, m)
            y = tl.log(tl.exp(a - m) + tl.exp(c - m) + tl.exp(d - m)) + m + x
            y = tl.where(back == 0, tl.where(s + 2 >= states, x, NINF), y)
            tl.store((row + s)[:, None], tl.reshape(y, [BLOCK, 1]), mask=here[:, None])
        tl.debug_barrier()


@triton.jit
def kernel_grad(go_ptr, lp_ptr, tg_ptr, al_ptr, be_ptr, loss_ptr, out_ptr, b, steps, n, classes, time, size, most,
                before, st, sn, sc, ss, blank, beta_step, ZERO: tl.constexpr, BLOCK: tl.constexpr,
                CLASSES: tl.constexpr):
    tg = tg_ptr + before
    states = 2 * size + 1
    go = tl.load(go_ptr + b)
    loss = tl.load(loss_ptr + b)
    for t in range(tl.program_id(0).to(tl.int64), steps, tl.num_programs(0)):
        row = b * beta_step + t * most
        live = t < time
        if ZERO:
            live = live & (loss != float("inf"))
        for first in range(0, classes, CLASSES):
            c = first + tl.arange(0, CLASSES).to(tl.int64)
            have = c < classes
            m = tl.full([CLASSES], NINF, dtype=tl.float32)
            total = tl.zeros([CLASSES], dtype=tl.float32)
            for start in range(0, states, BLOCK):
                s = start + tl.arange(0, BLOCK).to(tl.int64)
                here = (s < states) & (t < time)
                odd = (s % 2) == 1
                label = column(tg, (s // 2) * ss, here & odd, 0, BLOCK).to(tl.int64)
                label = tl.where(odd, label, blank)
                ab = column(al_ptr + row, s, here, NINF, BLOCK) + column(be_ptr + row, s, here, NINF, BLOCK)
                mine = (label[None, :] == c[:, None]) & here[None, :]
                v = tl.where(mine, ab[None, :], NINF)
                top = tl.maximum(m, tl.max(v, axis=1))
                safe = tl.where(top == NINF, 0.0, top)
                total = total * tl.exp(m - safe) + tl.sum(tl.exp(v - safe[:, None]), axis=1)
                m = top
            log_sum = tl.where(m == NINF, NINF, m + tl.log(total))
            x = column(lp_ptr + b * sn + t * st, c * sc, have, 0.0, CLASSES)
            y = (tl.exp(x) - tl.exp(log_sum + loss - x)) * go
            y = tl.where(live, y, 0.0)
            tl.store((out_ptr + (t * n + b) * classes + c)[:, None], tl.reshape(y, [CLASSES, 1]), mask=have[:, None])


def aligned(x):
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank,
            zero_infinity=False):
    steps, n, classes = log_probs.shape
    out = torch.empty((steps, n, classes), dtype=log_probs.dtype, device=log_probs.device)
    if out.numel() == 0:
        return out
    times = list(input_lengths)
    sizes = list(target_lengths)
    most = log_alpha.shape[2]
    alpha = aligned(log_alpha.contiguous())
    beta = torch.empty((n, steps, most), dtype=log_probs.dtype, device=log_probs.device)
    grad = aligned(grad.expand([n]).contiguous())
    loss = aligned(neg_log_likelihood.contiguous())
    log_probs = aligned(log_probs)
    if targets.numel() == 0:
        targets = torch.empty((1,), dtype=torch.int64, device=log_probs.device)
    concat = targets.dim() == 1
    targets = aligned(targets)
    block = min(triton.next_power_of_2(most), 256)
    wide = min(triton.next_power_of_2(classes), 64)
    step = targets.stride(0) if concat else targets.stride(1)
    before = 0
    for b in range(n):
        begin = before * targets.stride(0) if concat else b * targets.stride(0)
        kernel_beta[(1,)](
            log_probs, targets, beta, b, times[b], sizes[b], most, begin,
            log_probs.stride(0), log_probs.stride(1), log_probs.stride(2), step, blank, steps * most, BLOCK=block)
        kernel_grad[(min(steps, 4096),)](
            grad, log_probs, targets, alpha, beta, loss, out, b, steps, n, classes, times[b], sizes[b], most, begin,
            log_probs.stride(0), log_probs.stride(1), log_probs.stride(2), step, blank, steps * most,
            ZERO=True if zero_infinity else False, BLOCK=block, CLASSES=wide)
        before = before + sizes[b]
    return out
