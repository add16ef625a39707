"""Whether a kernel's answer to a call of a program is right, as the judge would say of a case: for use, not for trust.

A call that reaches a device's key is made a case of the suite `aten`: the CPU's kernel is its reference, and what is
right is what the tables of `bringup.accuracy` say of the overload. Nothing here calls a candidate.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from bringup.accuracy import Limits
from bringup.judge import _codec
from bringup.judge._case import CaseJudge
from bringup.judge._case_limits import arithmetic_of, limits_of
from bringup.judge._comparison import SEALED
from bringup.suites import CaseInputs, get_suite
from bringup.suites._aten_cases import case_of
from bringup.suites._aten_record import Recorded
from bringup.suites._random_cases import random_case
from bringup.suites._random_defined import DEFINED
from bringup.suites.captured._lower import dtype_of
from bringup.targets import Target
from bringup.verdict import CaseId

DIVIDE = frozenset({"div", "divide", "floor_divide", "remainder", "fmod", "lcm", "gcd"})
"""Operators whose CPU kernels may divide the smallest whole number by -1, at which a processor ends the process."""
FACTORS = frozenset({"lcm", "gcd"})  # which divide by what they have found, and that may be -1


class Trapped(Exception):
    """PyTorch's own kernel would end this process instead of an answer."""


class Refused(Exception):
    """PyTorch's own kernel refuses a call."""

    def __init__(self, by: Exception) -> None:
        """`by`: what that raises."""
        super().__init__(str(by))
        self.by = by


class Call:
    """One call with its arguments before it, as host tensors that nobody else has."""

    def __init__(self, case: CaseJudge) -> None:
        """Use `call_of`."""
        self._case = case

    @property
    def inputs(self) -> CaseInputs:
        """What PyTorch is asked with."""
        return self._case.inputs

    def rearranges(self) -> bool:
        """Whether it only moves elements, whatever the overload does in others. Raises what the reference raises."""
        return self._case.rearranges

    def difference(
        self, result: Any, args: Sequence[Any], kwargs: Mapping[str, Any], unasked: Collection[int] = ()
    ) -> str:
        """What is wrong with a result, and with the arguments after the call: host tensors; "" for nothing.

        `unasked`: places of results that may be anything. Raises Refused.
        """
        try:
            expected = self._case.expected(self._case.inputs)[0]
        except Exception as error:  # whatever PyTorch's own kernel raises
            raise Refused(error) from None
        if unasked and isinstance(result, tuple | list) and len(result) == len(expected):
            result = tuple(expected[place] if place in unasked else one for place, one in enumerate(result))
        found = self._case.mismatch(result, tuple(args), dict(kwargs))
        return "" if found is None else f"{found.output}: {found.message}"


def call_of(
    overload: str, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], target: Target | None = None,
    seed: int | None = None,
) -> Call | None:  # fmt: skip
    """Make a call of an overload (`add.out`) ready; None where nothing says what is right.

    `operator`: PyTorch's OpOverload; `args` and `kwargs`: host tensors, which are this call's own from now on; `seed`:
    what a random one is given. None for overloads of which nothing says what is right. Raises Trapped.
    """
    name = overload.partition(".")[0].removesuffix("_")
    if name in DIVIDE and any(map(_has_smallest, _tensors([args, kwargs]))):
        divisors = [value for value in args[1:2] if name not in FACTORS]
        if not divisors or any(_has_minus_one(value) for value in divisors):
            raise Trapped(f"{overload} of the smallest whole number")
    suite = _suite()
    facts = suite.overloads.get(overload)
    recorded = Recorded(overload, operator, tuple(args), dict(kwargs))
    case = CaseId(operator=overload, dtype=dtype_of(recorded), index=0, seed=0)
    if torch.Tag.nondeterministic_seeded in operator.tags:
        if overload not in DEFINED or seed is None:
            return None
        inputs = random_case(case, overload, operator, args, {**kwargs, "seed": seed}, "in use")
    elif facts is None:
        return None
    else:
        inputs = case_of(case, facts, suite.parent(overload), recorded, "in use", {})
    expected = _Expected()
    arithmetic = None if target is None else arithmetic_of(target)

    def limits(inputs: CaseInputs) -> Limits:
        known = expected(inputs)
        return limits_of(inputs, known) if arithmetic is None else limits_of(inputs, known, arithmetic)

    return Call(CaseJudge(inputs, _operator(overload), "cpu", expected, frozenset(), limits=limits))


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [tensor for _, tensor in _codec.tensors_of(tree, "")]


def _has_smallest(tensor: torch.Tensor) -> bool:
    wide = tensor.dtype in (torch.int32, torch.int64)  # smaller ones are divided as int32
    return wide and tensor.numel() > 0 and int(tensor.min()) == torch.iinfo(tensor.dtype).min


def _has_minus_one(value: Any) -> bool:
    return bool((value == -1).any()) if isinstance(value, torch.Tensor) else value == -1


@functools.cache
def _suite() -> Any:
    return get_suite(SEALED)


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
