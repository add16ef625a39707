# Generated: the kernel of aten::kthvalue.values for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
@triton.jit
def kernel_kthvalue(
    x_ptr, scratch_ptr, values_ptr, indices_ptr, rows, n, inner, k, padded, iterations,
    ACC: tl.constexpr, BLOCK: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    programs = tl.num_programs(0)
    zero = program - program
    at = zero + k - 1
    perm = scratch_ptr + program * padded
    for step in range(0, iterations):
        row = tl.minimum(program + step * programs, zero + rows - 1)
        base = x_ptr + (row // inner) * n * inner + row % inner
        for start in range(0, n, BLOCK):
            p = start + tl.arange(0, BLOCK).to(tl.int64)
            tl.store(perm + p, p, mask=p < n)
        tl.debug_barrier()
        left = zero
        right = zero + n - 1
        i = zero
        j = zero
        phase = zero
        while phase < 8:
            finish = (phase == 0) & (right <= left)
            two = (phase == 0) & (right == left + 1)
            middle = left + (right - left) // 2
            a = tl.where(phase == 0, tl.where(two, left, middle), left)
            a = tl.where((phase == 1) | (phase == 3), left + 1, a)
            a = tl.where(phase == 5, j, a)
            a = tl.where(phase == 6, i, a)
            a = tl.where(finish, zero, a)
            b = tl.where(phase == 0, tl.where(two, right, left + 1), left)
            b = tl.where((phase == 1) | (phase == 2), right, b)
            b = tl.where(phase == 4, i, b)
            b = tl.where((phase == 6) | (phase == 7), j, b)
            b = tl.where(finish, zero, b)
            pa = tl.load(perm + a)
            pb = tl.load(perm + b)
            xa = tl.load(base + pa * inner).to(ACC)
            xb = tl.load(base + pb * inner).to(ACC)
            greater = ((xa != xa) & (xb == xb)) | (xa > xb)
            pivot = (phase == 0) & (right > left + 1)
            always = pivot | (phase == 6) | (phase == 7)
            ordering = two | (phase == 1) | (phase == 2) | (phase == 3)
            swap = always | (ordering & greater)
            if swap:
                tl.debug_barrier()
                tl.store(perm + a, pb)
                tl.store(perm + b, pa)
                tl.debug_barrier()
            up = ((phase == 4) & greater) | (phase == 6)
            down = ((phase == 5) & greater) | (phase == 6)
            next_i = tl.where(phase == 3, left + 2, tl.where(up, i + 1, i))
            next_j = tl.where(phase == 3, right - 1, tl.where(down, j - 1, j))
            next_left = tl.where((phase == 7) & (j <= at), i, left)
            next_right = tl.where((phase == 7) & (j >= at), j - 1, right)
            after = tl.where(phase == 0, tl.where(pivot, zero + 1, zero + 8), phase + 1)
            after = tl.where(phase == 4, tl.where(greater, zero + 4, zero + 5), after)
            after = tl.where(
                phase == 5, tl.where(greater, zero + 5, tl.where(j < i, zero + 7, zero + 6)), after
            )
            after = tl.where(phase == 6, zero + 4, after)
            after = tl.where(phase == 7, zero, after)
            i = next_i
            j = next_j
            left = next_left
            right = next_right
            phase = after
        index = tl.load(perm + at)
        value = tl.load(base + index * inner)
        tl.store(values_ptr + row, value)
        tl.store(indices_ptr + row, index)
        tl.debug_barrier()


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def wrapper(self, k, dim=-1, keepdim=False, *, values, indices):
    input = self
    out = (values, indices)
    sizes = list(input.shape)
    rank = max(len(sizes), 1)
    dim = dim % rank
    n = sizes[dim] if sizes else 1
    kept = [1] if sizes and keepdim else []
    shape = sizes[:dim] + kept + sizes[dim + 1 :]
    values = torch.empty(shape, dtype=input.dtype, device=input.device)
    indices = torch.empty(shape, dtype=torch.int64, device=input.device)
    rows = values.numel()
    if rows > 0:
        inner = math.prod(sizes[dim + 1 :])
        block = min(max(triton.next_power_of_2(n), 16), 1024)
        padded = triton.cdiv(n, block) * block
        programs = min(rows, 512)
        scratch = torch.empty((programs * padded,), dtype=torch.int64, device=input.device)
        acc = tl.float32 if input.is_floating_point() else tl.int64
        kernel_kthvalue[(programs,)](
            aligned(input), scratch, values, indices, rows, n, inner, k, padded,
            triton.cdiv(rows, programs), ACC=acc, BLOCK=block, enable_scatter_stores=True,
        )
    if list(out[0].shape) != shape:
        out[0].resize_(shape)
    if list(out[1].shape) != shape:
        out[1].resize_(shape)
    out[0].copy_(values)
    out[1].copy_(indices)
    return out[0], out[1]
