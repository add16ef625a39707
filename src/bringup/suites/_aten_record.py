"""What a bare device is asked for: OpInfo's samples run on the device `vpe` without a kernel, every call noted.

The CPU computes the values, so a sample goes on behind each call. Imports torch and registers the device, once for the
process.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call, has_tensor
from bringup.suites._opinfo_numbers import portable_numbers
from bringup.suites._opinfo_samples import Sample, reseed, seed_of
from bringup.vpe import device
from bringup.vpe.device import fallback
from bringup.vpe.device.tensors import CPU, is_device_tensor, make_tensor, new_storage

# "f": the call alone, without gradients. "b": the same with gradients, and then its backward pass.
Direction = Literal["f", "b"]


@dataclass(frozen=True)
class Recorded:
    """One call that reached the device's key: the overload, and its arguments as host tensors."""

    overload: str  # "add.out", "native_layer_norm"
    operator: Any  # the OpOverload
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def overload_name(operator: Any) -> str:
    """Return an overload's name without its namespace, `.default` left out."""
    return str(fallback.name_of(operator)).removeprefix("aten::")


def prepare() -> Any:
    """Register the device with the CPU behind it, and return it."""
    return device.enable(fallback="cpu")


class Recorder:
    """Notes calls, with copies of their tensors (`values`) or with tensors that have shapes and strides only."""

    def __init__(self, *, values: bool) -> None:
        self.values = values
        self.calls: list[Recorded] = []
        self._lock = threading.Lock()

    def note(self, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Note one call."""
        storages: dict[int, torch.UntypedStorage] = {}

        def copied(value: Any) -> Any:
            if isinstance(value, torch.device):
                return CPU
            return self._host(value, storages) if isinstance(value, torch.Tensor) else value

        taken = pytree.tree_map(copied, (tuple(args), dict(kwargs)))
        with self._lock:
            self.calls.append(Recorded(overload_name(operator), operator, *taken))

    def _host(self, tensor: torch.Tensor, storages: dict[int, torch.UntypedStorage]) -> Any:
        if tensor.layout is not torch.strided or tensor.is_quantized:
            return tensor
        source = tensor.untyped_storage()
        if not self.values:
            # Tensors that share memory share a storage here too: a meta storage has no bytes of its own.
            if source._cdata not in storages:
                storages[source._cdata] = torch.empty(
                    source.nbytes(), dtype=torch.uint8, device="meta"
                ).untyped_storage()
            empty = torch.empty(0, dtype=tensor.dtype, device="meta")
        else:
            if source._cdata not in storages:
                storages[source._cdata] = _bytes(tensor).clone().untyped_storage()
            empty = torch.empty(0, dtype=tensor.dtype, device="cpu")
        view = empty.set_(storages[source._cdata], tensor.storage_offset(), tensor.size(), tensor.stride())
        if tensor.is_conj():
            view = view.conj()
        return torch._neg_view(view) if tensor.is_neg() else view


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Return all of a tensor's storage as a host tensor of bytes."""
    nbytes = tensor.untyped_storage().nbytes()
    if not is_device_tensor(tensor):
        return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage(), 0, (nbytes,), (1,))
    whole = make_tensor(tensor.untyped_storage(), 0, (nbytes,), (1,), torch.uint8)
    view: torch.Tensor = device.host_view(whole)
    return view


