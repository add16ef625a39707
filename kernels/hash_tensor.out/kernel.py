# Generated: the kernel of aten::hash_tensor.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def wide(x):
    b = x.to(tl.int32, bitcast=True).to(tl.int64)
    exponent = (b >> 23) & 255
    small = (b & 0x7FFFFF).to(tl.float32).to(tl.int32, bitcast=True).to(tl.int64)
    digits = tl.where(exponent == 0, small, b)
    lifted = ((digits >> 23) & 255) + tl.where(exponent == 0, 896 - 149, 896)
    lifted = tl.where(exponent == 255, 2047, lifted)
    number = (lifted << 52) | ((digits & 0x7FFFFF) << 29)
    return ((b & 0x80000000) << 32) | tl.where(small + exponent == 0, 0, number)


@triton.jit
def kernel_hash(x_ptr, out_ptr, rows, n, FLOAT: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * ROWS
    step = tl.num_programs(0).to(tl.int64) * ROWS
    for start in range(first, rows, step):
        r = start + tl.arange(0, ROWS)
        total = tl.zeros([ROWS, BLOCK], dtype=tl.int64)
        for begin in range(0, n, BLOCK):
            k = begin + tl.arange(0, BLOCK).to(tl.int64)
            mask = (r < rows)[:, None] & (k < n)[None, :]
            at = r[:, None] * n + k[None, :]
            # Rows begin anywhere: a last axis of length 1 is read element by element.
            x = tl.load(x_ptr + at[:, :, None], mask=mask[:, :, None], other=0)
            x = tl.reshape(x, [ROWS, BLOCK])
            if FLOAT:
                v = wide(x.to(tl.float32))
            else:
                v = x.to(tl.int64)
            total = total ^ tl.where(mask, v, 0)
        tl.store(out_ptr + r, tl.xor_sum(total, axis=1), mask=r < rows)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, dim=(), *, keepdim=False, mode=0, out):
    rows = out.numel()
    if rows == 0:
        return out
    rank = self.dim()
    if dim is None:
        dim = []
    if isinstance(dim, int):
        dim = [dim]
    gone = [d % max(rank, 1) for d in dim] if len(dim) > 0 else list(range(rank))
    if rank > 0:
        kept = [d for d in range(rank) if d not in gone]
        order = kept + [d for d in range(rank) if d in gone]
        x = aligned(self.permute(order))
        n = math.prod([self.shape[d] for d in range(rank) if d in gone])
    else:
        x = aligned(self)
        n = 1
    floating = self.is_floating_point() and self.dtype != torch.float64
    if self.dtype == torch.float64:
        x = x.view(torch.int64)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    res = out if direct else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    block = min(triton.next_power_of_2(max(n, 1)), 1024)
    lines = min(max(1024 // block, 1), triton.next_power_of_2(rows))
    kernel_hash[(min(triton.cdiv(rows, lines), 4096),)](
        x, res.view(torch.int64), rows, n, FLOAT=floating, ROWS=lines, BLOCK=block)
    if not direct:
        out.copy_(res)
    return out
