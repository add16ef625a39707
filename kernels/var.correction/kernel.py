# Generated: the kernel of aten::var.correction for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_var(x_ptr, out_ptr, rows, n, row_stride, count, divisor, BR: tl.constexpr, BN: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BR
    step = tl.num_programs(0).to(tl.int64) * BR
    for base in range(begin, rows, step):
        r = base + tl.arange(0, BR)
        row_ok = (r < rows)[:, None]
        row = x_ptr + r[:, None] * row_stride
        none = tl.zeros([BR, BN], dtype=tl.float32)
        # A power of two brings the largest number of the row near one, so that squares neither overflow nor vanish.
        large = none
        for start in range(0, n, BN):
            c = start + tl.arange(0, BN).to(tl.int64)
            mask = row_ok & (c < n)[None, :]
            x = tl.load(row + c[None, :], mask=mask, other=0).to(tl.float32)
            large = tl.maximum(large, tl.where(mask, tl.abs(x), 0.0))
        e = (tl.max(large, axis=1).to(tl.int32, bitcast=True) >> 23) & 255
        field = tl.minimum(tl.maximum(254 - e, 1), 253)
        scale = (field << 23).to(tl.float32, bitcast=True)
        back = ((254 - field) << 23).to(tl.float32, bitcast=True)
        sums = none
        for start in range(0, n, BN):
            c = start + tl.arange(0, BN).to(tl.int64)
            mask = row_ok & (c < n)[None, :]
            x = tl.load(row + c[None, :], mask=mask, other=0).to(tl.float32)
            sums += tl.where(mask, x * scale[:, None], 0.0)
        mean = tl.div_rn(tl.sum(sums, axis=1), tl.zeros([BR], dtype=tl.float32) + count)
        squares = none
        rests = none
        for start in range(0, n, BN):
            c = start + tl.arange(0, BN).to(tl.int64)
            mask = row_ok & (c < n)[None, :]
            x = tl.load(row + c[None, :], mask=mask, other=0).to(tl.float32)
            d = tl.where(mask, x * scale[:, None] - mean[:, None], 0.0)
            squares += d * d
            rests += d
        rest = tl.sum(rests, axis=1)
        m2 = tl.sum(squares, axis=1) - tl.div_rn(rest * rest, tl.zeros([BR], dtype=tl.float32) + count)
        m2 = tl.where(m2 < 0, 0.0, m2)
        y = tl.div_rn(m2, tl.zeros([BR], dtype=tl.float32) + divisor) * back * back
        tl.store(out_ptr + r, y, mask=r < rows)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, dim=None, *, correction=None, keepdim=False):
    sizes = list(self.shape)
    rank = len(sizes)
    if dim is None:
        dims = []
    elif isinstance(dim, int):
        dims = [dim]
    else:
        dims = list(dim)
    if len(dims) == 0:
        reduced = list(range(rank))
    else:
        chosen = [d % rank for d in dims] if rank > 0 else []
        reduced = [d for d in range(rank) if d in chosen]
    kept = [d for d in range(rank) if d not in reduced]
    if keepdim:
        shape = [1 if d in reduced else sizes[d] for d in range(rank)]
    else:
        shape = [sizes[d] for d in kept]
    out = torch.empty(shape, dtype=self.dtype, device=self.device)
    if out.numel() == 0:
        return out
    rows = math.prod([sizes[d] for d in kept])
    n = math.prod([sizes[d] for d in reduced])
    delta = 1 if correction is None else correction
    divisor = max(float(n - delta), 0.0) if n > 0 else 0.0
    BN = min(triton.next_power_of_2(max(n, 1)), 1024)
    BR = min(triton.next_power_of_2(rows), max(2048 // BN, 1))
    row_stride = n
    if n == 0:
        x = out
    else:
        x = self.permute(kept + reduced) if rank > 0 else self
        x = x.reshape((rows, n))
        size = x.element_size()
        if rows == 1 or n * size % 32 == 0 or BN * size < 32:
            x = aligned(x)
        else:
            row_stride = triton.cdiv(n * size, 32) * 32 // size
            padded = torch.empty((rows, row_stride), dtype=x.dtype, device=x.device)
            padded.narrow(1, 0, n).copy_(x)
            x = padded
    grid = (min(triton.cdiv(rows, BR), 16384),)
    kernel_var[grid](x, out, rows, n, row_stride, float(max(n, 1)), divisor, BR=BR, BN=BN)
    return out
