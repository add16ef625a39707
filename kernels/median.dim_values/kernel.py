# Generated: the kernel of aten::median.dim_values for vpe:pe64, made with bringup. Do not edit: its digest is in
# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.
# ---------------------------------------------------------------- what was judged begins below this line
NOTHING = tl.constexpr(9223372036854775807)


@triton.jit
def load_block(base, start, n, BLOCK: tl.constexpr):
    at = start + tl.arange(0, BLOCK)
    return tl.load(base + at, mask=at < n, other=0)


@triton.jit
def to_key(x, KEY: tl.constexpr, FLOAT: tl.constexpr):
    if FLOAT:
        x = x.to(tl.float32)
        x = tl.where(x == 0, tl.zeros_like(x), x)
        bits = x.to(tl.int32, bitcast=True)
        key = bits ^ ((bits >> 31) & 2147483647)
    else:
        key = x.to(KEY)
    return key


@triton.jit
def kernel_median(
    x_ptr,
    value_ptr,
    index_ptr,
    rows,
    n,
    pitch,
    KEY: tl.constexpr,
    WIDTH: tl.constexpr,
    LOWEST: tl.constexpr,
    HIGHEST: tl.constexpr,
    FLOAT: tl.constexpr,
    ONE: tl.constexpr,
    INDEX: tl.constexpr,
    BLOCK: tl.constexpr,
):
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    half = (n - 1) // 2
    for r in range(tl.program_id(0), rows, tl.num_programs(0)):
        row = r.to(tl.int64)
        base = x_ptr + row * pitch
        target = tl.full([BLOCK], LOWEST, dtype=KEY)
        bit = tl.full([BLOCK], LOWEST, dtype=KEY)
        top = tl.full([BLOCK], HIGHEST, dtype=KEY)
        less = row * 0
        if ONE:
            only = load_block(base, 0, n, BLOCK)
            only_key = to_key(only, KEY, FLOAT)
            for b in range(WIDTH):
                candidate = target ^ bit
                below = (lanes < n) & (only_key < candidate)
                count = tl.sum(below.to(tl.int64), axis=0)
                target = tl.where(count <= half, candidate, target)
                less = tl.where(count <= half, count, less)
                bit = (bit >> 1) & top
        else:
            for b in range(WIDTH):
                candidate = target ^ bit
                counts = tl.zeros([BLOCK], dtype=tl.int64)
                for start in range(0, n, BLOCK):
                    key = to_key(load_block(base, start, n, BLOCK), KEY, FLOAT)
                    below = (start + lanes < n) & (key < candidate)
                    counts += below.to(tl.int64)
                count = tl.sum(counts, axis=0)
                target = tl.where(count <= half, candidate, target)
                less = tl.where(count <= half, count, less)
                bit = (bit >> 1) & top
        want = half - less
        seen = row * 0
        found = tl.full([BLOCK], NOTHING, dtype=tl.int64)
        nan_at = tl.full([BLOCK], NOTHING, dtype=tl.int64)
        for start in range(0, n, BLOCK):
            x = load_block(base, start, n, BLOCK)
            key = to_key(x, KEY, FLOAT)
            k = start + lanes
            valid = k < n
            equal = valid & (key == target)
            ones = equal.to(tl.int64)
            place = seen + tl.cumsum(ones, axis=0) - 1
            found = tl.minimum(found, tl.where(equal & (place == want), k, NOTHING))
            seen += tl.sum(ones, axis=0)
            if FLOAT:
                y = x.to(tl.float32)
                nan_at = tl.minimum(nan_at, tl.where(valid & (y != y), k, NOTHING))
        at = tl.min(found, axis=0)
        nan = tl.min(nan_at, axis=0)
        at = tl.where(nan < NOTHING, nan, at)
        tl.store(value_ptr + row, tl.load(base + at))
        if INDEX:
            tl.store(index_ptr + row, at)


def aligned(x):
    x = x.contiguous()
    return x if x.storage_offset() * x.element_size() % 32 == 0 else x.clone()


def aligned_rows(input, outer, n, inner):
    size = input.element_size()
    if outer * inner == 1 or (inner == 1 and n * size % 32 == 0):
        return aligned(input), n
    pitch = triton.cdiv(n * size, 32) * 32 // size
    padded = torch.empty((outer, inner, pitch), dtype=input.dtype, device=input.device)
    padded.narrow(2, 0, n).copy_(input.reshape(outer, n, inner).transpose(1, 2))
    return padded, pitch


def launch(input, values, indices, outer, n, inner):
    x, pitch = aligned_rows(input, outer, n, inner)
    wide = input.dtype == torch.int64
    rows = outer * inner
    block = max(min(triton.next_power_of_2(n), 2048), 16)
    kernel_median[(min(rows, 32768),)](
        x,
        values,
        values if indices is None else indices,
        rows,
        n,
        pitch,
        KEY=tl.int64 if wide else tl.int32,
        WIDTH=64 if wide else 32,
        LOWEST=-(2**63) if wide else -(2**31),
        HIGHEST=2**63 - 1 if wide else 2**31 - 1,
        FLOAT=input.is_floating_point(),
        ONE=n <= block,
        INDEX=indices is not None,
        BLOCK=block,
    )


def wrapper(self, dim, keepdim=False, *, values, indices):
    sizes = list(self.shape)
    rank = max(len(sizes), 1)
    dim = dim % rank
    n = sizes[dim] if sizes else 1
    outer, inner = math.prod(sizes[:dim]), math.prod(sizes[dim + 1 :])
    kept = [1] if sizes and keepdim else []
    shape = sizes[:dim] + kept + sizes[dim + 1 :]
    if list(values.shape) != shape:
        values.resize_(shape)
    if list(indices.shape) != shape:
        indices.resize_(shape)
    if values.numel() > 0:
        medians = torch.empty(shape, dtype=self.dtype, device=self.device)
        places = torch.empty(shape, dtype=torch.int64, device=self.device)
        launch(self, medians, places, outer, n, inner)
        values.copy_(medians)
        indices.copy_(places)
    return values, indices
