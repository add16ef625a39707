"""Probes for targets, for `bringup targets check`: operators so small that only the target can be at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bringup.errors import UnknownOperator
from bringup.operators import DTYPES, CallShape, DocNode, Operator, PromptWords
from bringup.suites._base import CaseInputs, SuiteDefaults
from bringup.verdict import CaseId

SHAPES: tuple[tuple[int, ...], ...] = ((4,), (3, 5), (), (0,), (257,), (64, 33))


def _double(x: Any) -> Any:
    return x + x


def _add_one_(x: Any) -> Any:
    return x.add_(1)


def _flip_view(x: Any) -> Any:
    return x.t() if x.dim() == 2 else x.view(x.shape)


def _row_sum(x: Any) -> Any:
    return x.sum(-1, dtype=x.dtype)


_PROBES: dict[str, tuple[Callable[..., Any], tuple[str, ...], str]] = {
    "double": (_double, ("aten.add.Tensor",), "twice the input, element by element"),
    "add_one_": (_add_one_, ("aten.add_.Tensor",), "adds one in place and returns the input"),
    "flip_view": (_flip_view, ("aten.t.default", "aten.view.default"), "the transposed view of a matrix"),
    "row_sum": (_row_sum, ("aten.sum.dim_IntList",), "the sum over the last axis"),
}


class ConformanceSuite(SuiteDefaults):
    """Probe operators over the five dtypes: empty, 0-d, odd sizes, more than one program, strided inputs."""

    name = "conformance"
    words = PromptWords(families=())  # its kernels ship with it: nothing is asked of them beyond its cases

    def operators(self) -> Iterator[Operator]:
        """Yield the probes."""
        for name, (_, overloads, text) in _PROBES.items():
            yield Operator(
                name=name,
                suite=self.name,
                category="Other",
                case_counts={dtype: len(SHAPES) for dtype in DTYPES},
                overloads=overloads,
                call_shapes=(CallShape(positional=1),),
                signature=f"{name}(input) -> Tensor  # {text}",
                mutates=name.endswith("_"),
                computes=name != "flip_view",
                views=name in ("flip_view", "add_one_"),
            )

    def operator(self, name: str) -> Operator:
        """Return a probe; raises UnknownOperator."""
        known = {operator.name: operator for operator in self.operators()}
        if name not in known:
            raise UnknownOperator(name, known, self.name)
        return known[name]

    def docs(self, name: str) -> list[DocNode]:
        """Say what the probe computes."""
        return [DocNode(name=name, text=_PROBES[self.operator(name).name][2])]

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Small integers as values, so that every dtype holds every result exactly."""
        import torch

        generator = torch.Generator().manual_seed(seed)
        cases = []
        for index, shape in enumerate(SHAPES):
            x = torch.randint(-3, 4, shape, generator=generator).to(getattr(torch, dtype))
            if len(shape) == 2:
                x = x.t().contiguous().t()  # strided: columns are neighbours
            case = CaseId(operator=operator, dtype=dtype, index=index, seed=seed)
            reference = _PROBES[operator][0]
            cases.append(CaseInputs(case=case, variant="", args=(x,), kwargs={}, reference=reference))
        return cases
