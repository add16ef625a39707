@triton.jit
def kernel_sort(
    x_ptr, values_ptr, indices_ptr, n, DESCENDING: tl.constexpr, FLOAT: tl.constexpr, I: tl.constexpr, J: tl.constexpr
):
    # The place of an element is the number of elements that go before it: all I x J pairs of a tile at once.
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.program_id(1) * I + tl.arange(0, I)
    raw = tl.load(x_ptr + row + i, mask=i < n, other=0)
    mine = raw.to(tl.float32) if FLOAT else raw
    rank = tl.zeros([I], dtype=tl.int32)
    for start in range(0, n, J):
        j = start + tl.arange(0, J)
        other = tl.load(x_ptr + row + j, mask=j < n, other=0)
        if FLOAT:
            other = other.to(tl.float32)
        a = mine[:, None]
        b = other[None, :]
        if FLOAT:
            # NaN is the greatest value.
            a_nan = a != a
            b_nan = b != b
            same = (a == b) | (a_nan & b_nan)
            if DESCENDING:
                before = (b > a) | (b_nan & (a == a))
            else:
                before = (b < a) | (a_nan & (b == b))
        else:
            same = a == b
            before = b > a if DESCENDING else b < a
        before = before | (same & (j[None, :] < i[:, None]))
        rank += tl.sum((before & (j[None, :] < n)).to(tl.int32), axis=1)
    tl.store(values_ptr + row + rank, raw, mask=i < n)
    tl.store(indices_ptr + row + rank, i.to(tl.int64), mask=i < n)


def wrapper(input, dim=-1, descending=False, *, stable=False, out=None):
    rank = max(input.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"sort: dim {dim} is out of range for a tensor of {input.dim()} dimensions")
    x = input.reshape(1) if input.dim() == 0 else input
    x = x.transpose(dim, -1).contiguous()
    values = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    indices = torch.empty(x.shape, dtype=torch.int64, device=x.device)
    if x.numel() > 0:
        n = x.shape[-1]
        grid = (x.numel() // n, triton.cdiv(n, 128))
        kernel_sort[grid](
            x, values, indices, n, DESCENDING=descending, FLOAT=x.is_floating_point(), I=128, J=1024, num_warps=8
        )
    values = values.transpose(dim, -1).contiguous().reshape(input.shape)
    indices = indices.transpose(dim, -1).contiguous().reshape(input.shape)
    return values, indices
