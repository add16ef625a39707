# Generated: the kernel of aten::random_.to for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_random(out_ptr, n, seed, span_high, span_low, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    sh = tl.zeros([BLOCK], dtype=tl.int64) + span_high
    sl = tl.zeros([BLOCK], dtype=tl.int64) + span_low
    sh = sh.to(tl.uint64)
    sl = sl.to(tl.uint64)
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        at = offsets.to(tl.int32)
        h = (tl.randint(seed, 2 * at).to(tl.int64) & 0xFFFFFFFF).to(tl.uint64)
        l = (tl.randint(seed, 2 * at + 1).to(tl.int64) & 0xFFFFFFFF).to(tl.uint64)
        # The high 64 bits of the product of the 64 random bits and the span.
        t = h * sl + ((l * sl) >> 32)
        t_low = (t.to(tl.int64) & 0xFFFFFFFF).to(tl.uint64)
        m = l * sh + t_low
        v = (h * sh + (t >> 32) + (m >> 32)).to(tl.int64)
        if FLOAT:
            tl.store(out_ptr + offsets, v.to(tl.float32), mask=mask)
        else:
            tl.store(out_ptr + offsets, v, mask=mask)


def lead(v):
    # The position of the highest bit.
    n = 0
    while v > 1:
        v = v >> 1
        n += 1
    return n


def rounded(a, digits):
    # A whole number to so many binary digits, half to even.
    n = 0
    while (a >> n) >= (1 << digits):
        n += 1
    if n == 0:
        return a
    q = a >> n
    r = a - (q << n)
    half = 1 << (n - 1)
    if r > half or (r == half and q % 2 == 1):
        q += 1
    return q << n


def wrapper(self, to, *, seed):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    target = self if direct else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    floating = self.is_floating_point()
    span = to
    if floating:
        # Numbers that the dtype rounds must not be rounded out of the range.
        digits = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}[self.dtype]
        near = rounded(span - 1, digits)
        if near >= span:
            span = near - (1 << max(lead(span - 1) - digits + 1, 0))
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_random[grid](target, n, seed, span >> 32, span & 0xFFFFFFFF, FLOAT=floating, BLOCK=1024)
    if not direct:
        self.copy_(target)
    return self
