"""Kernels whose Python never runs in this process: a wrapper is called once for each kind of call, in a guest.

The guest is the judge's: sandboxed, without data, forked for this one call from a process that has run nothing of a
candidate's, so that no earlier call and nothing of this process can tell in it. It is given stand-ins: plain tensors of
the sizes, strides and dtypes of the arguments, each on as much memory as it reaches, without gradients, views, names or
hooks, at fixed addresses. What it asks the device for is a tape (`_tapes`), which runs here on the call's own tensors
and is kept for calls of the same kind.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import struct
import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from bringup.device import space
from bringup.device.memory import check_extent
from bringup.device.wire import Malformed
from bringup.judge.calling import Caller, CallFailed, decode, encode
from bringup.library._numbers import Pattern, far_apart, left_open, order, pattern
from bringup.library._tapes import Recorder, Tape, view
from bringup.library.errors import GuestFailed
from bringup.library.schemas import Schema
from bringup.vpe.device import tensors

KEPT = 4096  # tapes of one kernel; beyond them all are forgotten
ALIGNED = 64  # bytes: what a wrapper may know of an address is its remainder by this
MOST_MESSAGE = 2000  # characters of a refusal
LEFT_TO_PYTORCH = "work left to PyTorch"  # how a guest's device begins what it says of an operator that it has not

_REFUSALS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)
}


class Sealer:
    """The guests of one enabled library, and what is kept of what they did."""

    def __init__(self, target: str, *, strict: bool = False) -> None:
        """`target`: `vpe:PROFILE`; `strict`: no number is left open. Processes start with the first call."""
        self.caller, self.strict = Caller(target), strict
        self.asked = self.repeated = 0
        """How many calls a guest was asked for, and how many a kept tape did."""
        self._loaded: dict[str, Any] = {}
        self._lock = threading.RLock()
        _sealers.add(self)

    def close(self) -> None:
        """End the processes; tapes stay."""
        self.caller.close()

    def wrapper(self, source: str, schema: Schema) -> SealedWrapper:
        """What stands for the `wrapper` of a module, which an overload's calls go to."""
        return SealedWrapper(self, source, schema)

    def record(self, source: str, request: dict[str, Any], given: Sequence[Any]) -> tuple[Tape, list[Any], bool]:
        """Have a guest make a call; returns its tape, all regions, and whether the tape serves such calls again."""
        with self._lock:
            self.asked += 1
            recorder = Recorder(given, request["bases"], self.caller.compile, self._loaded)
            reply = self.caller.call(source, request, recorder)
            if "error" in reply and not recorder.error:
                raise _raised(reply)
            if "result" not in reply:
                raise GuestFailed(recorder.error or str(reply.get("unencodable") or reply.get("error")))
            return recorder.tape(reply, [request["args"], request["kwargs"]]), recorder.room.regions, not recorder.read


_sealers: weakref.WeakSet[Sealer] = weakref.WeakSet()


def _in_child() -> None:
    for sealer in _sealers:
        sealer.caller.forget()
        sealer._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _raised(reply: dict[str, Any]) -> Exception:
    """The error that a wrapper has raised: a refusal of the call's arguments, or a failure."""
    text = str(reply.get("message", reply["error"]))[:MOST_MESSAGE]
    name, family = str(reply.get("raised", "")), str(reply.get("family", ""))
    kind = _REFUSALS.get(name) or _REFUSALS.get(family)
    if kind is not None and reply.get("own") is True and not text.startswith(LEFT_TO_PYTORCH):
        return kind(text)
    return GuestFailed(f"{name or 'the module cannot be loaded'}: {text}")


