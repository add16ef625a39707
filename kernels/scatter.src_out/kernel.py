# Generated: the kernel of aten::scatter.src_out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def place(e, n1, n2, n3, n4, n5, n6, n7, s0, s1, s2, s3, s4, s5, s6, s7):
    at = e % n7 * s7
    r = e // n7
    at += r % n6 * s6
    r = r // n6
    at += r % n5 * s5
    r = r // n5
    at += r % n4 * s4
    r = r // n4
    at += r % n3 * s3
    r = r // n3
    at += r % n2 * s2
    r = r // n2
    at += r % n1 * s1
    r = r // n1
    at += r * s0
    return at


@triton.jit
def kernel_clear(last_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        k = start + tl.arange(0, BLOCK)
        tl.store(last_ptr + k, tl.full([BLOCK], -1, dtype=tl.int32), mask=k < n)


@triton.jit
def kernel_claim(index_ptr, last_ptr, entries, hop, n1, n2, n3, n4, n5, n6, n7, s0, s1, s2, s3, s4, s5, s6, s7,
                 BLOCK: tl.constexpr):
    # Of the entries for one place the last one wins.
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, entries, step):
        e = start + tl.arange(0, BLOCK)
        mask = e < entries
        to = tl.load(index_ptr + e, mask=mask, other=0).to(tl.int64)
        at = place(e, n1, n2, n3, n4, n5, n6, n7, s0, s1, s2, s3, s4, s5, s6, s7) + to * hop
        tl.atomic_max(last_ptr + at, e.to(tl.int32), mask=mask)


@triton.jit
def kernel_scatter(x_ptr, last_ptr, src_ptr, out_ptr, n, n1, n2, n3, n4, n5, n6, n7, s0, s1, s2, s3, s4, s5, s6, s7,
                   BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        k = start + tl.arange(0, BLOCK)
        mask = k < n
        e = tl.load(last_ptr + k, mask=mask, other=-1).to(tl.int64)
        hit = e >= 0
        x = tl.load(x_ptr + k, mask=mask & (hit == 0), other=0)
        e = tl.maximum(e, 0)
        at = place(e, n1, n2, n3, n4, n5, n6, n7, s0, s1, s2, s3, s4, s5, s6, s7)
        s = tl.load((src_ptr + at)[:, None], mask=(mask & hit)[:, None], other=0)
        tl.store(out_ptr + k, tl.where(hit, tl.reshape(s, [BLOCK]), x), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(self, dim, index, src, *, out):
    n = self.numel()
    if n == 0:
        return out
    x = aligned(self if self.dim() > 0 else self.reshape([1]))
    dim = dim % x.dim()
    result = torch.empty(list(x.shape), dtype=x.dtype, device=x.device)
    last = torch.empty((n,), dtype=torch.int32, device=x.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_clear[grid](last, n, BLOCK=1024)
    entries = index.numel()
    sizes, steps, values = [1] * 8, [0] * 8, x
    if entries > 0:
        indices = aligned(index if index.dim() > 0 else index.reshape([1]))
        values = aligned(src if src.dim() > 0 else src.reshape([1]))
        pad = 8 - x.dim()
        sizes = [1] * pad + list(indices.shape)
        steps = [0] * pad + list(values.stride())
        hop = x.stride(dim)
        homes = [0] * pad + [0 if d == dim else x.stride(d) for d in range(x.dim())]
        kernel_claim[(min(triton.cdiv(entries, 1024), 4096),)](
            indices, last, entries, hop, *sizes[1:], *homes, BLOCK=1024, enable_scatter_stores=True
        )
    kernel_scatter[grid](bits(x), last, bits(values), bits(result), n, *sizes[1:], *steps, BLOCK=1024)
    out.copy_(result if out.dim() > 0 else result.reshape([]))
    return out
