# Generated: the kernel of aten::_ctc_loss for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_put(table_ptr, block, a, b, c, d, e, f, g, h):
    # Numbers of the call go into memory, eight at a time; as floats, so that none of them is compiled in.
    i = tl.arange(0, 8)
    v = tl.zeros([8], tl.float32)
    v = tl.where(i == 0, a, v)
    v = tl.where(i == 1, b, v)
    v = tl.where(i == 2, c, v)
    v = tl.where(i == 3, d, v)
    v = tl.where(i == 4, e, v)
    v = tl.where(i == 5, f, v)
    v = tl.where(i == 6, g, v)
    v = tl.where(i == 7, h, v)
    tl.store(table_ptr + block.to(tl.int64) * 8 + i, v.to(tl.int32))


@triton.jit
def kernel_ctc(lp_ptr, target_ptr, table_ptr, alpha_ptr, loss_ptr, steps, batch, classes, width, pitch, blank,
               BLOCK: tl.constexpr):
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        length = tl.load(table_ptr + b).to(tl.int64)
        goal = tl.load(table_ptr + pitch + b).to(tl.int64)
        offset = tl.load(table_ptr + 2 * pitch + b).to(tl.int64)
        offset += tl.load(table_ptr + 3 * pitch + b).to(tl.int64) * 65536
        states = 2 * goal + 1
        rows = alpha_ptr + b * steps * width
        for t in range(0, steps):
            now = rows + t * width
            before = now - width
            for start in range(0, width, BLOCK):
                s = start + tl.arange(0, BLOCK).to(tl.int64)[:, None]
                live = (s < states) & (t < length)
                odd = live & (s % 2 == 1)
                k = offset + s // 2
                label = tl.load(target_ptr + k, mask=odd, other=0).to(tl.int64)
                label = tl.where(odd, label, blank)
                third = odd & (s > 2)
                last = tl.load(target_ptr + k - 1, mask=third, other=0).to(tl.int64)
                third = third & (last != label)
                lp = tl.load(lp_ptr + (t * batch + b) * classes + label, mask=live, other=0.0).to(tl.float32)
                later = live & (t > 0)
                none = float("-inf")
                l1 = tl.load(before + s, mask=later, other=none)
                l2 = tl.load(before + s - 1, mask=later & (s > 0), other=none)
                l3 = tl.load(before + s - 2, mask=later & third, other=none)
                m = tl.where(l2 > l1, l2, l1)
                m = tl.where(l3 > m, l3, m)
                m = tl.where(m == none, 0.0, m)
                total = libdevice.exp(l1 - m) + libdevice.exp(l2 - m) + libdevice.exp(l3 - m)
                value = libdevice.log(total) + m + lp
                value = tl.where(t == 0, tl.where(s < 2, lp, none), value)
                value = tl.where(live, value, none)
                tl.store(now + s, value, mask=s < width)
            tl.debug_barrier()
        pair = tl.arange(0, 2).to(tl.int64)
        ends = tl.load(rows + (length - 1) * width + 2 * goal - pair, mask=(length > 0) & (2 * goal - pair >= 0),
                       other=float("-inf"))
        top = tl.max(ends, axis=0)
        top = tl.where(top == float("-inf"), 0.0, top)
        loss = 0.0 - (libdevice.log(tl.sum(libdevice.exp(ends - top), axis=0)) + top)
        loss = tl.where((length == 0) & (goal == 0), 0.0, loss)
        tl.store(loss_ptr + b, loss)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False):
    steps, batch, classes = list(log_probs.shape)
    lengths = list(input_lengths)
    goals = list(target_lengths)
    longest = max(goals + [0])
    width = 2 * longest + 1
    device = log_probs.device
    loss = torch.empty([batch], dtype=log_probs.dtype, device=device)
    alpha = torch.empty([batch, steps, width], dtype=log_probs.dtype, device=device)
    if batch == 0:
        return loss, alpha
    starts = []
    at = 0
    for b in range(batch):
        starts = starts + [at]
        at += goals[b] if targets.dim() == 1 else targets.shape[1]
    pitch = triton.cdiv(batch, 8) * 8
    fill = [0] * (pitch - batch)
    numbers = lengths + fill + goals + fill + [v % 65536 for v in starts] + fill + [v // 65536 for v in starts] + fill
    table = torch.empty([4 * pitch], dtype=torch.int32, device=device)
    for k in range(4 * pitch // 8):
        v = [float(number) for number in numbers[8 * k:8 * k + 8]]
        kernel_put[(1,)](table, float(k), v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
    block = min(max(triton.next_power_of_2(width), 16), 1024)
    kernel_ctc[(min(batch, 4096),)](aligned(log_probs), aligned(targets), table, alpha, loss, steps, batch, classes,
                                    width, pitch, blank, BLOCK=block)
    return loss, alpha
