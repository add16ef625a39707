"""The operators that make a device out of memory: allocation, views, resizing, copies, `item()`. Nothing computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from bringup.vpe.device import tensors
from bringup.vpe.device.tensors import CPU_KEYS, host_storage, host_view, is_device_tensor, make_tensor, new_storage
from bringup.vpe.memory import LAUNCHED

_aten = torch.ops.aten

# Kernels of the CPU that touch sizes, strides and storages only; they serve any device.
_METADATA = (
    *("as_strided", "view", "view.dtype", "_reshape_alias", "unfold", "view_as_real", "view_as_complex"),
    *("set_.source_Tensor", "is_set_to"),
)


def overload(name: str) -> Any:
    """The operator overload of a name such as `view.dtype` (namespace aten)."""
    packet, _, variant = name.partition(".")
    return getattr(getattr(_aten, packet), variant or "default")


def contiguous_strides(size: Sequence[int]) -> list[int]:
    """Strides of a dense row-major tensor, in elements."""
    strides = [1] * len(size)
    for axis in range(len(size) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(size[axis + 1], 1)
    return strides


def extent(size: Sequence[int], stride: Sequence[int]) -> int:
    """Elements from the first to the last of a strided tensor, both included."""
    if 0 in size:
        return 0
    return 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))


def _strides_for(size: Sequence[int], memory_format: Any) -> list[int]:
    if memory_format is None or memory_format is torch.contiguous_format:
        return contiguous_strides(size)
    return list(torch.empty(size, device="meta", memory_format=memory_format).stride())


def _check_factory(device: Any, layout: Any, pin_memory: Any) -> None:
    if device is not None and device.index not in (None, 0):
        raise RuntimeError(f"there is one device {tensors.NAME}:0, not {device}")
    if layout is not None and layout is not torch.strided:
        raise NotImplementedError(f"{tensors.NAME} has strided tensors only, not {layout}")
    if pin_memory:
        raise RuntimeError(f"memory of the device {tensors.NAME} cannot be pinned; only CPU tensors can")


def empty(
    size: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Any:
    """`aten::empty.memory_format`."""
    return empty_strided(
        size, _strides_for(size, memory_format), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory
    )


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    """`aten::empty_strided`."""
    _check_factory(device, layout, pin_memory)
    dtype = dtype or torch.get_default_dtype()
    for length in size:
        if length < 0:
            raise RuntimeError(f"a tensor cannot have negative dimensions: {list(size)}")
    return make_tensor(new_storage(extent(size, stride) * dtype.itemsize), 0, size, stride, dtype)


def copy_from(source: Any, target: Any, non_blocking: bool = False) -> Any:
    """`aten::_copy_from`: copy with dtype conversion and broadcasting; one side at least is on the device."""
    here, there = is_device_tensor(source), is_device_tensor(target)
    if tensors.remote is not None:
        return _copy_remote(tensors.remote, source if here else None, source, target, there)
    log = tensors.transfers
    if here and there:
        log.within_device += 1
    elif there:
        tensors.forbid("copying a tensor to the device")
        log.to_device += 1
        log.bytes_to_device += target.numel() * target.element_size()
    else:
        tensors.forbid("copying a tensor to the host")
        log.to_host += 1
        log.bytes_to_host += source.numel() * source.element_size()
    onto, what = host_view(target) if there else target, host_view(source) if here else source
    if onto.device == what.device:
        _aten.copy_.default.redispatch(CPU_KEYS, onto, what)
    else:
        # The other side is neither this device nor the CPU: a GPU, in the same process.
        with torch.no_grad():
            onto.copy_(what)
    if there:
        if here:
            tensors.copy_marks(source, target)
        else:
            tensors.mark_written(target)
    return target


def _copy_remote(remote: tensors.Remote, inside: Any, source: Any, target: Any, there: bool) -> Any:
    if inside is not None and there:
        remote.copy(source, target)
    elif there:
        remote.upload(source, target)
    else:
        target.copy_(remote.read(source))
    return target


def copy_from_and_resize(source: Any, target: Any) -> Any:
    """`aten::_copy_from_and_resize`."""
    target.resize_(source.size())
    return copy_from(source, target)


def to_copy(tensor: Any, *, non_blocking: bool = False, **options: Any) -> Any:
    """`aten::_to_copy`: torch's own, except that copies are never asynchronous.

    Torch would put the result of a non-blocking copy to the host into pinned memory, which only C++ can provide.
    """
    return _aten._to_copy.default.redispatch(CPU_KEYS, tensor, non_blocking=False, **options)


def local_scalar_dense(tensor: Any) -> Any:
    """`aten::_local_scalar_dense`: what `item()` calls."""
    if tensors.remote is not None:
        return tensors.remote.read(tensor).item()
    tensors.forbid("item()", item=True)
    tensors.transfers.items += 1
    return host_view(tensor).item()


def resize_(tensor: Any, size: Sequence[int], *, memory_format: Any = None) -> Any:
    """`aten::resize_`: keeps the bytes. Growing moves this tensor to fresh memory; other views keep the old.

    On other devices views would see the storage grow with them. A storage of Python's making cannot grow, and resizing
    what has views is deprecated anyway.
    """
    if tuple(size) == tuple(tensor.size()) and memory_format is None:
        return tensor
    stride = _strides_for(size, memory_format)
    storage = tensor.untyped_storage()
    offset = tensor.storage_offset()
    needed = (offset + extent(size, stride)) * tensor.element_size() if 0 not in size else 0
    if needed > storage.nbytes():
        grown = new_storage(needed)
        kept = storage.nbytes()
        if kept and tensors.remote is not None:
            old, new = (make_tensor(one, 0, (kept,), (1,), torch.uint8) for one in (storage, grown))
            tensors.remote.copy(old, new)
        elif kept:
            host_storage(grown)[:kept].copy_(host_storage(storage)[:kept])
            old, new = storage._vpe_owner.allocation, grown._vpe_owner.allocation
            if new.marks is not None:
                new.marks[:kept] = LAUNCHED if old.marks is None else old.marks
        storage = grown
    return tensors.set_tensor(tensor, storage, offset, size, stride)


def _own_storage(storage: Any) -> None:
    if storage.device.type != tensors.NAME:
        raise RuntimeError(f"a tensor of the device {tensors.NAME} cannot use a storage of {storage.device}")


def set_storage(tensor: Any, source: Any) -> Any:
    """`aten::set_.source_Storage`: all of a storage as a vector."""
    _own_storage(source)
    return tensors.set_tensor(tensor, source, 0, (source.nbytes() // tensor.element_size(),), (1,))


def set_storage_offset(tensor: Any, source: Any, offset: int, size: Sequence[int], stride: Sequence[int] = ()) -> Any:
    """`aten::set_.source_Storage_storage_offset`."""
    _own_storage(source)
    stride = stride if len(stride) == len(size) else contiguous_strides(size)
    if 0 not in size and (offset + extent(size, stride)) * tensor.element_size() > source.nbytes():
        raise RuntimeError(
            f"set_ to size {list(size)}, stride {list(stride)}, offset {offset} needs more than the {source.nbytes()} "
            "bytes of the storage"
        )
    return tensors.set_tensor(tensor, source, offset, size, stride)


def set_nothing(tensor: Any) -> Any:
    """`aten::set_`: an empty tensor with no memory."""
    return tensors.set_tensor(tensor, new_storage(0), 0, (0,), (1,))


def pin_memory(tensor: Any, device: Any = None) -> Any:
    """`aten::_pin_memory` of a tensor of the CPU: a copy, as on other devices, but in ordinary memory.

    Pinned memory makes copies to a device asynchronous, and this one's never are. Without this, a data loader with
    `pin_memory=True` would fail, since torch asks the accelerator for such memory.
    """
    if device is not None and torch.device(device).type != tensors.NAME:
        return _aten._pin_memory.default._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, tensor, device)
    return tensor.clone()


def register(library: Any) -> None:
    """Register the kernels above in a `torch.library.Library` of namespace aten; `claim` has those of factories."""
    key = "PrivateUse1"
    for name, kernel in (
        ("_copy_from", copy_from),
        ("_copy_from_and_resize", copy_from_and_resize),
        ("_to_copy", to_copy),
        ("_local_scalar_dense", local_scalar_dense),
        ("resize_", resize_),
        ("set_", set_nothing),
        ("set_.source_Storage", set_storage),
        ("set_.source_Storage_storage_offset", set_storage_offset),
    ):
        library.impl(name, kernel, key)
    if tensors.remote is None:
        library.impl("_pin_memory", pin_memory, "CPU")
    for name in _METADATA:
        library.impl(name, _on_metadata(overload(name)), key)
    # `copy_` passes tensors with the lazy conjugate or negative bit on to `_copy_from`. Torch's fallback for these bits
    # would resolve them by cloning, which calls `copy_` again: endless recursion in C++. `host_view` keeps the bits.
    for lazy in ("Conjugate", "Negative"):
        library.impl("_copy_from", torch.library.fallthrough_kernel, lazy)


def _on_metadata(operator: Any) -> Any:
    redispatch = operator.redispatch

    def metadata(*args: Any, **kwargs: Any) -> Any:
        return redispatch(CPU_KEYS, *args, **kwargs)

    return metadata
