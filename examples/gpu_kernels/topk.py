@triton.jit
def kernel_topk(x_ptr, values_ptr, indices_ptr, n, k, LARGEST: tl.constexpr, FLOAT: tl.constexpr, N: tl.constexpr):
    # The whole row in one comparison tile; elements of rank below k are stored at their rank.
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, N)
    valid = i < n
    raw = tl.load(x_ptr + row * n + i, mask=valid, other=0)
    x = raw.to(tl.float32) if FLOAT else raw
    a = x[:, None]
    b = x[None, :]
    if LARGEST:
        before = b > a
    else:
        before = b < a
    same = a == b
    if FLOAT:
        # NaN counts as the greatest value.
        a_nan = a != a
        b_nan = b != b
        same = same | (a_nan & b_nan)
        if LARGEST:
            before = before | (b_nan & (a == a))
        else:
            before = before | (a_nan & (b == b))
    before = before | (same & (i[None, :] < i[:, None]))
    rank = tl.sum((before & valid[None, :]).to(tl.int32), axis=1)
    keep = valid & (rank < k)
    tl.store(values_ptr + row * k + rank, raw, mask=keep)
    tl.store(indices_ptr + row * k + rank, i.to(tl.int64), mask=keep)


def wrapper(input, k, dim=None, largest=True, sorted=True, *, out=None):
    rank = max(input.dim(), 1)
    dim = -1 if dim is None else dim
    if not -rank <= dim < rank:
        raise IndexError(f"topk: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
    x = input.reshape(1) if input.dim() == 0 else input
    x = x.transpose(dim, -1).contiguous()
    n = x.shape[-1]
    if not 0 <= k <= n:
        raise RuntimeError("topk: selected index k out of range")
    shape = list(x.shape[:-1]) + [k]
    values = torch.empty(shape, dtype=x.dtype, device=x.device)
    indices = torch.empty(shape, dtype=torch.int64, device=x.device)
    if values.numel() > 0:
        block = triton.next_power_of_2(n)
        kernel_topk[(values.numel() // k,)](
            x, values, indices, n, k, LARGEST=largest, FLOAT=x.is_floating_point(), N=block
        )
    if input.dim() == 0:
        return values.reshape([]), indices.reshape([])
    return values.transpose(dim, -1).contiguous(), indices.transpose(dim, -1).contiguous()
