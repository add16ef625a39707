"""Whether a kernel's answer to a call of a program is right, as the judge would say of a case: for use, not for trust.

A call that reaches a device's key is made a case of the suite `aten`: the CPU's kernel is its reference, and what is
right is what the tables of `bringup.accuracy` say of the overload. Nothing here calls a candidate.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import Limits
from bringup.judge import _codec
from bringup.judge._case import CaseJudge, arithmetic_of, limits_of
from bringup.suites import CaseInputs, get_suite
from bringup.suites._aten_cases import case_of
from bringup.suites._aten_record import Recorded
from bringup.suites._random_cases import reference_of
from bringup.suites._random_laws import LAWS, statements_of
from bringup.suites.captured._lower import dtype_of
from bringup.targets import Target
from bringup.verdict import CaseId

SUITE = "aten"


class Call:
    """One call with its arguments before it, as host tensors that nobody else has."""

    def __init__(self, case: CaseJudge) -> None:
        """Use `call_of`."""
        self._case = case

    def difference(self, result: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """What is wrong with a result, and with the arguments after the call, host tensors all of them; "" for nothing.

        Computes the reference. Raises what that raises.
        """
        found = self._case.mismatch(result, tuple(args), dict(kwargs))
        return "" if found is None else f"{found.output}: {found.message}"


class RandomCall:
    """One call that draws numbers: which come is the kernel's affair, what they are like is not."""

    def __init__(self, overload: str, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Use `call_of`."""
        self._reference = reference_of(operator)
        self._args, self._kwargs = _codec.clone_tree([tuple(args), dict(kwargs)])
        self._holds = statements_of(overload, self._args, self._kwargs.get("out"))

    def difference(self, result: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """As `Call.difference`: PyTorch's statements do not hold of a result; a right one misses in ten million."""
        expected = self._reference(*self._args, seed=0, **self._kwargs)
        for number, (ours, theirs) in enumerate(zip(_leaves(result), _leaves(expected), strict=True)):
            if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
                kinds = [f"{one.dtype} {list(one.shape)}" for one in (theirs, ours)]
                return f"result {number}: {kinds[0]} was expected, {kinds[1]} was returned"
        missed = [words for words, holds in self._holds(result).items() if not holds]
        return f"it does not hold that {missed[0]}" if missed else ""


def _leaves(result: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def call_of(
    overload: str, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], target: Target | None = None
) -> Call | RandomCall | None:
    """Make a call of an overload (`add.out`) ready; None where nothing says what is right.

    `operator`: PyTorch's OpOverload; `args` and `kwargs`: host tensors, which are this call's own from now on. None for
    overloads that the suite does not know, and for random ones of which nothing is said.
    """
    suite = _suite()
    facts = suite.overloads.get(overload)
    if torch.Tag.nondeterministic_seeded in operator.tags:
        return RandomCall(overload, operator, args, kwargs) if overload in LAWS else None
    if facts is None:
        return None
    recorded = Recorded(overload, operator, tuple(args), dict(kwargs))
    case = CaseId(operator=overload, dtype=dtype_of(recorded), index=0, seed=0)
    inputs = case_of(case, facts, suite.parent(overload), recorded, "in use", {})
    expected = _Expected()
    arithmetic = None if target is None else arithmetic_of(target)

    def limits(inputs: CaseInputs) -> Limits:
        known = expected(inputs)
        return limits_of(inputs, known) if arithmetic is None else limits_of(inputs, known, arithmetic)

    return Call(CaseJudge(inputs, _operator(overload), "cpu", expected, frozenset(), limits=limits))


@functools.cache
def _suite() -> Any:
    return get_suite(SUITE)


@functools.cache
def _operator(overload: str) -> Any:
    return _suite().operator(overload)


class _Expected:
    """The reference's output and the arguments after it, computed once for each inputs."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[CaseInputs, Any, Any, Any]] = {}

    def __call__(self, inputs: CaseInputs) -> tuple[Any, Any, Any]:
        if id(inputs) not in self._found:
            args, kwargs = _codec.clone_tree([tuple(inputs.args), dict(inputs.kwargs)])
            with torch.no_grad():
                self._found[id(inputs)] = (inputs, inputs.reference(*args, **kwargs), args, kwargs)
        return self._found[id(inputs)][1:]
