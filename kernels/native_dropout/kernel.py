# Generated: the kernel of aten::native_dropout for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_dropout(x_ptr, out_ptr, keep_ptr, n, seed, share, scale, TRAIN: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0)
        if TRAIN:
            u = tl.rand(seed, offsets.to(tl.int32))
            keep = u < share
            y = tl.where(keep, x.to(tl.float32) * scale, 0.0)
            tl.store(out_ptr + offsets, y, mask=mask)
            tl.store(keep_ptr + offsets, keep, mask=mask)
        else:
            tl.store(out_ptr + offsets, x, mask=mask)
            tl.store(keep_ptr + offsets, offsets >= 0, mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(input, p, train, *, seed):
    # Row by row, however the input lies in memory: an element's place among the indices is its offset.
    input = aligned(input)
    result = torch.empty(input.shape, dtype=input.dtype, device=input.device)
    kept = torch.empty(input.shape, dtype=torch.bool, device=input.device)
    n = input.numel()
    if n > 0:
        share = 1.0 - p
        scale = 1.0 / share if share > 0.0 else 0.0
        training = train is None or train
        grid = (min(triton.cdiv(n, 1024), 4096),)
        kernel_dropout[grid](input, result, kept, n, seed, share, scale, TRAIN=bool(training), BLOCK=1024)
    return result, kept
