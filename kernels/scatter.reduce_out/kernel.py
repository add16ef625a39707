# Generated: the kernel of aten::scatter.reduce_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_begin(x_ptr, acc_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0)
        tl.store(acc_ptr + at, x.to(acc_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def kernel_end(acc_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(acc_ptr + at, mask=at < n, other=0)
        tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def kernel_scatter(
    acc_ptr, index_ptr, src_ptr, rows, count, tiles, acc_step, index_step, src_step,
    s0, s1, s2, s3, s4, s5, s6,
    a0, a1, a2, a3, a4, a5, a6,
    i0, i1, i2, i3, i4, i5, i6,
    v0, v1, v2, v3, v4, v5, v6,
    ADD: tl.constexpr, ROWS: tl.constexpr,
):
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
        row = (tile * ROWS + tl.arange(0, ROWS).to(tl.int64))[:, None]
        live = row < rows
        c = row % s6
        left = row // s6
        a = c * a6
        i = c * i6
        v = c * v6
        c = left % s5
        left = left // s5
        a += c * a5
        i += c * i5
        v += c * v5
        c = left % s4
        left = left // s4
        a += c * a4
        i += c * i4
        v += c * v4
        c = left % s3
        left = left // s3
        a += c * a3
        i += c * i3
        v += c * v3
        c = left % s2
        left = left // s2
        a += c * a2
        i += c * i2
        v += c * v2
        c = left % s1
        left = left // s1
        a += c * a1
        i += c * i1
        v += c * v1
        c = left % s0
        a += c * a0
        i += c * i0
        v += c * v0
        for k in range(0, count):
            # The rows of a tile write to places of their own; the entries of a row follow one another.
            place = tl.load(index_ptr + i, mask=live, other=0).to(tl.int64)
            value = tl.load(src_ptr + v, mask=live, other=0).to(acc_ptr.dtype.element_ty)
            target = acc_ptr + a + place * acc_step
            old = tl.load(target, mask=live, other=0)
            if ADD:
                new = old + value
            else:
                new = old * value
            tl.store(target, new, mask=live)
            tl.debug_barrier()
            i += index_step
            v += src_step


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def padded(values, fill):
    return [fill] * (7 - len(values)) + values


def wrapper(self, dim, index, src, *, reduce, out):
    n = out.numel()
    if n == 0:
        return out
    x = aligned(self)
    kind = self.dtype
    if kind == torch.bfloat16 or kind == torch.float16:
        kind = torch.float32
    elif kind == torch.bool:
        kind = torch.int32  # True and True are two, which is True again
    acc = torch.empty(list(self.shape), dtype=kind, device=self.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_begin[grid](x, acc, n, BLOCK=1024)
    if index.numel() > 0:
        target = acc if acc.dim() > 0 else acc.reshape(1)
        places = aligned(index)
        places = places if places.dim() > 0 else places.reshape(1)
        values = aligned(src)
        values = values if values.dim() > 0 else values.reshape(1)
        rank = target.dim()
        dim = dim % rank
        others = [d for d in range(rank) if d != dim]
        sizes = [places.shape[d] for d in others]
        count = places.shape[dim]
        rows = math.prod(sizes)
        block = max(min(triton.next_power_of_2(rows), 256), 4)
        tiles = triton.cdiv(rows, block)
        kernel_scatter[(min(tiles, 4096),)](
            target, places, values, rows, count, tiles, target.stride(dim), places.stride(dim), values.stride(dim),
            *padded(sizes, 1),
            *padded([target.stride(d) for d in others], 0),
            *padded([places.stride(d) for d in others], 0),
            *padded([values.stride(d) for d in others], 0),
            ADD=reduce == "add", ROWS=block, enable_scatter_stores=True,
        )
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    kernel_end[grid](acc, result, n, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
