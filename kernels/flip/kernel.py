# Generated: the kernel of aten::flip for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def source(i, base, s1, s2, s3, s4, s5, t0, t1, t2, t3, t4, t5):
    off = base + (i % s5) * t5
    i5 = i // s5
    off += (i5 % s4) * t4
    i4 = i5 // s4
    off += (i4 % s3) * t3
    i3 = i4 // s3
    off += (i3 % s2) * t2
    i2 = i3 // s2
    off += (i2 % s1) * t1
    off += (i2 // s1) * t0
    return off


@triton.jit
def kernel_elements(
    x_ptr, out_ptr, n, iters, base, s1, s2, s3, s4, s5, t0, t1, t2, t3, t4, t5, BLOCK: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * iters
    for step in range(0, iters):
        i = (first + step) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        off = source(i, base, s1, s2, s3, s4, s5, t0, t1, t2, t3, t4, t5)
        x = tl.load(x_ptr + off[:, None], mask=mask[:, None], other=0)
        tl.store(out_ptr + i, tl.reshape(x, [BLOCK]), mask=mask)


@triton.jit
def kernel_rows(
    x_ptr, out_ptr, rows, inner, column_blocks, iters, base, s1, s2, s3, s4, s5, t0, t1, t2, t3, t4, t5,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * iters
    for step in range(0, iters):
        tile = first + step
        row = (tile // column_blocks) * ROWS + tl.arange(0, ROWS)
        column = (tile % column_blocks) * COLS + tl.arange(0, COLS)
        mask = (row < rows)[:, None] & (column < inner)[None, :]
        off = source(row, base, s1, s2, s3, s4, s5, t0, t1, t2, t3, t4, t5)
        x = tl.load(x_ptr + off[:, None] + column[None, :], mask=mask, other=0)
        tl.store(out_ptr + row[:, None] * inner + column[None, :], x, mask=mask)


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def one_pass(src, dst, groups, itemsize):
    src, dst = bits(src), bits(dst)
    groups = [g for g in groups if g[0] > 1]
    n = math.prod([g[0] for g in groups])
    strides = []
    stride = 1
    for g in groups[::-1]:
        strides = [stride] + strides
        stride = stride * g[0]
    base = 0
    signed = []
    for g, s in zip(groups, strides):
        if g[1]:
            base += (g[0] - 1) * s
            signed.append(-s)
        else:
            signed.append(s)
    sizes = [g[0] for g in groups]
    inner = 1
    vector = False
    if groups and not groups[-1][1] and sizes[-1] * itemsize % 32 == 0:
        vector = True
        inner = sizes[-1]
        sizes = sizes[:-1]
        signed = signed[:-1]
    pad = 6 - len(sizes)
    sizes = [1] * pad + sizes
    signed = [0] * pad + signed
    if vector:
        rows = n // inner
        cols = min(triton.next_power_of_2(inner), 2048)
        height = min(2048 // cols, triton.next_power_of_2(rows))
        column_blocks = triton.cdiv(inner, cols)
        blocks = triton.cdiv(rows, height) * column_blocks
        iters = triton.cdiv(blocks, 65535)
        kernel_rows[(triton.cdiv(blocks, iters),)](
            src, dst, rows, inner, column_blocks, iters, base, *sizes[1:], *signed, ROWS=height, COLS=cols
        )
    else:
        block = 1024
        blocks = triton.cdiv(n, block)
        iters = triton.cdiv(blocks, 65535)
        kernel_elements[(triton.cdiv(blocks, iters),)](
            src, dst, n, iters, base, *sizes[1:], *signed, BLOCK=block
        )


def wrapper(input, dims):
    if not isinstance(input, torch.Tensor):
        raise TypeError("flip(): argument 'input' must be Tensor")
    if not isinstance(dims, (list, tuple)):
        raise TypeError("flip(): argument 'dims' must be tuple of ints")
    rank = input.dim()
    limit = max(rank, 1)
    flipped = [False] * limit
    for d in dims:
        if isinstance(d, bool) or not isinstance(d, int):
            raise TypeError("flip(): argument 'dims' must be tuple of ints")
        if d < -limit or d >= limit:
            raise IndexError("Dimension out of range")
        if flipped[d % limit]:
            raise RuntimeError("dim appears multiple times in the list of dims")
        flipped[d % limit] = True
    out = torch.empty_like(input)
    if out.numel() == 0:
        return out
    shape = out.shape
    strides = out.stride()
    src = input
    if tuple(input.stride()) != tuple(strides) or input.storage_offset() * input.element_size() % 32 != 0:
        src = torch.empty_strided(shape, strides, dtype=input.dtype, device=input.device)
        src.copy_(input)
    order = sorted([(-strides[d], d) for d in range(rank) if shape[d] > 1])
    groups = []
    for _, d in order:
        if groups and groups[-1][1] == flipped[d]:
            groups[-1] = (groups[-1][0] * shape[d], flipped[d])
        else:
            groups.append((shape[d], flipped[d]))
    sizes = [g[0] for g in groups]
    starts = []
    for w in range(0, len(groups), 4):
        hit = False
        for g in groups[w : w + 4]:
            hit = hit or g[1]
        if hit:
            starts.append(w)
    if not starts:
        starts = [0]
    for k in range(len(starts)):
        w = starts[k]
        dst = out
        if k < len(starts) - 1:
            dst = torch.empty_strided(shape, strides, dtype=input.dtype, device=input.device)
        outer = math.prod(sizes[:w])
        inner = math.prod(sizes[w + 4 :])
        one_pass(src, dst, [(outer, False)] + groups[w : w + 4] + [(inner, False)], input.element_size())
        src = dst
    return out
