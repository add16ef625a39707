"""A tensor's values elsewhere in memory, as a generator of random numbers has it; what lies between them is poison."""

from __future__ import annotations

import math
import random

import torch

# Lists of numbers could be looked up, and everything between them be wrong: all are drawn, small ones more often.
OFFSET = 12  # binary logarithm of the most elements before the first one
STEP = 6  # the same between neighbours
PADDING = 6  # and behind each row
WHOLE = 0.3  # how often a number is a multiple of 16, which Triton tells apart
MEMORY = 1 << 18  # elements that a tensor may be spread over
TAIL = 5  # elements behind the last one
AT_ENDS = 0.4  # how often the first element begins its memory, and how often the last one ends it, as in sealed use
EXPANDED = 0.2  # how often memory is shared by a stride of 0, which the published cases have, and not by windows


def permuted(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """Return the tensor dense in memory, its dimensions there in another order: reversed, turned in a circle, or any.

    As it is where it has fewer than two dimensions that are longer than 1.
    """
    long = [dim for dim in range(tensor.dim()) if tensor.shape[dim] > 1]
    if len(long) < 2:
        return tensor
    turn = chance.randrange(1, len(long))
    ways = [long[::-1], long[turn:] + long[:turn], chance.sample(long, len(long))]
    chosen = chance.choice([way for way in ways if way != long])
    order = iter(chosen)
    return laid(tensor, [next(order) if dim in long else dim for dim in range(tensor.dim())])


def scattered(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """Return the tensor elsewhere: at an offset, with steps between neighbours, rows apart, dimensions reordered."""
    order = chance.sample(range(tensor.dim()), tensor.dim()) if chance.random() < 0.5 else list(range(tensor.dim()))
    step = _drawn(chance, STEP) if chance.random() < 0.7 else 1
    # A few elements far apart would need much memory between them.
    while tensor.numel() * step > MEMORY:
        step //= 2
    padding = _drawn(chance, PADDING) if chance.random() < 0.6 else 0
    offset = 0 if chance.random() < AT_ENDS else _drawn(chance, OFFSET)
    return laid(tensor, order, max(1, step), padding, offset, 0 if chance.random() < AT_ENDS else TAIL)


def behind(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """Return the tensor contiguous, behind other elements of its memory."""
    tail = 0 if chance.random() < AT_ENDS else TAIL
    return laid(tensor, list(range(tensor.dim())), offset=_drawn(chance, OFFSET), tail=tail)


def overlapping(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor | None:
    """Return a tensor of the same shape, of the same values but fewer of them, elements of which share memory.

    Windows that lie on one another (`unfold`), or dimensions of stride 0 (`expand`). None where nothing can be shared.
    """
    long = [dim for dim in range(tensor.dim()) if tensor.shape[dim] > 1]
    if not long:
        return None
    if len(long) < 2 or chance.random() < EXPANDED:
        chosen = chance.sample(long, chance.randint(1, len(long)))
        sizes = [1 if dim in chosen else size for dim, size in enumerate(tensor.shape)]
        first = tensor[tuple(slice(size) for size in sizes)]
        return first.clone(memory_format=torch.contiguous_format).expand(tensor.shape)
    *_, outer, inner = long
    strides, reach = [0] * tensor.dim(), 1
    for dim in reversed(range(tensor.dim())):
        strides[dim] = chance.choice((1, max(1, tensor.shape[inner] // 2))) if dim == outer else reach
        reach = max(reach, 1 + sum((tensor.shape[d] - 1) * strides[d] for d in range(dim, tensor.dim())))
    values = tensor.reshape(-1)[:reach].clone()
    return values.as_strided(tensor.shape, strides)


def refolded(shape: torch.Size, rank: int, chance: random.Random) -> list[int] | None:
    """Return a shape of `rank` dimensions, all longer than 1, for as many elements; None where there is none."""
    left, primes = math.prod(shape), []
    for prime in (2, 3, 5, 7, 11, 13):
        while left and left % prime == 0:
            primes.append(prime)
            left //= prime
    primes += [left] if left > 1 else []
    if len(primes) < rank:
        return None
    chance.shuffle(primes)
    sizes = primes[:rank]
    for prime in primes[rank:]:
        sizes[chance.randrange(rank)] *= prime
    return sizes


def side_by_side(one: torch.Tensor, other: torch.Tensor, chance: random.Random) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two tensors of one dtype as views of one storage: one behind the other, or (of one shape) in turns."""
    if one.shape == other.shape and chance.random() < 0.5:
        both = torch.stack((one, other), dim=-1)
        return both[..., 0], both[..., 1]
    before = 0 if chance.random() < AT_ENDS else _drawn(chance, STEP)  # elements of their storage
    flat = torch.cat((_poison(before, one.dtype), one.reshape(-1), other.reshape(-1)))[before:]
    return flat[: one.numel()].view(one.shape), flat[one.numel() :].view(other.shape)


def beside_itself(
    tensor: torch.Tensor, shape: torch.Size, chance: random.Random, only: str = ""
) -> tuple[torch.Tensor, torch.Tensor, str] | None:
    """Return a view of this shape and one of the tensor's that share elements, and what the second is of the first.

    Its transpose, the elements behind it by a shift, or one of its rows again and again; None where no shape fits.
    `only`: "transpose", or "rows" for all rows but the first beside all but the last.
    """
    whole = tensor.clone(memory_format=torch.contiguous_format)
    turned = [
        (a, b)
        for b in range(tensor.dim())
        for a in range(b)
        if tensor.shape[b] > 1 and tensor.shape[a] > 1 and whole.transpose(a, b).shape == shape
    ]
    ways = ["transpose"] * 2 if turned else []
    if tensor.shape == shape and tensor.numel() > 1:
        ways += ["shift", "row"]
    if only == "rows":
        if tensor.shape != shape or not tensor.dim() or tensor.numel() < 2:
            return None
        memory = torch.cat((whole, whole[:1]))
        return memory[1:], memory[:-1], "itself, a row before"
    ways = [way for way in ways if way == only or not only]
    if not ways:
        return None
    way = chance.choice(ways)
    if way == "transpose":
        return whole.transpose(*chance.choice(turned)), whole, "its own transpose"
    if way == "row":
        dim = chance.choice([dim for dim in range(tensor.dim()) if tensor.shape[dim] > 1])
        return whole, whole.narrow(dim, 0, 1).expand(shape), "one of its rows, repeated"
    count = tensor.numel()
    shift = chance.randrange(1, count)
    memory = torch.cat((whole.reshape(-1), whole.reshape(-1)[:shift]))
    return memory[:count].view(shape), memory[shift:].view(shape), "itself, shifted"


def laid(
    tensor: torch.Tensor, order: list[int], step: int = 1, padding: int = 0, offset: int = 0, tail: int = 0
) -> torch.Tensor:
    """Return the tensor with its dimensions in `order` in memory, the last of these with a stride of `step`.

    `padding`: elements left out behind each run along that dimension; `offset`: before the first one; `tail`: behind
    the last one.
    """
    strides, stride = [0] * tensor.dim(), step
    for place, dim in enumerate(reversed(order)):
        strides[dim] = stride
        stride = stride * max(1, tensor.shape[dim]) + (0 if place else padding)
    reach = sum((size - 1) * by for size, by in zip(tensor.shape, strides, strict=True)) + 1
    memory = _poison(offset + reach + tail, tensor.dtype)
    view = memory.as_strided(tensor.shape, strides, offset)
    view.copy_(tensor)
    return view


def _drawn(chance: random.Random, power: int) -> int:
    """Return a number from 1 to 2^power whose logarithm is evenly distributed."""
    number = int(2 ** chance.uniform(0, power))
    return max(16, number // 16 * 16) if chance.random() < WHOLE else number


def _poison(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Return a vector full of what shows when it is read: NaN, or the largest integer."""
    if dtype.is_floating_point or dtype.is_complex:
        return torch.full((count,), float("nan"), dtype=dtype)
    return torch.full((count,), True if dtype is torch.bool else torch.iinfo(dtype).max, dtype=dtype)
