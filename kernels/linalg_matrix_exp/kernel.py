# Generated: the kernel of aten::linalg_matrix_exp for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_expm(s_ptr, a_ptr, w_ptr, n, wide, count, T: tl.constexpr, DEGREE: tl.constexpr):
    # One program takes a whole matrix: w has three of them for it, wide elements square: the scaled one and two to
    # write in turns. The padding is zero, whose exponential is the identity.
    lane = tl.arange(0, T)
    for batch in range(tl.program_id(0).to(tl.int64), count, tl.num_programs(0)):
        size = wide * wide
        a = a_ptr + batch * n * wide
        w = w_ptr + batch * 3 * size
        norm = tl.zeros([1], dtype=tl.float32)
        for c in range(0, wide, T):
            sums = tl.zeros([T], dtype=tl.float32)
            for r in range(0, wide, T):
                row = r + lane
                col = c + lane
                mask = (row < n)[:, None] & (col < n)[None, :]
                x = tl.load(a + row[:, None] * wide + col[None, :], mask=mask, other=0).to(tl.float32)
                sums += tl.sum(tl.abs(x), axis=0)
            norm = tl.maximum(norm, tl.max(sums, axis=0))
        scale = tl.zeros([1], dtype=tl.float32) + 1.0
        turns = tl.zeros([1], dtype=tl.int32)
        for k in range(120):
            big = norm > 1.0
            scale = tl.where(big, scale * 0.5, scale)
            turns = tl.where(big, turns + 1, turns)
            norm = tl.where(big, norm * 0.5, norm)
        for c in range(0, wide, T):
            for r in range(0, wide, T):
                row = r + lane
                col = c + lane
                mask = (row < n)[:, None] & (col < n)[None, :]
                x = tl.load(a + row[:, None] * wide + col[None, :], mask=mask, other=0).to(tl.float32)
                x = x * scale[None, :]
                tl.store(w + row[:, None] * wide + col[None, :], x)
                eye = (row[:, None] == col[None, :]).to(tl.float32)
                tl.store(w + size + row[:, None] * wide + col[None, :], eye + x * (1.0 / DEGREE))
        tl.debug_barrier()
        squarings = tl.sum(turns, axis=0)
        now = size + 0
        for k in range(0, DEGREE - 1 + squarings):
            taylor = k < DEGREE - 1
            left = tl.where(taylor, 0, now)
            right = now
            then = 3 * size - now
            part = tl.where(taylor, 1.0 / tl.where(taylor, DEGREE - 1 - k, 1).to(tl.float32), 1.0)
            unit = tl.where(taylor, 1.0, 0.0)
            for r in range(0, wide, T):
                row = r + lane
                for c in range(0, wide, T):
                    col = c + lane
                    total = tl.zeros([T, T], dtype=tl.float32)
                    for q in range(0, wide, T):
                        mid = q + lane
                        x = tl.load(w + left + row[:, None] * wide + mid[None, :])
                        y = tl.load(w + right + mid[:, None] * wide + col[None, :])
                        total += tl.dot(x, y, input_precision="ieee")
                    eye = (row[:, None] == col[None, :]).to(tl.float32)
                    tl.store(w + then + row[:, None] * wide + col[None, :], total * part + eye * unit)
            now = then
            tl.debug_barrier()
        for c in range(0, wide, T):
            for r in range(0, wide, T):
                row = r + lane
                col = c + lane
                mask = (row < n)[:, None] & (col < n)[None, :]
                x = tl.load(w + now + row[:, None] * wide + col[None, :])
                tl.store(s_ptr + batch * n * wide + row[:, None] * wide + col[None, :],
                         x.to(s_ptr.dtype.element_ty), mask=mask)


def wrapper(self):
    n = self.shape[-1]
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel() == 0:
        return out
    batches = list(self.shape[:-2])
    count = math.prod(batches)
    tile = 32 if n <= 32 else 64
    wide = triton.cdiv(n, tile) * tile
    a = torch.empty(batches + [n, wide], dtype=self.dtype, device=self.device)
    a.narrow(-1, 0, n).copy_(self)
    result = torch.empty(batches + [n, wide], dtype=self.dtype, device=self.device)
    work = torch.empty((count, 3, wide, wide), dtype=torch.float32, device=self.device)
    kernel_expm[(min(count, 8192),)](result, a, work, n, wide, count, T=tile, DEGREE=11)
    out.copy_(result.narrow(-1, 0, n))
    return out
