# Generated: the kernel of aten::random_.to for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_random(out_ptr, n, seed, base, span_high, span_low, bottom, top, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    sh = (tl.zeros([BLOCK], dtype=tl.int64) + span_high).to(tl.uint64)
    sl = (tl.zeros([BLOCK], dtype=tl.int64) + span_low).to(tl.uint64)
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
        v = (h * sh + (t >> 32) + (m >> 32)).to(tl.int64) + base
        if FLOAT:
            # Rounded, and not out of the range.
            y = v.to(tl.float32).to(out_ptr.dtype.element_ty).to(tl.float32)
            y = tl.minimum(tl.maximum(y, bottom), top)
            tl.store(out_ptr + offsets, y, mask=mask)
        else:
            tl.store(out_ptr + offsets, v, mask=mask)


def held(v, digits, up):
    # The number of so many binary digits next to a whole one, from below or from above.
    n = max(abs(v).bit_length() - digits, 0)
    q = v >> n
    if up and (q << n) != v:
        q += 1
    return q << n


def wrapper(self, to, *, seed):
    n = self.numel()
    if n == 0:
        return self
    direct = self.is_contiguous() and self.storage_offset() * self.element_size() % 32 == 0
    target = self if direct else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    floating = self.is_floating_point()
    digits = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}.get(self.dtype, 53)
    low, high = 0, to
    bottom, top = held(low, digits, True), held(high - 1, digits, False)
    if bottom > top:
        # No number of the dtype is in the range: the ones around it.
        bottom, top = held(low, digits, False), held(high - 1, digits, True)
    span = high - low
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_random[grid](
        target, n, seed, low, span >> 32, span & 0xFFFFFFFF, float(bottom), float(top), FLOAT=floating, BLOCK=1024
    )
    if not direct:
        self.copy_(target)
    return self
