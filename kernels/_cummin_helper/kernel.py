# Generated: the kernel of aten::_cummin_helper for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def later(v1, i1, v2, i2):
    # The later one of equal values, and of NaN; a NaN is never left for a number.
    right = (v2 != v2) | ((v1 == v1) & (v2 <= v1))
    return tl.where(right, v2, v1), tl.where(right, i2, i1)


@triton.jit
def kernel_cummin(x_ptr, values_ptr, indices_ptr, rows, n, ld, FLOAT: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    # A launch is limited in programs, so that each of them takes every so many groups of rows.
    lane = tl.arange(0, C)[None, :]
    for first in range(tl.program_id(0).to(tl.int64) * R, rows, tl.num_programs(0).to(tl.int64) * R):
        row = (first + tl.arange(0, R))[:, None]
        if FLOAT:
            carry = tl.zeros([R], dtype=tl.float32)
        else:
            carry = tl.zeros([R], dtype=tl.int64)
        carry_at = tl.full([R], -1, dtype=tl.int64)
        for start in range(0, n, C):
            k = start + lane
            mask = (row < rows) & (k < n)
            x = tl.load(x_ptr + row * ld + k, mask=mask, other=0)
            if FLOAT:
                x = x.to(tl.float32)
            else:
                x = x.to(tl.int64)
            at = tl.broadcast_to(k, [R, C]).to(tl.int64)
            x, at = tl.associative_scan((x, at), 1, later)
            old = tl.broadcast_to(carry[:, None], [R, C])
            old_at = tl.broadcast_to(carry_at[:, None], [R, C])
            new = (old_at < 0) | (x != x) | ((old == old) & (x <= old))
            x = tl.where(new, x, old)
            at = tl.where(new, at, old_at)
            tl.store(values_ptr + row * ld + k, x.to(values_ptr.dtype.element_ty), mask=mask)
            tl.store(indices_ptr + row * ld + k, at, mask=mask)
            last = tl.broadcast_to(lane == C - 1, [R, C])
            carry_at = tl.sum(tl.where(last, at, 0), axis=1)
            if FLOAT:
                # Of the bits, so that a negative zero stays one.
                bits = tl.sum(tl.where(last, x.to(tl.int32, bitcast=True), 0), axis=1).to(tl.int32)
                carry = bits.to(tl.float32, bitcast=True)
            else:
                carry = tl.sum(tl.where(last, x, 0), axis=1)


def wrapper(self, values, indices, dim):
    if self.numel() == 0:
        return
    rank = self.dim()
    moved = self.movedim(dim, -1) if rank > 0 else self.reshape(1)
    sizes = list(moved.shape)
    n = sizes[-1]
    rows = math.prod(sizes[:-1])
    unit = 32 // self.element_size()
    ld = triton.cdiv(n, unit) * unit
    # Rows along the dimension, each beginning at a multiple of 32 bytes.
    source = torch.empty((rows, ld), dtype=self.dtype, device=self.device)
    source.narrow(1, 0, n).copy_(moved.reshape(rows, n))
    best = torch.empty((rows, ld), dtype=values.dtype, device=self.device)
    best_at = torch.empty((rows, ld), dtype=torch.int64, device=self.device)
    columns = min(1024, triton.next_power_of_2(n))
    group = max(1, min(2048 // columns, triton.next_power_of_2(rows)))
    grid = (min(triton.cdiv(rows, group), 4096),)
    kernel_cummin[grid](source, best, best_at, rows, n, ld, FLOAT=self.is_floating_point(), R=group, C=columns)
    value = best.narrow(1, 0, n).reshape(sizes)
    index = best_at.narrow(1, 0, n).reshape(sizes)
    values.copy_(value.movedim(-1, dim) if rank > 0 else value.reshape([]))
    indices.copy_(index.movedim(-1, dim) if rank > 0 else index.reshape([]))
