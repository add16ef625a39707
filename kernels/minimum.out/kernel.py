# Generated: the kernel of aten::minimum.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_minimum(a_ptr, b_ptr, out_ptr, n, COMMON: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        a = tl.load(a_ptr + offsets, mask=mask, other=0).to(COMMON).to(ACC)
        b = tl.load(b_ptr + offsets, mask=mask, other=0).to(COMMON).to(ACC)
        # A NaN of either side is kept: one of `b` fails the comparison and is taken.
        y = tl.where((a != a) | (a < b), a, b)
        tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, other, *, out):
    dtype = torch.result_type(self, other)
    shape = list(torch.broadcast_shapes(self.shape, other.shape))
    if list(out.shape) != shape:
        out.resize_(shape)
    n = out.numel()
    if n == 0:
        return out
    floating = dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64)
    kinds = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16, torch.bool: tl.int8, torch.int8: tl.int8,
             torch.uint8: tl.uint8, torch.int16: tl.int16, torch.int32: tl.int32}
    kind = tl.float32 if floating else tl.int64
    if dtype in kinds:
        kind = kinds[dtype]
    a = aligned(torch.broadcast_to(self, shape))
    b = aligned(torch.broadcast_to(other, shape))
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(shape, dtype=out.dtype, device=out.device)
    grid = (min(triton.cdiv(n, 1024), 4096),)
    kernel_minimum[grid](a, b, result, n, COMMON=kind, ACC=tl.float32 if floating else tl.int64, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
