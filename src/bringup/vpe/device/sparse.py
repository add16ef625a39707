"""Sparse tensors (COO) of the device, as sparse gradients of embeddings and their optimisers use them.

What only looks at sizes and at the two dense tensors inside is torch's own code for the CPU. What computes is composed
here of dense operators, which need kernels as everything does.
"""

from __future__ import annotations

from typing import Any

import torch

from bringup.vpe.device import tensors
from bringup.vpe.device.ops import overload

_aten = torch.ops.aten
_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.SparseCPU)

# Kernels for sparse tensors of the CPU that make them, or look into them, without reading numbers.
_STRUCTURE = (
    "empty.memory_format", "_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors", "_indices",
    "_values", "indices", "values", "sparse_dim", "dense_dim", "_nnz", "is_coalesced", "_coalesced_",
)  # fmt: skip


def _make(indices: Any, values: Any, like: Any, coalesced: bool) -> Any:
    return _aten._sparse_coo_tensor_with_dims_and_tensors(
        like.sparse_dim(), like.dense_dim(), list(like.size()), indices, values,
        dtype=values.dtype, layout=torch.sparse_coo, device=values.device, is_coalesced=coalesced,
    )  # fmt: skip


def _replace(target: Any, made: Any) -> Any:
    """Let a sparse tensor have the contents of another of its shape, in its own dtype."""
    return _aten.copy_sparse_to_sparse_.default.redispatch(_KEYS, target, made)


def coalesce(tensor: Any) -> Any:
    """`aten::_coalesce`: each index once, in ascending order, the values of equal ones added."""
    if tensor._nnz() < 2:
        return _make(tensor._indices().clone(), tensor._values().clone(), tensor, True)
    indices, values = tensor._indices(), tensor._values()
    flat, steps = _flat(indices, list(tensor.size())[: tensor.sparse_dim()])
    ordered, places = torch.sort(flat, stable=True)
    begins = torch.ones(ordered.shape, dtype=torch.bool, device=ordered.device)
    torch.logical_not(torch.eq(ordered[1:], ordered[:-1]), out=begins[1:])
    group = torch.cumsum(begins, 0) + -1
    count = int(group[-1]) + 1
    found = torch.zeros((count,), dtype=torch.int64, device=flat.device)
    found.index_add_(0, group, torch.where(begins, ordered, torch.zeros_like(ordered)))
    added = torch.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
    added.index_add_(0, group, values.index_select(0, places))
    rows = []
    for step in steps[:-1]:
        rows.append(torch.floor_divide(found, step))
        found = torch.remainder(found, step)
    rows.append(found)
    return _make(torch.stack(rows), added, tensor, True)


def _flat(indices: Any, sizes: list[int]) -> tuple[Any, list[int]]:
    """One number for each index, in row-major order, and what a step in each dimension adds to it."""
    steps = [1] * len(sizes)
    for axis in range(len(sizes) - 2, -1, -1):
        steps[axis] = steps[axis + 1] * sizes[axis + 1]
    flat = indices[-1]
    for axis in range(len(sizes) - 1):
        flat = flat + indices[axis] * steps[axis]
    return flat, steps


def add_to_dense(dense: Any, sparse: Any, alpha: Any = 1) -> Any:
    """Add `alpha` times a sparse tensor to a dense one of its shape, in place."""
    if tuple(dense.shape) != tuple(sparse.shape):
        raise RuntimeError(
            f"add: a sparse tensor of shape {list(sparse.shape)} is not added to a dense one of {list(dense.shape)}"
        )
    indices, values = sparse._indices(), sparse._values().to(dense.dtype)
    if not indices.shape[1]:
        return dense
    if sparse.sparse_dim() == 1:
        return dense.index_add_(0, indices[0], values, alpha=alpha)
    return dense.index_put_(tuple(indices), values if alpha == 1 else values * alpha, accumulate=True)


