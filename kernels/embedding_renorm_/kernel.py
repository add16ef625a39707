# Generated: the kernel of aten::embedding_renorm_ for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_renorm(
    w_ptr, old_ptr, index_ptr, n, M, stride_row, stride_column, max_norm, p, inv_p, inv_rest,
    KIND: tl.constexpr, BINARY: tl.constexpr, BLOCK: tl.constexpr,
):
    for k in range(tl.program_id(0), n, tl.num_programs(0)):
        row = tl.load(index_ptr + k).to(tl.int64)
        base = old_ptr + row * M
        top = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, M, BLOCK):
            c = start + tl.arange(0, BLOCK)
            mask = c < M
            x = tl.reshape(tl.load((base + c)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
            d = tl.abs(x)
            top = tl.where((d > top) | (d != d), d, top)
        nan = tl.sum(tl.where(top != top, 1, 0), axis=0) > 0
        peak = tl.max(tl.where(top == top, top, 0.0), axis=0)
        usable = (peak > 0.0) & (peak < float("inf"))
        unit = peak
        if BINARY:
            unit = (peak.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)
            unit = tl.where(unit > 0.0, unit, 1.1754943508222875e-38)
        safe = tl.where(usable, unit, 1.0)
        if KIND == 3:
            norm = peak
        else:
            acc = tl.zeros([BLOCK], dtype=tl.float32)
            for start in range(0, M, BLOCK):
                c = start + tl.arange(0, BLOCK)
                mask = c < M
                x = tl.reshape(tl.load((base + c)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
                q = tl.div_rn(tl.abs(x), tl.zeros([BLOCK], dtype=tl.float32) + safe)
                if KIND == 0:
                    term = tl.where(q != 0.0, 1.0, 0.0)
                elif KIND == 1:
                    term = q
                elif KIND == 2:
                    term = q * q
                else:
                    term = libdevice.pow(q, tl.zeros([BLOCK], dtype=tl.float32) + p)
                acc += tl.where(mask, term, 0.0)
            total = tl.sum(acc, axis=0)
            if KIND == 0:
                norm = total
            elif KIND == 1:
                norm = total * safe
            elif KIND == 2:
                norm = tl.sqrt_rn(total) * safe
            else:
                lane = tl.zeros([BLOCK], dtype=tl.float32)
                root = libdevice.pow(lane + total, lane + inv_p)
                norm = tl.max(root, axis=0) * safe
        big = (norm > max_norm) & (nan == 0)
        scale = max_norm / (norm + 1e-7)
        for start in range(0, M, BLOCK):
            c = start + tl.arange(0, BLOCK)
            mask = c < M
            x = tl.reshape(tl.load((base + c)[:, None], mask=mask[:, None], other=0), [BLOCK]).to(tl.float32)
            dst = w_ptr + row * stride_row + c.to(tl.int64) * stride_column
            tl.store(dst[:, None], (x * scale)[:, None], mask=(mask & big)[:, None])


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, indices, max_norm, norm_type):
    n = indices.numel()
    N, M = list(self.shape)
    if n == 0 or N == 0 or M == 0:
        return self
    p = float(norm_type)
    inverse = 1.0
    if p == 0.0:
        kind = 0
    elif p == 1.0:
        kind = 1
    elif p == 2.0:
        kind = 2
    elif p == math.inf:
        kind, p = 3, 1.0
    else:
        kind, inverse = 4, 1.0 / p
    old = self.contiguous().clone()
    work = self
    direct = self.storage_offset() * self.element_size() % 32 == 0
    if not direct:
        work = torch.empty((N, M), dtype=self.dtype, device=self.device)
        work.copy_(self)
    kernel_renorm[(min(n, 4096),)](
        work, old, aligned(indices), n, M, work.stride(0), work.stride(1), float(max_norm), p, inverse, 0.0,
        KIND=kind, BINARY=abs(p) <= 64.0, BLOCK=512, enable_scatter_stores=True,
    )
    if not direct:
        self.copy_(work)
    return self