def _to_device(
    call: Call, *, grad: bool, stay: Collection[int] = ()
) -> tuple[tuple[Any, ...], dict[str, Any], list[torch.Tensor]]:
    """Return a call's arguments on the device, strides and shared memory kept, and those that ask for a gradient.

    Tensors whose `id` is in `stay` are left on the host.
    """
    where = prepare()
    storages: dict[int, Any] = {}
    leaves: list[torch.Tensor] = []

    def moved(value: Any) -> Any:
        if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
            return where
        if not isinstance(value, torch.Tensor) or id(value) in stay:
            return value
        source = value.untyped_storage()
        if source._cdata not in storages:
            storages[source._cdata] = new_storage(source.nbytes())
            if source.nbytes():
                whole = make_tensor(storages[source._cdata], 0, (source.nbytes(),), (1,), torch.uint8)
                whole.copy_(_bytes(value))
        made = make_tensor(storages[source._cdata], value.storage_offset(), value.size(), value.stride(), value.dtype)
        if grad and value.is_floating_point():
            leaves.append(made.requires_grad_())
        return made

    args, kwargs = pytree.tree_map(moved, (call.args, call.kwargs))
    if is_factory_call(call):
        kwargs["device"] = where
    return args, kwargs, leaves


def is_factory_call(call: Call) -> bool:
    """Whether a call makes tensors of numbers, so that `device` says where."""
    return "device" in call.kwargs and not has_tensor(list(call.args))


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def run(name: str, dtype: str, index: int, sample: Sample, direction: Direction, *, values: bool) -> list[Recorded]:
    """Run one sample on the device and return the calls that reached its key, in order.

    Backward, all floating-point tensors ask for a gradient; where PyTorch has none for all of them, the first alone;
    where the operator writes to it, a copy. Gradients of the results are drawn from a seed of (name, dtype, index).
    Raises what PyTorch raises.
    """
    if direction == "f":
        return run_call(sample.call, values=values)
    ways = (_everything, _first_alone, _copied)
    for last, way in enumerate(ways, 1):
        recorder = Recorder(values=values)
        try:
            with _quiet(), torch.enable_grad():
                _backward(recorder, sample.call, way, f"{name} {index}", dtype)
            return recorder.calls
        except RuntimeError:
            if last == len(ways):
                raise
    raise AssertionError


def run_call(call: Call, *, values: bool, stay: Collection[int] = ()) -> list[Recorded]:
    """Make one call on the device, without gradients, and return the calls that reached its key, in order.

    `stay`: the `id`s of tensors that are left on the host. Raises what PyTorch raises.
    """
    recorder = Recorder(values=values)
    with _quiet(), torch.no_grad():
        args, kwargs, _ = _to_device(call, grad=False, stay=stay)
        with fallback.observed(recorder.note):
            call.reference(*args, **kwargs)
    return recorder.calls


def _everything(leaves: list[torch.Tensor]) -> None:
    """Every tensor asks for a gradient already."""


def _first_alone(leaves: list[torch.Tensor]) -> None:
    for leaf in leaves[1:]:
        leaf.requires_grad_(False)
    del leaves[1:]


def _copied(leaves: list[torch.Tensor]) -> None:
    """What is passed on is a copy of the first one, which may be written to."""
    _first_alone(leaves)


def _backward(recorder: Recorder, call: Call, way: Callable[[list[torch.Tensor]], None], key: str, dtype: str) -> None:
    """Run a call with gradients and its backward pass, noting both; nothing where no gradient is asked for."""
    args, kwargs, leaves = _to_device(call, grad=True)
    if not leaves:
        return
    way(leaves)
    if way is _copied:
        copies = {id(leaf): leaf.clone() for leaf in leaves}
        args, kwargs = pytree.tree_map(lambda value: copies.get(id(value), value), (args, kwargs))
    with fallback.observed(recorder.note):
        results = call.reference(*args, **kwargs)
    outputs = [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs:
        recorder.calls.clear()  # nothing was differentiated: the forward run has all that there is
        return
    reseed(seed_of(0, key, "gradient", dtype))
    with portable_numbers():
        gradients = [_gradient(output) for output in outputs]
    with fallback.observed(recorder.note):
        torch.autograd.grad(outputs, leaves, gradients, allow_unused=True)


def _gradient(output: torch.Tensor) -> torch.Tensor:
    host = torch.randn(output.shape, dtype=torch.float32).to(output.dtype)
    return host.to(prepare())


__all__ = ["Direction", "Recorded", "Recorder", "overload_name", "prepare", "run", "run_call"]
