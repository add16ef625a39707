"""Arguments and results as JSON plus raw storage bytes: what crosses the border between judge and worker.

Tensors travel as views of storages, so strides, offsets, overlap and shared storage arrive as they left.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch


class Unencodable(TypeError):
    """A value that cannot cross the border (a generator, a sparse tensor, an arbitrary object)."""


@dataclass
class Storages:
    """The distinct storages of a tree of tensors, in order of first appearance."""

    items: list[torch.UntypedStorage] = field(default_factory=list)
    _index: dict[int, int] = field(default_factory=dict)

    def index(self, storage: torch.UntypedStorage) -> int:
        """Return the number of `storage`, adding it when new."""
        key = storage._cdata
        if key not in self._index:
            self._index[key] = len(self.items)
            self.items.append(storage)
        return self._index[key]

    def payloads(self) -> list[memoryview]:
        """Return each storage's bytes without copying; host storages only."""
        return [memoryview(_bytes_of(storage)) for storage in self.items]

    def sizes(self) -> list[int]:
        """Return each storage's size in bytes."""
        return [storage.nbytes() for storage in self.items]


def _bytes_of(storage: torch.UntypedStorage) -> Any:
    if not storage.nbytes():
        return b""
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,)).numpy()


def storage_from(payload: memoryview) -> torch.UntypedStorage:
    """Return a host storage that holds a copy of `payload`."""
    storage = torch.UntypedStorage(len(payload))
    if len(payload):
        _bytes_of(storage)[:] = torch.frombuffer(bytearray(payload), dtype=torch.uint8).numpy()
    return storage


def bytes_on(storage: torch.UntypedStorage, device: str) -> torch.Tensor:
    """Return a host storage's bytes as a tensor uint8[bytes] on a device; on the host it shares the memory."""
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,)).to(device)


def encode(value: Any, storages: Storages) -> Any:
    """Return `value` as JSON; tensors refer to `storages`. Raises Unencodable."""
    if isinstance(value, torch.Tensor):
        return _encode_tensor(value, storages)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"int": str(value)} if abs(value) >= 1 << 53 else value
    if isinstance(value, float):
        return {"float": value.hex()}
    for kind, name in ((torch.dtype, "dtype"), (torch.layout, "layout"), (torch.memory_format, "memory_format")):
        if isinstance(value, kind):
            return {name: str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, torch.Size):
        return {"size": list(value)}
    if isinstance(value, range | slice):
        return {type(value).__name__: [encode(getattr(value, k), storages) for k in ("start", "stop", "step")]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, tuple):
        return {"tuple": [encode(item, storages) for item in value]}
    if isinstance(value, list):
        return [encode(item, storages) for item in value]
    if isinstance(value, Mapping):
        return {"dict": [[encode(k, storages), encode(v, storages)] for k, v in value.items()]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if hasattr(value, "item") and type(value).__module__ == "numpy":
        return encode(value.item(), storages)
    raise Unencodable(f"a value of type {type(value).__module__}.{type(value).__name__}")


def _encode_tensor(tensor: torch.Tensor, storages: Storages) -> dict[str, Any]:
    if tensor.layout is not torch.strided:
        raise Unencodable(f"a tensor of layout {tensor.layout}")
    if tensor.is_quantized or tensor.is_nested:
        raise Unencodable("a quantized or nested tensor")
    grad = {"requires_grad": True} if tensor.requires_grad else {}
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return {
        **grad,
        "t": storages.index(tensor.untyped_storage()),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "offset": tensor.storage_offset(),
    }


def decode(value: Any, tensor: Callable[[dict[str, Any]], Any], device: str | None = None) -> Any:
    """Undo `encode`. `tensor` builds a tensor from its description; `device` replaces every device argument."""
    if isinstance(value, list):
        return [decode(item, tensor, device) for item in value]
    if not isinstance(value, dict):
        return value
    if "t" in value:
        return tensor(value)
    [(kind, data)] = value.items()
    if kind in {"dtype", "layout", "memory_format"}:
        return getattr(torch, data)
    simple: dict[str, Callable[[Any], Any]] = {
        "int": int,
        "float": float.fromhex,
        "complex": lambda d: complex(float.fromhex(d[0]), float.fromhex(d[1])),
        "device": lambda d: torch.device(device or d),
        "size": torch.Size,
        "ellipsis": lambda _: Ellipsis,
        "bytes": base64.b64decode,
    }
    if kind in simple:
        return simple[kind](data)
    if kind == "dict":
        return {decode(k, tensor, device): decode(v, tensor, device) for k, v in data}
    items = [decode(item, tensor, device) for item in data]
    return tuple(items) if kind == "tuple" else {"range": range, "slice": slice}[kind](*items)


def tensor_on(storages: list[Any], description: dict[str, Any]) -> Any:
    """Build the described tensor over one of `storages` (host or device); checks the bounds first."""
    storage = storages[description["t"]]
    dtype = getattr(torch, description["dtype"])
    shape, stride, offset = description["shape"], description["stride"], description["offset"]
    if len(shape) != len(stride) or min([offset, *shape, *stride], default=0) < 0:
        raise ValueError("shape, stride and offset do not fit together")
    last = offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) if all(shape) else -1
    if (last + 1) * dtype.itemsize > storage.nbytes():
        raise ValueError("the tensor reaches beyond its storage")
    return torch.empty(0, dtype=dtype, device=storage.device).set_(storage, offset, shape, stride)


def descriptions(value: Any) -> list[dict[str, Any]]:
    """List the tensors of an encoded tree as they are described in it, in the order of `tensors_of`."""
    if isinstance(value, list):
        return [found for item in value for found in descriptions(item)]
    if not isinstance(value, dict):
        return []
    if "t" in value:
        return [value]
    if "tuple" in value:
        return descriptions(value["tuple"])
    return [found for _, item in value["dict"] for found in descriptions(item)] if "dict" in value else []


def clone_tree(value: Any) -> Any:
    """Copy a tree of host tensors, storages shared as in the original: what a reference may then mutate."""
    storages = Storages()
    text = encode(value, storages)
    copies = [storage.clone() for storage in storages.items]
    return decode(text, lambda d: tensor_on(copies, d))


def with_tensors(value: Any, new: Iterator[torch.Tensor]) -> Any:
    """Return a tree with its tensors, in the order of `tensors_of`, exchanged for `new`."""
    if isinstance(value, torch.Tensor):
        return next(new)
    if not tensors_of(value, ""):
        return value
    if isinstance(value, Mapping):
        return {key: with_tensors(item, new) for key, item in value.items()}
    items = [with_tensors(item, new) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def tensors_of(value: Any, path: str) -> list[tuple[str, torch.Tensor]]:
    """List the tensors of a tree with their paths (`input[0]`), depth first."""
    if isinstance(value, torch.Tensor):
        return [(path, value)]
    if isinstance(value, list | tuple):
        return [found for i, item in enumerate(value) for found in tensors_of(item, f"{path}[{i}]")]
    if isinstance(value, Mapping):
        return [found for key, item in value.items() for found in tensors_of(item, f"{path}[{key!r}]")]
    return []