def add(one: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`aten::add.Tensor` where one argument at least is sparse."""
    if not isinstance(other, torch.Tensor):
        raise RuntimeError("add: a number cannot be added to a sparse tensor, which would become dense")
    dtype = torch.result_type(one, other)
    if not one.is_sparse:
        return add_to_dense(one.to(dtype, copy=True), other, alpha)
    if not other.is_sparse:
        scaled = other.to(dtype, copy=True) if alpha == 1 else other.to(dtype) * alpha
        return add_to_dense(scaled, one)
    if one.shape != other.shape or one.sparse_dim() != other.sparse_dim():
        raise RuntimeError(f"add: sparse tensors of shapes {list(one.shape)} and {list(other.shape)} differ")
    values = other._values().to(dtype)
    both = torch.cat((one._values().to(dtype), values if alpha == 1 else values * alpha))
    return _make(torch.cat((one._indices(), other._indices()), dim=1), both, one, False)


def add_(one: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`aten::add_.Tensor` where one argument at least is sparse."""
    if not one.is_sparse and isinstance(other, torch.Tensor):
        return add_to_dense(one, other, alpha)
    if isinstance(other, torch.Tensor) and not other.is_sparse:
        raise RuntimeError("add_: a dense tensor cannot be added to a sparse one in place")
    return _replace(one, add(one, other, alpha=alpha))


def add_out(one: Any, other: Any, *, alpha: Any = 1, out: Any) -> Any:
    """`aten::add.out` where one argument at least is sparse."""
    return out.copy_(add(one, other, alpha=alpha))


def _by_number(operator: Any) -> Any:
    """Multiplication and division by a number, which keep zeros zero."""

    def scaled(tensor: Any, number: Any, **options: Any) -> Any:
        if operator is torch.mul and not isinstance(tensor, torch.Tensor):
            tensor, number = number, tensor  # torch multiplies in either order
        if not getattr(tensor, "is_sparse", False) or (isinstance(number, torch.Tensor) and number.dim()):
            raise NotImplementedError(
                f"{tensors.NAME}: sparse tensors are multiplied by and divided by numbers only, not by tensors"
            )
        return _make(tensor._indices(), operator(tensor._values(), number, **options), tensor, tensor.is_coalesced())

    return scaled


def _in_place(function: Any) -> Any:
    def inplace(tensor: Any, *args: Any, **options: Any) -> Any:
        return _replace(tensor, function(tensor, *args, **options))

    return inplace


def _to_out(function: Any) -> Any:
    def write(*args: Any, out: Any, **options: Any) -> Any:
        return _replace(out, function(*args, **options))

    return write


def neg(tensor: Any) -> Any:
    """`aten::neg`."""
    return _make(tensor._indices(), torch.neg(tensor._values()), tensor, tensor.is_coalesced())


def clone(tensor: Any, *, memory_format: Any = None) -> Any:
    """`aten::clone`."""
    return _make(tensor._indices().clone(), tensor._values().clone(), tensor, tensor.is_coalesced())


def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
    """`aten::copy_` between sparse tensors, of which one at least is the device's, with dtype conversion."""
    if not (target.is_sparse and source.is_sparse):
        raise RuntimeError("copy_ takes two sparse tensors or two dense ones; to_dense() makes one dense")
    if target.shape != source.shape:
        raise RuntimeError(f"copy_: sparse tensors of shapes {list(target.shape)} and {list(source.shape)} differ")
    return _aten.copy_sparse_to_sparse_.default.redispatch(_KEYS, target, source)


def to_copy(
    tensor: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """`aten::_to_copy` of a sparse tensor of the device."""
    if layout not in (None, torch.sparse_coo):
        raise NotImplementedError(f"{tensors.NAME}: to_dense() makes a sparse tensor dense, not .to({layout})")
    where = device if device is not None else tensor.device
    indices = tensor._indices().to(where, copy=True)
    values = tensor._values().to(where, dtype or tensor.dtype, copy=True)
    return _make(indices, values, tensor, tensor.is_coalesced())


def to_dense(tensor: Any, dtype: Any = None, masked_grad: bool | None = None) -> Any:
    """`aten::_to_dense`."""
    dense = torch.zeros(list(tensor.size()), dtype=dtype or tensor.dtype, device=tensor.device)
    return add_to_dense(dense, tensor)


def sparse_mask(tensor: Any, mask: Any) -> Any:
    """`aten::sparse_mask`: the elements of a dense tensor at the indices of a sparse one."""
    if tensor.is_sparse:
        raise NotImplementedError(f"{tensors.NAME}: sparse_mask takes a dense tensor and a sparse mask")
    if tensor.shape != mask.shape:
        raise RuntimeError(f"sparse_mask: shapes {list(tensor.shape)} and {list(mask.shape)} differ")
    indices = mask._indices()
    values = tensor.index_select(0, indices[0]) if mask.sparse_dim() == 1 else tensor[tuple(indices)]
    return _make(indices.clone(), values, mask, mask.is_coalesced())


def zero_(tensor: Any) -> Any:
    """`aten::zero_`: no element is left."""
    indices = torch.empty((tensor.sparse_dim(), 0), dtype=torch.int64, device=tensor.device)
    values = torch.empty((0, *tensor._values().shape[1:]), dtype=tensor.dtype, device=tensor.device)
    return _replace(tensor, _make(indices, values, tensor, True))


def on_device(tensor: Any) -> Any:
    """Copy a sparse tensor of the CPU to the device."""
    indices, values = (one.to(tensors.device()) for one in (tensor._indices(), tensor._values()))
    return _make(indices, values, tensor, tensor.is_coalesced())


def register(library: Any) -> None:
    """Register the kernels above in a `torch.library.Library` of namespace aten."""
    key = "SparsePrivateUse1"
    for name in _STRUCTURE:
        library.impl(name, _on_structure(overload(name)), key)
    mul, div = _by_number(torch.mul), _by_number(torch.div)
    for name, kernel in (
        ("_coalesce", coalesce),
        ("add.Tensor", add),
        ("add_.Tensor", add_),
        ("add.out", add_out),
        ("mul.Tensor", mul),
        ("mul_.Tensor", _in_place(mul)),
        ("div.Tensor", div),
        ("div_.Tensor", _in_place(div)),
        ("mul.out", _to_out(mul)),
        ("div.out", _to_out(div)),
        ("neg", neg),
        ("clone", clone),
        ("copy_", copy_),
        ("_to_copy", to_copy),
        ("_to_dense", to_dense),
        ("sparse_mask", sparse_mask),
        ("zero_", zero_),
    ):
        library.impl(name, kernel, key)


def _on_structure(operator: Any) -> Any:
    redispatch = operator.redispatch

    def structure(*args: Any, **kwargs: Any) -> Any:
        return redispatch(_KEYS, *args, **kwargs)

    return structure