class SealedWrapper:
    """Called like the wrapper of a module, which runs elsewhere."""

    def __init__(self, sealer: Sealer, source: str, schema: Schema) -> None:
        self._sealer, self._source = sealer, source
        given = [p for p in schema.parameters if not (schema.random and p.name == "generator")]
        self._written = {p.name for p in given if p.written}
        self._places = [p.written for p in given if not p.keyword_only]
        self._tapes: dict[str, Tape] = {}
        self._patterns: dict[str, Pattern | tuple[list[Any], Tape] | None] = {}  # by what calls have but their numbers
        self.__signature__ = signature_of(source)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make a call. Raises what the wrapper raises of arguments, else GuestFailed."""
        try:
            call = _Call(args, kwargs)
            call.written = [value for value, written in zip(args, self._places, strict=False) if written]
            call.written += [value for name, value in kwargs.items() if name in self._written]
            return self._call(call)
        except CallFailed as failed:
            raise GuestFailed(str(failed)) from None

    def _call(self, call: _Call) -> Any:
        tape = self._tapes.get(call.key) or self._foretold(call)
        if tape is not None:
            self._sealer.repeated += 1
            regions = tape.run(call.regions)
        else:
            tape, regions, again = self._sealer.record(self._source, call.request, call.regions)
            if again:
                self._keep(call, tape)
        try:
            return call.finished(tape, regions)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, Malformed) as error:
            raise GuestFailed(f"its answer makes no sense: {error}") from None

    def _foretold(self, call: _Call) -> Tape | None:
        known = self._patterns.get(call.kind) if call.numbers else None
        if not isinstance(known, Pattern) or not known.confirmed or known.due():
            return None
        try:
            tape = known.filled(call.numbers)
        except (OverflowError, struct.error):  # no number of the narrow format that the wrapper has made of it
            return None
        self._patterns[call.kind] = replace(known, used=known.used + 1)
        return tape

    def _keep(self, call: _Call, tape: Tape) -> None:
        """Keep a tape for calls of the same kind, and learn what depends on the call's numbers."""
        if len(self._tapes) >= KEPT:
            self._tapes.clear()
        self._tapes[call.key] = tape
        if not call.numbers or self._sealer.strict:
            return
        known = self._patterns.get(call.kind)
        if isinstance(known, Pattern):
            # A tape like those that it was made of confirms nothing.
            if known.confirmed or far_apart([*call.numbers, *known.learned]):
                self._patterns[call.kind] = known.after(call.numbers, tape)
        elif known is not None:
            if far_apart([*call.numbers, *known[0]]):
                self._patterns[call.kind] = pattern(known, (call.numbers, tape))
        elif call.kind not in self._patterns and len(self._patterns) < KEPT and far_apart(call.numbers):
            self._patterns[call.kind] = call.numbers, tape


class _Call:
    """One call: its arguments as a guest is told them, and what comes of it."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.tensors: list[Any] = []
        self._collect(args)
        self._collect(list(kwargs.values()))
        default = torch.get_default_dtype()
        if default is not torch.float32 and not any(tensor.is_floating_point() for tensor in self.tensors):
            raise GuestFailed(
                f"the default dtype is {default}, of which a sealed kernel knows nothing: call it with floating-point "
                "tensors, or with float32 as default"
            )
        self.regions: list[Any] = []
        self._where: dict[int, tuple[int, int]] = {}  # by id of the tensor: region, bytes from its beginning
        self._lay_out()
        sizes = [region.numel() for region in self.regions]
        remainders = [region.data_ptr() % ALIGNED if region.numel() else 0 for region in self.regions]
        self._told: list[dict[str, Any]] = []
        self.numbers: list[Any] = []
        self.written: list[Any] = []  # arguments that the overload may resize
        self._all: list[Any] = []  # numbers, those included that are not left open
        told_args = {"tuple": [self._tell(value) for value in args]}
        told_kwargs = {"dict": [[name, self._tell(value)] for name, value in kwargs.items()]}
        self.request = {
            "args": told_args, "kwargs": told_kwargs, "sizes": sizes, "bases": _places(sizes, remainders),
        }  # fmt: skip
        self.key = json.dumps(self.request)
        self.kind = ""
        if self.numbers:
            named = [[name, self._opened(value)] for name, value in kwargs.items()]
            opened = [self._opened(value) for value in args]
            self.kind = json.dumps([opened, named, self.request["bases"], sizes, order(self._all)])

    def _collect(self, values: Sequence[Any]) -> None:
        for value in values:
            if isinstance(value, torch.Tensor):
                if not tensors.is_device_tensor(value):
                    raise GuestFailed(f"an argument is a tensor on {value.device}, which a sealed kernel cannot take")
                self.tensors.append(value)
            elif isinstance(value, list | tuple):
                self._collect(value)

    def _lay_out(self) -> None:
        """Regions: what tensors reach of a storage, together where they lie on one another."""
        by_storage: dict[int, list[tuple[int, int, Any]]] = {}
        for tensor in self.tensors:
            if not tensor.numel():
                if id(tensor) not in self._where:
                    self._where[id(tensor)] = len(self.regions), 0
                    self.regions.append(tensors.make_tensor(tensor.untyped_storage(), 0, (0,), (1,), torch.uint8))
                continue
            width = tensor.element_size()
            reach = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1
            first = tensor.storage_offset() * width
            by_storage.setdefault(tensor.untyped_storage()._cdata, []).append((first, first + reach * width, tensor))
        for found in by_storage.values():
            found.sort(key=lambda one: one[0])
            groups: list[list[tuple[int, int, Any]]] = []
            end = -1
            for one in found:
                if groups and one[0] < end:
                    groups[-1].append(one)
                else:
                    groups.append([one])
                end = max(end, one[1])
            for group in groups:
                start = group[0][0] // ALIGNED * ALIGNED
                size = max(one[1] for one in group) - start
                storage = group[0][2].untyped_storage()
                for first, _, tensor in group:
                    self._where[id(tensor)] = len(self.regions), first - start
                self.regions.append(tensors.make_tensor(storage, start, (size,), (1,), torch.uint8))

    def _tell(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            region, first = self._where[id(value)]
            told = {
                "t": region, "dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape),
                "stride": list(value.stride()), "offset": first // value.element_size(),
            }  # fmt: skip
            self._told.append(told)
            return told
        if isinstance(value, list | tuple):
            return [self._tell(one) for one in value]
        if left_open(value):
            self.numbers.append(value)
        if type(value) in (int, float):
            self._all.append(value)
        return encode(value)

    def _opened(self, value: Any) -> Any:
        """An argument as the guest is told it, but for the numbers that are left open."""
        if isinstance(value, torch.Tensor):
            return self._told[next(place for place, one in enumerate(self.tensors) if one is value)]
        if isinstance(value, list | tuple):
            return [self._opened(one) for one in value]
        return left_open(value) or encode(value)

    # What comes of it ------------------------------------------------------------------------------------------

    def finished(self, tape: Tape, regions: list[Any]) -> Any:
        """Give arguments that were resized their new sizes; return the result on this process's tensors."""
        reply = tape.reply
        if reply["after"] is not None:
            self._resize(tape, regions)
        return self._made(reply["result"], tape, regions)

    def _resize(self, tape: Tape, regions: list[Any]) -> None:
        after = list(_described(tape.reply["after"]))
        if len(after) != len(self.tensors):
            raise GuestFailed("it has exchanged its arguments")
        for tensor, before, now in zip(self.tensors, self._told, after, strict=True):
            if now == before:
                continue
            if not any(tensor is one for one in self.written):
                raise GuestFailed("it has resized an argument that is not its result")
            held = self._tensor(now, tape, regions)
            if held.dtype != tensor.dtype:
                raise GuestFailed("it has changed the dtype of an argument")
            tensor.resize_(tuple(held.shape))
            if tensor.numel():
                tensor.copy_(held)

    def _made(self, told: Any, tape: Tape, regions: list[Any]) -> Any:
        if isinstance(told, list):
            return [self._made(one, tape, regions) for one in told]
        if isinstance(told, dict) and "t" in told:
            return self._tensor(told, tape, regions)
        if isinstance(told, dict) and "tuple" in told:
            return tuple(self._made(one, tape, regions) for one in told["tuple"])
        if isinstance(told, dict) and "dict" in told:
            raise GuestFailed("it returns a dictionary")
        return decode(told)

    def _tensor(self, told: dict[str, Any], tape: Tape, regions: list[Any]) -> Any:
        if told in self._told:
            return self.tensors[self._told.index(told)]
        dtype = getattr(torch, told["dtype"])
        size, stride, offset = tuple(told["shape"]), tuple(told["stride"]), int(told["offset"])
        number = tape.reply["storages"][told["t"]]
        if number < 0 and 0 not in size:
            raise GuestFailed("it returns elements without memory")
        if 0 in size:
            return torch.empty_strided(size, stride, dtype=dtype, device=tensors.device())
        check_extent(offset * dtype.itemsize, dtype.itemsize, size, stride, tape.sizes[number])
        if regions[number] is None:
            raise GuestFailed("it returns memory that it has freed")
        return view(regions[number], offset * dtype.itemsize, dtype, size, stride)


