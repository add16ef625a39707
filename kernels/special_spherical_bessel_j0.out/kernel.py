# Generated: the kernel of aten::special_spherical_bessel_j0.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_spherical(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0).to(tl.int64) * BLOCK
    for start in range(first, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        v = tl.load(x_ptr + offsets, mask=mask, other=1).to(tl.float32)
        z = v * v
        small = -2.505210838544172e-08 * z + 2.7557319223985893e-06
        small = small * z + -1.984126984126984e-04
        small = small * z + 8.333333333333333e-03
        small = small * z + -1.6666666666666666e-01
        small = small * z + 1.0
        large = tl.div_rn(libdevice.sin(v), v)
        y = tl.where(tl.abs(v) < 0.5, small, large)
        y = tl.where(tl.abs(v) == float("inf"), 0.0, y)
        tl.store(out_ptr + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


def aligned(x):
    x = x.contiguous()
    if x.storage_offset() * x.element_size() % 32 != 0:
        x = x.clone()
    return x.view(torch.uint8) if x.dtype == torch.bool else x


def wrapper(x, *, out):
    n = out.numel()
    if n == 0:
        return out
    source = aligned(x)
    direct = out.is_contiguous() and out.storage_offset() * out.element_size() % 32 == 0
    result = out if direct else torch.empty(list(out.shape), dtype=out.dtype, device=out.device)
    kernel_spherical[(min(triton.cdiv(n, 1024), 4096),)](source, result, n, BLOCK=1024)
    if not direct:
        out.copy_(result)
    return out
