# Generated: the kernel of aten::addbmm for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_float(self_ptr, a_ptr, b_ptr, out_ptr, batch, n, m, p, a_ld, b_ld, beta, alpha, ADD: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    wide = (p + N - 1) // N
    tiles = ((n + M - 1) // M) * wide
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        rows = (tile // wide * M + tl.arange(0, M)).to(tl.int64)[:, None]
        cols = (tile % wide * N + tl.arange(0, N))[None, :]
        acc = tl.zeros([M, N], dtype=tl.float32)
        for i in range(0, batch):
            a = a_ptr + i.to(tl.int64) * n * a_ld
            b = b_ptr + i.to(tl.int64) * m * b_ld
            for k0 in range(0, m, K):
                k = k0 + tl.arange(0, K)
                x = tl.load(a + rows * a_ld + k[None, :], mask=(rows < n) & (k < m)[None, :], other=0).to(tl.float32)
                y = tl.load(b + k.to(tl.int64)[:, None] * b_ld + cols, mask=(k < m)[:, None] & (cols < p), other=0).to(tl.float32)
                acc += tl.dot(x, y, input_precision="ieee")
        mask = (rows < n) & (cols < p)
        acc = acc * alpha
        if ADD:
            acc += tl.load(self_ptr + rows * b_ld + cols, mask=mask, other=0).to(tl.float32) * beta
        tl.store(out_ptr + rows * b_ld + cols, acc.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def kernel_int(self_ptr, a_ptr, b_ptr, out_ptr, batch, n, m, p, a_ld, b_ld, beta, alpha, ADD: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    wide = (p + N - 1) // N
    tiles = ((n + M - 1) // M) * wide
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        rows = (tile // wide * M + tl.arange(0, M)).to(tl.int64)[:, None]
        cols = (tile % wide * N + tl.arange(0, N))[None, :]
        acc = tl.zeros([M, N], dtype=tl.int64)
        for i in range(0, batch):
            a = a_ptr + i.to(tl.int64) * n * a_ld
            b = b_ptr + i.to(tl.int64) * m * b_ld
            for k0 in range(0, m, K):
                k = k0 + tl.arange(0, K)
                x = tl.load(a + rows * a_ld + k[None, :], mask=(rows < n) & (k < m)[None, :], other=0).to(tl.int64)
                y = tl.load(b + k.to(tl.int64)[:, None] * b_ld + cols, mask=(k < m)[:, None] & (cols < p), other=0).to(tl.int64)
                acc += tl.sum(tl.expand_dims(x, 2) * tl.expand_dims(y, 0), axis=1)
        mask = (rows < n) & (cols < p)
        acc = acc * alpha
        if ADD:
            acc += tl.load(self_ptr + rows * b_ld + cols, mask=mask, other=0).to(tl.int64) * beta
        tl.store(out_ptr + rows * b_ld + cols, acc.to(out_ptr.dtype.element_ty), mask=mask)


def padded(x, length):
    # Rows of `length` elements, each beginning at a multiple of 32 bytes.
    sizes = list(x.shape)
    result = torch.empty(sizes[:-1] + [length], dtype=x.dtype, device=x.device)
    if x.numel() > 0:
        result.narrow(-1, 0, sizes[-1]).copy_(x)
    return result


def wrapper(self, batch1, batch2, *, beta=1, alpha=1):
    batch, n, m = batch1.shape
    p = batch2.shape[2]
    result = torch.empty((n, p), dtype=self.dtype, device=self.device)
    if n == 0 or p == 0:
        return result
    unit = 32 // self.element_size() if self.element_size() < 2 else 16
    a_ld = max(triton.cdiv(m, unit) * unit, unit)
    b_ld = triton.cdiv(p, unit) * unit
    # An empty sum of products leaves nothing to read: any memory will do.
    x = padded(batch1, a_ld) if batch * m > 0 else torch.empty((32,), dtype=batch1.dtype, device=self.device)
    y = padded(batch2, b_ld) if batch * m > 0 else torch.empty((32,), dtype=batch2.dtype, device=self.device)
    out = torch.empty((n, b_ld), dtype=self.dtype, device=self.device)
    add = beta != 0
    first = padded(self.expand(n, p), b_ld) if add else out
    depth = m if batch > 0 else 0
    if self.is_floating_point():
        grid = (min(triton.cdiv(n, 32) * triton.cdiv(p, 32), 4096),)
        kernel_float[grid](first, x, y, out, batch, n, depth, p, a_ld, b_ld, float(beta), float(alpha), ADD=add, M=32, N=32, K=32)
    else:
        grid = (min(triton.cdiv(n, 16) * triton.cdiv(p, 32), 4096),)
        kernel_int[grid](first, x, y, out, batch, n, depth, p, a_ld, b_ld, int(beta), int(alpha), ADD=add, M=16, N=32, K=16)
    result.copy_(out.narrow(1, 0, p))
    return result
