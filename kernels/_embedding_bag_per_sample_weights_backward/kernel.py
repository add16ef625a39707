# Generated: the kernel of aten::_embedding_bag_per_sample_weights_backward for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_dots(grad_ptr, weight_ptr, index_ptr, offset_ptr, bag_ptr, out_ptr, n, bags, width, grad_pitch,
                weight_pitch, padding, turns, GIVEN: tl.constexpr, BS: tl.constexpr, BF: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BS
    step = tl.num_programs(0).to(tl.int64) * BS
    for start in range(first, n, step):
        at = start + tl.arange(0, BS)
        live = at < n
        index = tl.load(index_ptr + at, mask=live, other=0).to(tl.int64)
        used = live & (index != padding)
        if GIVEN:
            bag = tl.load(bag_ptr + at, mask=live, other=0).to(tl.int64)
        else:
            # The bag of a sample: how many offsets are not above it, less one.
            lo = tl.zeros([BS], tl.int64)
            hi = tl.zeros([BS], tl.int64) + bags
            for k in range(0, turns):
                middle = (lo + hi) // 2
                open_ = live & (lo < hi)
                value = tl.load(offset_ptr + middle, mask=open_, other=0).to(tl.int64)
                under = value <= at
                lo = tl.where(open_ & under, middle + 1, lo)
                hi = tl.where(open_ & (under == 0), middle, hi)
            bag = tl.maximum(lo - 1, 0)
        acc = tl.zeros([BS, BF], tl.float32)
        for begin in range(0, width, BF):
            f = begin + tl.arange(0, BF)
            mask = used[:, None] & (f < width)[None, :]
            a = tl.load(grad_ptr + (bag * grad_pitch)[:, None] + f[None, :], mask=mask, other=0.0).to(tl.float32)
            b = tl.load(weight_ptr + (index * weight_pitch)[:, None] + f[None, :], mask=mask, other=0.0).to(tl.float32)
            acc += a * b
        total = tl.sum(acc, axis=1)
        tl.store(out_ptr + at, total.to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def padded(x):
    rows, n = x.shape[0], x.shape[1]
    unit = 32 // x.element_size()
    pitch = max(triton.cdiv(n, unit), 1) * unit
    wide = torch.empty((max(rows, 1), pitch), dtype=x.dtype, device=x.device)
    wide[:rows, :n].copy_(x)
    return wide, pitch


def wrapper(grad, weight, indices, offsets, offset2bag, mode, padding_idx=-1):
    n = indices.numel()
    out = torch.empty([n], dtype=grad.dtype, device=grad.device)
    if n == 0:
        return out
    width = grad.shape[1]
    g, grad_pitch = padded(grad)
    w, weight_pitch = padded(weight)
    given = offset2bag.numel() != 0
    index = aligned(indices)
    offset = aligned(offsets)
    bag = aligned(offset2bag) if given else index
    bags = offsets.numel()
    bf = min(max(triton.next_power_of_2(max(width, 1)), 16), 128)
    bs = 32
    kernel_dots[(min(triton.cdiv(n, bs), 4096),)](
        g, w, index, offset, bag, out, n, bags, width, grad_pitch, weight_pitch, padding_idx,
        bags.bit_length() + 1, GIVEN=given, BS=bs, BF=bf)
    return out
