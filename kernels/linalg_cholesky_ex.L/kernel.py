# Generated: the kernel of aten::linalg_cholesky_ex.L for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_cholesky(w_ptr, info_ptr, batch, n, ld, R: tl.constexpr, C: tl.constexpr):
    # The lower triangle becomes the factor, in place; what is above becomes zero.
    for b in range(tl.program_id(0).to(tl.int64), batch, tl.num_programs(0)):
        w = w_ptr + b * n * ld
        info = 0
        for k in range(0, n):
            d = tl.load(w + k * ld + k)
            info = tl.where((info == 0) & ((d <= 0.0) | (d != d)), k + 1, info)
            if info == 0:
                root = tl.sqrt_rn(d)
                tl.store(w + k * ld + k, root)
                for s0 in range((k + 1) // R * R, n, R):
                    srows = s0 + tl.arange(0, R)
                    smask = (srows > k) & (srows < n)
                    sat = w + (srows * ld + k)[:, None]
                    x = tl.load(sat, mask=smask[:, None], other=0.0)
                    tl.store(sat, x / root, mask=smask[:, None])
                tl.debug_barrier()
                for r0 in range((k + 1) // R * R, n, R):
                    rows = r0 + tl.arange(0, R)
                    rmask = (rows > k) & (rows < n)
                    left = tl.load(w + (rows * ld + k)[:, None], mask=rmask[:, None], other=0.0)
                    for c0 in range((k + 1) // C * C, tl.minimum(n, r0 + R), C):
                        cols = c0 + tl.arange(0, C)
                        cmask = (cols > k) & (cols < n)
                        right = tl.load(w + (cols * ld + k)[:, None], mask=cmask[:, None], other=0.0)
                        right = tl.reshape(right, [1, C])
                        at = w + rows[:, None] * ld + cols[None, :]
                        m = rmask[:, None] & cmask[None, :] & (cols[None, :] <= rows[:, None])
                        t = tl.load(at, mask=m, other=0.0)
                        tl.store(at, t - left * right, mask=m)
            tl.debug_barrier()
        for i0 in range(0, n, R):
            irows = i0 + tl.arange(0, R)
            for j0 in range(i0 // C * C, n, C):
                jcols = j0 + tl.arange(0, C)
                jmask = (irows < n)[:, None] & (jcols < n)[None, :] & (jcols[None, :] > irows[:, None])
                tl.store(w + irows[:, None] * ld + jcols[None, :], tl.zeros([R, C], dtype=tl.float32), mask=jmask)
        tl.store(info_ptr + b, info)


def wrapper(self, *, upper=False, check_errors=False, L, info):
    sizes = list(self.shape)
    n = sizes[-1]
    batch = math.prod(sizes[:-2])
    if batch == 0:
        return L, info
    ld = max(triton.cdiv(n, 8) * 8, 8)
    work = torch.empty((batch, max(n, 1), ld), dtype=torch.float32, device=self.device)
    codes = torch.empty((batch,), dtype=torch.int32, device=self.device)
    if n > 0:
        # Only one triangle is read: the upper one is the lower one of the transpose.
        source = self.mT if upper else self
        work.narrow(2, 0, n).copy_(source.reshape(batch, n, n))
    block = min(64, max(16, triton.next_power_of_2(max(n, 1))))
    kernel_cholesky[(min(batch, 4096),)](work, codes, batch, n, ld, R=block, C=block)
    info.copy_(codes.reshape(info.shape))
    if n > 0:
        result = work.narrow(2, 0, n).reshape(sizes)
        L.copy_(result.mT if upper else result)
    return L, info