def _described(told: Any) -> Any:
    """The tensors of a tree, in order."""
    if isinstance(told, dict) and "t" in told:
        yield told
    elif isinstance(told, dict):
        for one in told.values():
            yield from _described(one)
    elif isinstance(told, list):
        for one in told:
            yield from _described(one)


def _places(sizes: Sequence[int], remainders: Sequence[int]) -> list[int]:
    """The addresses at which regions are said to lie: the same for all calls of a kind."""
    found, at = [], space.MIDDLE
    for size, remainder in zip(sizes, remainders, strict=True):
        if not size:
            found.append(0)
            continue
        at = space.after(at, 0, ALIGNED) + remainder
        found.append(at)
        at = -(-(at + size) // ALIGNED) * ALIGNED
    if at >= space.END:
        raise GuestFailed(f"its arguments have {at - space.MIDDLE} bytes, {space.END - space.MIDDLE} can be sealed")
    return found


def signature_of(source: str) -> inspect.Signature:
    """The parameters of a module's `wrapper`, which is not executed; raises GuestFailed. Defaults are left out."""
    found = [one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef) and one.name == "wrapper"]
    if not found:
        raise GuestFailed("its module has no function `wrapper`")
    given, kinds = found[-1].args, inspect.Parameter
    parameters = [kinds(one.arg, kinds.POSITIONAL_ONLY) for one in given.posonlyargs]
    parameters += [kinds(one.arg, kinds.POSITIONAL_OR_KEYWORD) for one in given.args]
    parameters += [kinds(given.vararg.arg, kinds.VAR_POSITIONAL)] if given.vararg else []
    parameters += [kinds(one.arg, kinds.KEYWORD_ONLY) for one in given.kwonlyargs]
    parameters += [kinds(given.kwarg.arg, kinds.VAR_KEYWORD)] if given.kwarg else []
    return inspect.Signature(parameters)
