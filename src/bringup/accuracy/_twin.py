"""An operator's twin: the same function on the same arguments in double precision, exact, perturbed or absolute."""

from __future__ import annotations

import copy
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy._numbers import FLOATS

INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
Function = Callable[..., Any]
Change = Callable[[torch.Tensor], torch.Tensor]


def copy_arguments(
    args: Any,
    kwargs: Any,
    *,
    widen: bool = False,
    change: Change | None = None,
    changed: tuple[torch.dtype, ...] = (torch.float64,),
) -> tuple[Any, Any]:
    """Copy a call's tensors: storages once each, strides and offsets kept.

    `widen` makes float32, bfloat16 and float16 float64, exactly; `change` is applied to each flat storage of the
    dtypes `changed`.
    """
    storages: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return torch.float64 if widen and value in FLOATS else value
        if not isinstance(value, torch.Tensor):
            return value
        if value.layout is not torch.strided or value.is_neg() or value.is_conj():
            return value.clone()
        key = value.untyped_storage().data_ptr(), value.dtype
        if key not in storages or not key[0]:
            elements = value.untyped_storage().nbytes() // value.element_size()
            flat = value.detach().as_strided((elements,), (1,), 0)
            flat = flat.double() if widen and value.dtype in FLOATS else flat.clone()
            storages[key] = change(flat) if change is not None and flat.dtype in changed else flat
        return storages[key].as_strided(value.size(), value.stride(), value.storage_offset())

    copied: tuple[Any, Any] = pytree.tree_map(copy, (args, kwargs))
    return copied


def as_float32(value: Any) -> Any:
    """Return a Python float as a kernel receives it: rounded to float32; everything else as it is."""
    if type(value) is not float:
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value


def _promoted(value: Any) -> Any:
    return value.to(torch.float32) if isinstance(value, torch.Tensor) and value.dtype in INTEGERS else value


class Twin:
    """One call in double precision. Arguments are copied for each run; Python floats count as float32."""

    def __init__(
        self, function: Function, args: Any, kwargs: Any, *,
        scalars: bool = True, integers: bool = False, counts: str = "",
    ) -> None:  # fmt: skip
        """`scalars`: round Python floats to float32 first, as every kernel does (not what makes a range of numbers).

        `integers`: tensors of integers are data, but for the argument named `counts`; they become float32 first, as
        PyTorch makes them, then float64.
        """
        self.function = function
        if integers:
            counted = {name: value for name, value in kwargs.items() if name == counts}
            args, kwargs = pytree.tree_map(_promoted, (args, kwargs))
            kwargs = {**kwargs, **counted}
        if scalars:
            args, kwargs = pytree.tree_map(as_float32, (args, kwargs))
        self.args, self.kwargs = args, kwargs

    def apart(self) -> Twin:
        """Return the same call with memory of its own for each tensor, and each element of it."""
        found = copy.copy(self)
        found.args, found.kwargs = pytree.tree_map(
            lambda value: value.clone(memory_format=torch.contiguous_format) if _plain(value) else value,
            (self.args, self.kwargs),
        )
        return found

    def run(self, change: Change | None = None, scalar: Callable[[float], float] | None = None) -> Any:
        """Return (result, arguments after the call) with every storage changed; raises what PyTorch raises."""
        args, kwargs = copy_arguments(self.args, self.kwargs, widen=True, change=change)
        if scalar is not None:
            args, kwargs = pytree.tree_map(lambda v: scalar(v) if type(v) in (int, float) else v, (args, kwargs))
        with double():
            return self.function(*args, **kwargs), args, kwargs


def shares_memory(value: Any) -> bool:
    """Whether tensors of a tree share memory with each other, or elements of one do."""
    found = [leaf for leaf in leaves(value) if _plain(leaf) and leaf.numel()]
    places = [leaf.untyped_storage()._cdata for leaf in found]
    return len(set(places)) < len(places) or any(_overlaps(leaf) for leaf in found)


def _plain(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether some element lies where another one does: a stride of 0, or more elements than places."""
    steps = [(size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]
    return 0 in steps or sum(steps) + 1 < tensor.numel()


def held(function: Function, args: Any, place: int) -> Function:
    """Return the function with the argument at `place` as `args` has it, whatever it is called with there.

    For flags in a floating-point tensor, which are no data and bear no change.
    """
    given = args[place]

    def call(*others: Any, **kwargs: Any) -> Any:
        return function(*others[:place], given.to(others[place].dtype), *others[place + 1 :], **kwargs)

    return call


def with_epsilon(function: Function, name: str, dtype: torch.dtype) -> Function:
    """Return the function with the relative tolerance, keyword `name`, that it takes by default in another dtype.

    https://docs.pytorch.org/docs/stable/generated/torch.linalg.pinv.html: max(m, n) times the dtype's epsilon.
    """

    place = {"rtol": 1, "rcond": 2}[name]

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == place + 1 and args[place] is None:
            args = args[:place]
        if len(args) <= place and all(kwargs.get(known) is None for known in (name, "atol", "rcond")):
            matrix = leaves([args, kwargs])[0]
            kwargs = {**kwargs, name: max(matrix.shape[-2:]) * torch.finfo(dtype).eps}
        return function(*args, **kwargs)

    return call


@contextmanager
def double() -> Iterator[None]:
    """Compute in float64 where PyTorch would take its default dtype: results of integers, ranges, windows."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_default_dtype(before)


def perturbation(size: float, draw: int) -> Change:
    """Return the change that moves every value by at most `size` of itself, up or down, as `draw` decides.

    The shares (`shares`) are the same on every host and device. They are spread over [-1, 1] rather than signs alone:
    two elements whose difference counts must not move together in every draw, nor those of two tensors, whose elements
    are numbered on. So one change is for one run.
    """
    done = 0

    def change(flat: torch.Tensor) -> torch.Tensor:
        nonlocal done
        moved = flat * (1 + size * shares(flat.numel(), draw, flat.device, start=done))
        done += flat.numel()
        return moved

    return change


def shares(count: int, draw: int, device: torch.device | None = None, start: int = 0) -> torch.Tensor:
    """Return float64 numbers spread over [-1, 1] by a multiplicative hash of their positions, another for each draw.

    Positions begin at `start`.

    They are made on `device`, the same bits on each: integers alone, which wrap at 2**64 alike, up to the last step.
    """
    number = torch.arange(start, start + count, dtype=torch.int64, device=device)
    mixed = (number + 1 + 1000003 * draw) * 0x9E3779B1 % (1 << 32)
    mixed = ((mixed ^ (mixed >> 15)) * 0x5EBCA6B5) % (1 << 32)
    return ((mixed ^ (mixed >> 13)) % (1 << 24)).to(torch.float64) / (1 << 23) - 1


def leaves(value: Any) -> list[torch.Tensor]:
    """List the tensors of a tree, depth first."""
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
