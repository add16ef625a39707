"""Recording: what PyTorch's dispatcher hands to a device, below autograd and autocast. Imports torch."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from bringup.suites import _aten
from bringup.suites.captured._file import (
    ITEMSIZE,
    Call,
    Capture,
    Phase,
    Storage,
    Tensor,
    data_folder,
    write_capture,
)
from bringup.suites.captured._values import describe, ordinary

MOST_VALUES = 3  # calls that differ in nothing but values: this many are looked at
MOST_NUMBERS = 8  # calls that differ in Python floats only (step sizes, say): this many are kept
SAVE_SECONDS = 1.0  # between two writes of the file, and so much of its time at most
SAVE_SHARE = 0.05

_FILLS = ("aten::fill_", "aten::zero_")  # beside random ones
_PLAIN = {getattr(torch, name): name for name in ITEMSIZE}


class _Unfit(Exception):
    """A call that cannot be kept, with the reason."""


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Notes every call while it is entered, and writes them to a file now and then, and at the end.

    With `data` the memory of arguments is kept, else statistics of their values. Calls of a thread that was begun
    before, or by `threading`, are not seen; those of backward passes are.
    """

    def __init__(self, path: Path, *, program: str, data: bool = False) -> None:
        super().__init__()
        self.path = path
        self.program = program
        self.data = data
        self.ended = ""
        self._calls: dict[str, tuple[Call, Counter[Phase]]] = {}
        self._seen: dict[Any, list[str]] = {}
        self._examined: Counter[Any] = Counter()
        self._numbers: dict[Any, set[Any]] = {}
        self._left_out: Counter[str] = Counter()
        self._lock = threading.RLock()
        self._next_save = 0.0
        self._optimizing = 0
        self._pid = os.getpid()
        self._hooks: list[Any] = []

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Note a call, then make it."""
        if os.getpid() != self._pid:
            return operator(*args, **(kwargs or {}))  # a forked worker, that prepares data
        with self._lock:
            try:
                self._note(operator, args, kwargs or {})
            except _Unfit as reason:
                self._left_out[str(reason)] += 1
            except Exception as error:  # the program must not feel that it is watched
                self._left_out[f"cannot be noted: {type(error).__name__}: {error}".splitlines()[0][:120]] += 1
        return operator(*args, **(kwargs or {}))

    def begin(self) -> None:
        """Enter the mode, and learn when optimisers step."""
        self._hooks = [
            register_optimizer_step_pre_hook(lambda *_: self._step(1)),
            register_optimizer_step_post_hook(lambda *_: self._step(-1)),
        ]
        self.__enter__()

    def finish(self) -> None:
        """Leave the mode and write the file; where `begin` was not called, nothing happens."""
        for hook in self._hooks:
            hook.remove()
        if self._hooks:
            self._hooks = []
            self.__exit__(None, None, None)
            self.save()

    def _step(self, change: int) -> None:
        self._optimizing = max(0, self._optimizing + change)

    def result(self) -> Capture:
        """Return what was noted so far."""
        with self._lock:
            return Capture(
                torch=torch.__version__,
                programs=(self.program,),
                ended={self.program: self.ended} if self.ended else {},
                left_out=dict(self._left_out),
                calls=tuple(call.model_copy(update={"times": dict(times)}) for call, times in self._calls.values()),
            )

    def save(self) -> None:
        """Write the file."""
        with self._lock:
            began = time.monotonic()
            write_capture(self.path, self.result())
            now = time.monotonic()
            self._next_save = now + max(SAVE_SECONDS, (now - began) / SAVE_SHARE)

    def _note(self, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        schema = operator._schema
        space, _, packet = schema.name.partition("::")
        if space == "profiler":
            return
        if space != "aten":
            raise _Unfit(f"of another namespace than aten: {schema.name}")
        name = f"{packet}.{schema.overload_name}" if schema.overload_name else packet
        if f"aten.{packet}.{schema.overload_name or 'default'}" in _aten.NO_KERNEL:
            return  # every device does these by itself
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        device = _device_of(tensors, kwargs)
        form, numbers = _form(name, device, args, kwargs)
        known = self._seen.setdefault((form, numbers), [])
        if not known:
            others = self._numbers.setdefault(form, set())
            if numbers not in others and len(others) >= MOST_NUMBERS:
                raise _Unfit(f"more than {MOST_NUMBERS} calls that differ in numbers only")
            others.add(numbers)
        phase = self._phase()
        if self._examined[form, numbers] >= MOST_VALUES or (self.data and known):
            self._calls[known[0]][1][phase] += 1
            return
        self._examined[form, numbers] += 1
        call = self._call(name, device, args, kwargs, _filled(operator, args))
        key = call.key
        if key not in self._calls:
            self._calls[key] = call, Counter()
            known.append(key)
        self._calls[key][1][phase] += 1
        if time.monotonic() > self._next_save:
            self.save()

    def _phase(self) -> Phase:
        if torch._C._current_graph_task_id() != -1:
            return "backward"
        return "optimizer" if self._optimizing else "forward"

    def _call(
        self, name: str, device: str, args: Sequence[Any], kwargs: Mapping[str, Any], filled: torch.Tensor | None
    ) -> Call:
        tensors: list[Tensor] = []
        storages: list[Storage] = []
        places: dict[int, int] = {}

        def encode(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                source = value.untyped_storage()
                if source._cdata not in places:
                    places[source._cdata] = len(storages)
                    storages.append(Storage(nbytes=source.nbytes(), data=self._kept(value) if self.data else ""))
                tensors.append(
                    Tensor(
                        dtype=_PLAIN[value.dtype],
                        shape=tuple(value.shape),
                        strides=tuple(value.stride()),
                        offset=value.storage_offset(),
                        storage=places[source._cdata],
                        host=value.device.type != device,
                        values=ordinary(value) if value is filled else describe(value),
                    )
                )
                return {"tensor": len(tensors) - 1}
            if isinstance(value, list | tuple):
                return [encode(item) for item in value]
            if isinstance(value, float):
                return {"float": value.hex()}
            if isinstance(value, torch.device):
                return {"device": ""}
            if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
                return {type(value).__name__: str(value).removeprefix("torch.")}
            return value

        return Call(
            overload=name,
            args=tuple(encode(value) for value in args),
            kwargs={key: encode(value) for key, value in kwargs.items()},
            tensors=tuple(tensors),
            storages=tuple(storages),
            device=device,
        )

    def _kept(self, tensor: torch.Tensor) -> str:
        """Write the memory of a tensor beside the file, once, and return its digest."""
        nbytes = tensor.untyped_storage().nbytes()
        whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        whole.set_(tensor.untyped_storage(), 0, (nbytes,), (1,))
        data = bytes(whole.cpu().numpy())
        digest = hashlib.sha256(data).hexdigest()
        file = data_folder(self.path) / digest
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.with_name(f".{digest}.{os.getpid()}")
            temporary.write_bytes(data)
            temporary.replace(file)
        return digest


def _filled(operator: Any, args: Sequence[Any]) -> torch.Tensor | None:
    """Return the tensor that a call fills: what was there, often fresh memory, nobody reads."""
    schema = operator._schema
    written = (
        schema.arguments and schema.arguments[0].alias_info is not None and schema.arguments[0].alias_info.is_write
    )
    fills = schema.name in _FILLS or torch.Tag.nondeterministic_seeded in operator.tags
    return args[0] if written and fills and args and isinstance(args[0], torch.Tensor) else None


def _device_of(tensors: Sequence[torch.Tensor], kwargs: Mapping[str, Any]) -> str:
    """Return the type of device that a call is for; raises _Unfit for copies between two."""
    types = {tensor.device.type for tensor in tensors if tensor.dim() or tensor.device.type != "cpu"}
    if isinstance(kwargs.get("device"), torch.device):
        types.add(kwargs["device"].type)
    if len(types) > 1:
        raise _Unfit("between two devices")
    return types.pop() if types else "cpu"


def _form(name: str, device: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return what equal calls share without their values: all but Python floats, and these. Raises _Unfit."""
    storages: dict[int, int] = {}
    numbers: list[str] = []

    def one(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.layout is not torch.strided or value.is_quantized or type(value) not in _TENSORS:
                raise _Unfit(f"a tensor that is no plain one: {name}")
            if value.dtype not in _PLAIN or value.is_conj() or value.is_neg():
                raise _Unfit(f"a tensor of dtype {str(value.dtype).removeprefix('torch.')}")
            place = storages.setdefault(value.untyped_storage()._cdata, len(storages))
            layout = tuple(value.shape), tuple(value.stride()), value.storage_offset(), place
            return value.dtype, layout, value.device.type
        if isinstance(value, list | tuple):
            return tuple(one(item) for item in value)
        if isinstance(value, float):
            numbers.append(value.hex())
            return float
        if value is None or isinstance(value, bool | int | str):
            return type(value), value
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return value
        if isinstance(value, torch.device):
            return value.type
        raise _Unfit(f"an argument that is no plain data, {type(value).__name__}: {name}")

    form = name, device, one(tuple(args)), tuple((key, one(value)) for key, value in sorted(kwargs.items()))
    return form, tuple(numbers)


_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
