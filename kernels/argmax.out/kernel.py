# Generated: the kernel of aten::argmax.out for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_argmax(x_ptr, out_ptr, rows, n, pitch, COMPUTE: tl.constexpr, IS_FLOAT: tl.constexpr,
                  FILL: tl.constexpr, TILES: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    first_row = tl.program_id(0).to(tl.int64) * (TILES * BLOCK_C)
    lane = tl.arange(0, BLOCK_R).to(tl.int64)
    for t in range(0, TILES):
        j = first_row + t * BLOCK_C + tl.arange(0, BLOCK_C)
        row_mask = (j < rows)[:, None]
        base = (j * pitch)[:, None]

        best = tl.load(x_ptr + base + lane[None, :], mask=row_mask & (lane < n)[None, :],
                       other=FILL).to(COMPUTE)
        index = tl.zeros((BLOCK_C, BLOCK_R), dtype=tl.int64) + lane[None, :]
        for start in range(BLOCK_R, n, BLOCK_R):
            r = lane + start
            v = tl.load(x_ptr + base + r[None, :], mask=row_mask & (r < n)[None, :],
                        other=FILL).to(COMPUTE)
            better = v > best
            if IS_FLOAT:
                better = better | ((v != v) & (best == best))
            best = tl.where(better, v, best)
            index = tl.where(better, r[None, :], index)

        if IS_FLOAT:
            nan = best != best
            any_nan = tl.max(nan.to(tl.int32), axis=1)
            top = tl.max(tl.where(nan, float("-inf"), best), axis=1)
            wins = nan | ((any_nan == 0)[:, None] & (best == top[:, None]))
        else:
            top = tl.max(best, axis=1)
            wins = best == top[:, None]
        winner = tl.min(tl.where(wins, index, n), axis=1)
        tl.store(out_ptr + j, winner, mask=j < rows)


def wrapper(self, dim=None, keepdim=False, *, out):
    input = self
    ndim = input.dim()
    shape = list(input.shape)
    if dim is None:
        if input.numel() == 0:
            raise IndexError("argmax(): Expected reduction dim to be specified for input.numel() == 0. "
                             "Specify the reduction dim with the 'dim' argument.")
        rows, n = 1, input.numel()
        out_shape = [1] * ndim if keepdim else []
    else:
        if not isinstance(dim, int):
            raise TypeError("argmax(): argument 'dim' must be int")
        limit = max(ndim, 1)
        if dim < -limit or dim >= limit:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], "
                             f"but got {dim})")
        if dim < 0:
            dim += limit
        rows, n = 1, 1
        out_shape = []
        if ndim > 0:
            n = shape[dim]
            if n == 0:
                raise IndexError(f"argmax(): Expected reduction dim {dim} to have non-zero size.")
            for size in shape[:dim] + shape[dim + 1:]:
                rows *= size
            out_shape = shape[:dim] + ([1] if keepdim else []) + shape[dim + 1:]
    is_float = input.is_floating_point()
    if input.dtype == torch.bool or input.dtype == torch.float64 or input.is_complex():
        raise NotImplementedError(f"argmax is not implemented for {input.dtype}")

    result = torch.empty(out_shape, dtype=torch.int64, device=input.device)
    if rows == 0:
        return out

    x = input.reshape(1, n) if dim is None or ndim == 0 else input.movedim(dim, -1)
    pitch = triton.cdiv(n, 32) * 32
    dense = x.is_contiguous() and (rows == 1 or pitch == n)
    if not dense or x.storage_offset() * x.element_size() % 32 != 0:
        padded = torch.empty(list(x.shape[:-1]) + [pitch], dtype=x.dtype, device=x.device)
        padded.narrow(-1, 0, n).copy_(x)
        x = padded

    if is_float:
        compute = tl.float32
        fill = -math.inf
    else:
        compute = tl.int64 if x.dtype == torch.int64 else tl.int32
        fill = torch.iinfo(x.dtype).min
    block_r = min(max(triton.next_power_of_2(n), 32), 1024)
    block_c = max(min(triton.next_power_of_2(triton.cdiv(rows, 64)), 4096 // block_r), 4)
    tiles = triton.cdiv(triton.cdiv(rows, block_c), 65535)
    kernel_argmax[(triton.cdiv(rows, block_c * tiles),)](x, result, rows, n, pitch, COMPUTE=compute,
                                                         IS_FLOAT=is_float, FILL=fill, TILES=tiles,
                                                         BLOCK_R=block_r, BLOCK_C=block_c)
    out.copy_(result)
    return out
