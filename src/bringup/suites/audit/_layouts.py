"""The same values in another place of memory; what lies between them is NaN, or the largest integer."""

from __future__ import annotations

import torch


def hostile(size: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor full of what shows when it is read: NaN, or the largest integer."""
    if dtype.is_floating_point or dtype.is_complex:
        return torch.full(size, float("nan"), dtype=dtype)
    return torch.full(size, True if dtype is torch.bool else torch.iinfo(dtype).max, dtype=dtype)


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """The last two dimensions exchanged in memory; a tensor of fewer dimensions as it is."""
    if tensor.dim() < 2:
        return tensor
    return tensor.transpose(-1, -2).clone(memory_format=torch.contiguous_format).transpose(-1, -2)


def reversed_order(tensor: torch.Tensor) -> torch.Tensor:
    """All dimensions in the opposite order in memory."""
    order = tuple(range(tensor.dim()))[::-1]
    return tensor.permute(order).clone(memory_format=torch.contiguous_format).permute(order)


def stepped(tensor: torch.Tensor) -> torch.Tensor:
    """Every third element of a longer buffer, from the second on; rows lie one further apart than they fill."""
    if not tensor.dim():
        return shifted(tensor)
    *outer, last = tensor.shape
    buffer = hostile((*outer, 3 * last + 2), tensor.dtype)
    view = buffer[..., 1 : 1 + 3 * last : 3]
    view.copy_(tensor)
    return view


def shifted(tensor: torch.Tensor) -> torch.Tensor:
    """Contiguous, seven elements after the beginning of its memory and five before its end."""
    buffer = hostile((tensor.numel() + 12,), tensor.dtype)
    view = buffer[7 : 7 + tensor.numel()].view(tensor.shape)
    view.copy_(tensor)
    return view


def expanded(tensor: torch.Tensor) -> torch.Tensor:
    """Constant along its longest dimension (the first of these), which has stride 0."""
    if not tensor.numel() or max(tensor.shape, default=1) == 1:
        return tensor
    dim = max(range(tensor.dim()), key=lambda d: (tensor.shape[d], -d))
    return tensor.narrow(dim, 0, 1).clone(memory_format=torch.contiguous_format).expand(tensor.shape)
