# Generated: the kernel of aten::triu.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_triu(x_ptr, out_ptr, n, h, w, diagonal, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        p = start + tl.arange(0, BLOCK)
        live = p < n
        row = (p // w) % h
        keep = (p % w) - row >= diagonal
        v = tl.load(x_ptr + p, mask=live & keep, other=0)
        tl.store(out_ptr + p, v.to(out_ptr.dtype.element_ty), mask=live)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def bits(x):
    return x.view(torch.int64) if x.dtype == torch.float64 else x


def wrapper(self, diagonal=0, *, out):
    n = out.numel()
    if n == 0:
        return out
    x = aligned(self)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    source = x.view(torch.uint8) if x.dtype == torch.bool else bits(x)
    target = result.view(torch.uint8) if result.dtype == torch.bool else bits(result)
    kernel_triu[(min(triton.cdiv(n, 1024), 4096),)](source, target, n, self.shape[-2], self.shape[-1], diagonal,
                                                    BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
