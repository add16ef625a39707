# Generated: the kernel of aten::index.Tensor_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_count(mask_ptr, counts_ptr, n, blocks, BLOCK: tl.constexpr):
    for b in range(tl.program_id(0).to(tl.int64), blocks, tl.num_programs(0)):
        k = b * BLOCK + tl.arange(0, BLOCK)
        ones = (tl.load(mask_ptr + k, mask=k < n, other=0) != 0).to(tl.int64)
        tl.store(counts_ptr + b, tl.sum(ones, axis=0))


@triton.jit
def kernel_prefix(counts_ptr, before_ptr, total_ptr, blocks, BLOCK: tl.constexpr):
    carry = tl.sum(tl.zeros([BLOCK], dtype=tl.int64), axis=0)
    for start in range(0, blocks, BLOCK):
        b = start + tl.arange(0, BLOCK)
        c = tl.load(counts_ptr + b, mask=b < blocks, other=0)
        tl.store(before_ptr + b, carry + tl.cumsum(c, axis=0) - c, mask=b < blocks)
        carry += tl.sum(c, axis=0)
    tl.store(total_ptr, carry)


@triton.jit
def kernel_place(mask_ptr, before_ptr, places_ptr, n, blocks, length, BLOCK: tl.constexpr):
    for b in range(tl.program_id(0).to(tl.int64), blocks, tl.num_programs(0)):
        k = b * BLOCK + tl.arange(0, BLOCK)
        ones = (tl.load(mask_ptr + k, mask=k < n, other=0) != 0).to(tl.int64)
        number = tl.load(before_ptr + b) + tl.cumsum(ones, axis=0) - 1
        tl.store(places_ptr + number, k, mask=(ones > 0) & (number < length))


@triton.jit
def kernel_linear(index_ptr, total_ptr, linear_ptr, size, stride, length, count, MASK: tl.constexpr,
                  FIRST: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, count, step):
        e = start + tl.arange(0, BLOCK)
        inside = e < count
        if MASK:
            # A lone true element serves every entry.
            many = (tl.load(total_ptr) != 1).to(tl.int64)
            at = tl.load(index_ptr + (e % length) * many, mask=inside, other=0)
        else:
            at = tl.load(index_ptr + e, mask=inside, other=0).to(tl.int64)
            at = tl.where(at < 0, at + size, at)
        at = at * stride
        if not FIRST:
            at += tl.load(linear_ptr + e, mask=inside, other=0)
        tl.store(linear_ptr + e, at, mask=inside)


@triton.jit
def kernel_index(x_ptr, linear_ptr, out_ptr, total, width, INDEXED: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, total, step):
        i = start + tl.arange(0, BLOCK)
        inside = i < total
        if INDEXED:
            row = tl.load(linear_ptr + i // width, mask=inside, other=0)
            x = tl.load(x_ptr + row * width + i % width, mask=inside, other=0)
        else:
            x = tl.load(x_ptr + i, mask=inside, other=0)
        tl.store(out_ptr + i, x, mask=inside)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(self, indices, *, out):
    total = out.numel()
    if total == 0:
        return out
    sizes = list(self.shape)
    masks = (torch.bool, torch.uint8)
    dim = 0
    entries = []
    rest = []
    for index in indices:
        if index is None:
            rest.append(dim)
            dim += 1
            continue
        used = index.dim() if index.dtype in masks else 1
        if used > 0:
            entries.append((index, dim, used))
        dim += used
    rest = rest + list(range(dim, len(sizes)))
    front = []
    for index, first, used in entries:
        front = front + list(range(first, first + used))
    adjacent = True
    for k in range(len(entries) - 1):
        if entries[k][1] + entries[k][2] != entries[k + 1][1]:
            adjacent = False
    before = 0
    if entries and adjacent:
        before = len([d for d in rest if d < entries[0][1]])
    spread = list(range(before, before + out.dim() - len(rest)))
    common = [out.shape[d] for d in spread]
    others = [d for d in range(out.dim()) if d not in spread]
    count = math.prod(common)
    width = math.prod([sizes[d] for d in rest])
    linear = torch.empty((count,), dtype=torch.int64, device=self.device)
    stride = math.prod([sizes[d] for d in front])
    started = False
    for index, first, used in entries:
        size = math.prod(sizes[first:first + used])
        stride = stride // size
        is_mask = index.dtype in masks
        length = 1
        whole = linear
        if is_mask:
            length = common[-1]
            n = index.numel()
            blocks = triton.cdiv(n, 1024)
            mask = aligned(index)
            counts = torch.empty((blocks,), dtype=torch.int64, device=self.device)
            earlier = torch.empty((blocks,), dtype=torch.int64, device=self.device)
            whole = torch.empty((1,), dtype=torch.int64, device=self.device)
            flat = torch.empty((length,), dtype=torch.int64, device=self.device)
            kernel_count[(min(blocks, 4096),)](mask, counts, n, blocks, BLOCK=1024)
            kernel_prefix[(1,)](counts, earlier, whole, blocks, BLOCK=1024)
            kernel_place[(min(blocks, 4096),)](mask, earlier, flat, n, blocks, length, BLOCK=1024,
                                               enable_scatter_stores=True)
        else:
            flat = aligned(index.expand(common).reshape(count))
        kernel_linear[(min(triton.cdiv(count, 1024), 4096),)](
            flat, whole, linear, size, stride, length, count, MASK=is_mask, FIRST=not started, BLOCK=1024)
        started = True
    source = aligned(self.permute(front + rest))
    view = out.permute(spread + others)
    direct = view.is_contiguous() and view.storage_offset() * view.element_size() % 32 == 0
    dense = view if direct else torch.empty(list(view.shape), dtype=out.dtype, device=out.device)
    kernel_index[(min(triton.cdiv(total, 1024), 4096),)](bits(source), linear, bits(dense), total, width,
                                                         INDEXED=started, BLOCK=1024)
    if not direct:
        view.copy_(dense)
    return out
