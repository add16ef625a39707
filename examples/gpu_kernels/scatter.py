@triton.jit
def kernel_scatter(
    out_ptr, index_ptr, src_ptr, value, lines, size, s1, s2, o0, o1, o2, stride,
    HAS_SRC: tl.constexpr, REDUCE: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # A lane owns one line of the result along `dim`, so that equal indices are served in order.
    line = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = line < lines
    base = out_ptr + line // (s1 * s2) * o0 + line // s2 % s1 * o1 + line % s2 * o2
    for k in range(0, size):
        index = tl.load(index_ptr + line * size + k, mask=mask, other=0)
        target = base + index * stride
        if HAS_SRC:
            x = tl.load(src_ptr + line * size + k, mask=mask, other=0).to(ACC)
        else:
            x = tl.full([BLOCK], value, dtype=ACC)
        if REDUCE == "add":
            x = tl.load(target, mask=mask, other=0).to(ACC) + x
        if REDUCE == "multiply":
            x = tl.load(target, mask=mask, other=0).to(ACC) * x
        tl.store(target, x, mask=mask)


def launch(out, index, src, reduce):
    # The scattered dimension is the last one; dimensions beyond three before it are taken one by one.
    if index.dim() > 4:
        for i in range(index.shape[0]):
            launch(out.select(0, i), index.select(0, i), src.select(0, i) if torch.is_tensor(src) else src, reduce)
        return
    has_src = torch.is_tensor(src)
    while index.dim() < 4:
        out = out.unsqueeze(0)
        index = index.unsqueeze(0)
        src = src.unsqueeze(0) if has_src else src
    index = index.contiguous()
    source = src.contiguous() if has_src else index
    size = index.shape[3]
    lines = index.numel() // size
    kernel_scatter[(triton.cdiv(lines, 256),)](
        out, index, source, 0 if has_src else src, lines, size, index.shape[1], index.shape[2], *out.stride(),
        HAS_SRC=has_src, REDUCE=reduce, ACC=tl.float32 if out.is_floating_point() else tl.int64, BLOCK=256,
    )  # fmt: skip


def wrapper(input, dim, index, src=None, *, value=None, reduce=None):
    if src is None:
        src = value
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("scatter: reduce must be add or multiply")
    rank = max(input.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"scatter: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
    out = input.clone().contiguous()
    if index.numel() == 0:
        return out
    target = out.reshape(1) if out.dim() == 0 else out
    index = index.reshape(1) if index.dim() == 0 else index
    if torch.is_tensor(src):
        src = src.reshape(1) if src.dim() == 0 else src
        for d in range(index.dim()):
            src = src.narrow(d, 0, index.shape[d])
        src = src.movedim(dim, -1)
    launch(target.movedim(dim, -1), index.movedim(dim, -1), src, reduce)
    return out
