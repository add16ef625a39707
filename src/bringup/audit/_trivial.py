"""Trivial candidates: answers that need no computation, and whether a gate lets one of them pass. Imports torch.

A gate proves something only when it refuses them. Each trivial candidate is given more than a real one could know: it
returns the right structure, shapes, dtypes and (where the operator writes or aliases) the right mutation and aliasing;
only its values are trivial. A gate that one of them passes says nothing about values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from bringup.accuracy import Limits
from bringup.judge import _codec, _compare
from bringup.judge._case_limits import limits_of, output_limits
from bringup.suites import CaseInputs

NAN = float("nan")


class _Refused(Exception):
    """The trivial candidate has no answer of the expected structure: the gate refuses it."""


@dataclass(frozen=True)
class _Case:
    """What a trivial candidate may look at: this case's inputs and result, and the first case's result."""

    tensors: tuple[torch.Tensor, ...]  # of the arguments, before the call
    expected: Any
    first: Any


Trivial = Callable[[_Case], Any]


def _map(expected: Any, tensor: Callable[[torch.Tensor], torch.Tensor], number: Callable[[Any], Any]) -> Any:
    """Rebuild a result with other leaves; leaves that are neither tensors nor numbers stay."""
    if isinstance(expected, torch.Tensor):
        return tensor(expected)
    if isinstance(expected, list | tuple):
        return [_map(item, tensor, number) for item in expected]
    if isinstance(expected, Mapping):
        return {key: _map(item, tensor, number) for key, item in expected.items()}
    if isinstance(expected, bool | int | float | complex):
        return type(expected)(number(expected))
    return expected


def _filled(value: float) -> Trivial:
    def fill(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype is torch.bool:
            return torch.full_like(tensor, bool(value))
        if tensor.dtype is torch.uint8 and value < 0:
            return torch.full_like(tensor, 255)
        return torch.full_like(tensor, value)

    return lambda case: _map(case.expected, fill, lambda _: value)


def _nan(case: _Case) -> Any:
    def fill(tensor: torch.Tensor) -> torch.Tensor:
        return torch.full_like(tensor, NAN if tensor.dtype.is_floating_point or tensor.is_complex() else 0)

    return _map(case.expected, fill, lambda value: NAN if isinstance(value, float | complex) else 0)


def _input(case: _Case) -> Any:
    if not case.tensors:
        raise _Refused
    source = case.tensors[0]

    def fill(tensor: torch.Tensor) -> torch.Tensor:
        if source.shape != tensor.shape:
            raise _Refused
        return source.to(tensor.dtype)

    def number(value: Any) -> Any:
        if source.numel() != 1:
            raise _Refused
        return source.item()

    return _map(case.expected, fill, number)


def _first_answer(case: _Case) -> Any:
    return case.first


def _constant_shape(case: _Case) -> Any:
    shapes = [tuple(tensor.shape) for _, tensor in _codec.tensors_of(case.first, "output")]
    if not shapes or shapes != [tuple(tensor.shape) for _, tensor in _codec.tensors_of(case.expected, "output")]:
        raise _Refused
    return case.expected


# id -> candidate; `bringup.audit.TRIVIAL` describes them
CANDIDATES: Mapping[str, Trivial] = {
    "zeros": _filled(0),
    "ones": _filled(1),
    "minus-one": _filled(-1),
    "nan": _nan,
    "input": _input,
    "first-answer": _first_answer,
    "constant-shape": _constant_shape,
}


@dataclass
class Tally:
    """Which trivial candidates are still alive in the gate of one operator and dtype."""

    cases: int = 0
    skipped: int = 0  # cases whose reference fails, or whose result has no comparison
    killed_by: dict[str, int] = field(default_factory=dict)  # candidate -> index of the first case that refuses it
    first: Expected | None = None

    @property
    def alive(self) -> list[str]:
        """The candidates that no case has refused so far."""
        return [name for name in CANDIDATES if name not in self.killed_by] if self.judged else []

    @property
    def judged(self) -> int:
        """Cases that could refuse a candidate."""
        return self.cases - self.skipped

    def add(self, inputs: CaseInputs) -> list[str]:
        """Judge the candidates still alive on one more case; return those that it refuses."""
        self.cases += 1
        # Where the wrapper must raise, or need not be asked, no value is compared.
        expected = None if inputs.raises or inputs.requires else expected_of(inputs)
        if expected is None:
            self.skipped += 1
            return []
        if self.first is None:
            self.first = expected
        alive = [name for name in CANDIDATES if name not in self.killed_by]
        fresh = [name for name in alive if not passes(name, inputs, expected, self.first.expected)]
        self.killed_by |= dict.fromkeys(fresh, inputs.case.index)
        return fresh


@dataclass(frozen=True)
class Expected:
    """A reference's result, and the tensors among the arguments as they were before the call."""

    expected: Any
    tensors: tuple[torch.Tensor, ...]
    limits: Limits


def expected_of(inputs: CaseInputs) -> Expected | None:
    """Call the reference on a copy of the inputs; None when it fails or its result cannot be compared."""
    try:
        args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = inputs.reference(*args, **kwargs)
        results = [tensor for _, tensor in _codec.tensors_of(expected, "output")]
    except Exception:  # whatever a reference raises: the judge cannot use the case either
        return None
    if any(tensor.layout is not torch.strided for tensor in results):
        return None
    tensors = tuple(t for _, t in _compare.input_paths(tuple(inputs.args), dict(inputs.kwargs)))
    return Expected(expected, tensors, limits_of(inputs, (expected, args, kwargs)))


def passes(name: str, inputs: CaseInputs, found: Expected, first: Any) -> bool:
    """Tell whether the gate's comparison accepts the trivial candidate `name` in one case."""
    expected = found.expected
    try:
        actual = CANDIDATES[name](_Case(found.tensors, expected, first))
    except (_Refused, RuntimeError, TypeError, ValueError, OverflowError):
        return False  # NaN as an int, a complex input as a real output, ...
    if inputs.postprocess is not None:
        structural = _compare.compare(expected, actual, rtol=float("inf"), atol=float("inf"))
        if structural is not None and structural.aspect != "values":
            return False
        expected, actual = inputs.postprocess(expected), inputs.postprocess(actual)
    limits = output_limits(inputs, found.limits, expected)
    return _compare.compare(expected, actual, inputs.rtol, inputs.atol, limits=limits) is None


def judge(cases: Iterable[CaseInputs]) -> Tally:
    """Judge all trivial candidates on the cases of one operator and dtype."""
    tally = Tally()
    for inputs in cases:
        tally.add(inputs)
    return tally
