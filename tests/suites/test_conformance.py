"""The conformance check: OpInfo passes, and each thing that a suite can lack is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch

from bringup.errors import UnknownOperator
from bringup.operators import DocNode, Operator
from bringup.suites import CaseInputs, check_suite, get_suite
from bringup.verdict import CaseId


class Small:
    """A conforming suite of two operators."""

    name = "small"

    def operators(self) -> Iterator[Operator]:
        for name in ("double", "triple"):
            yield Operator(name=name, suite="small", category="Elementwise", case_counts={"float32": 2})

    def operator(self, name: str) -> Operator:
        known = {operator.name: operator for operator in self.operators()}
        if name not in known:
            raise UnknownOperator(name, known, self.name)
        return known[name]

    def docs(self, name: str) -> list[DocNode]:
        return [DocNode(name=name, text="multiplies", refers_to=("mul",)), DocNode(name="mul", text="product")]

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        x = torch.arange(3.0)
        return [
            CaseInputs(CaseId(operator=operator, dtype=dtype, index=i, seed=seed), "", (x,), {}, torch.neg)
            for i in range(2)
        ]


def test_opinfo_conforms() -> None:
    assert check_suite(get_suite("opinfo"), sample=6) == []


def test_a_small_suite_conforms() -> None:
    assert check_suite(Small()) == []


class NoDocs:
    name = "x"


class Twins(Small):
    def operators(self) -> Iterator[Operator]:
        yield from super().operators()
        yield from super().operators()


class Stranger(Small):
    def operators(self) -> Iterator[Operator]:
        yield Operator(name="a", suite="other", category="Other", case_counts={"float64": 1, "int32": 0}, exclusion="")


class Lenient(Small):
    def operator(self, name: str) -> Operator:
        return next(self.operators())


class Silent(Small):
    def docs(self, name: str) -> list[DocNode]:
        return [DocNode(name="mul", text="product"), DocNode(name="mul", text="", refers_to=("gone",))]


class Loose(Small):
    calls = 0

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        case = CaseId(operator=operator, dtype=dtype, index=1, seed=seed)
        return [CaseInputs(case, "", (torch.rand(3),), {}, torch.neg, rtol=1.0)]


class Broken(Small):
    def docs(self, name: str) -> list[DocNode]:
        raise RuntimeError("no docs")

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        raise RuntimeError("no cases")


class Empty(Small):
    def operators(self) -> Iterator[Operator]:
        yield from ()


@pytest.mark.parametrize(
    ("suite", "lacks"),
    [
        (NoDocs, ["it has no `operators`", "it has no `materialise`"]),
        (Twins, ["two operators are called 'double'"]),
        (Stranger, ["of suite 'other'", "counts cases other than", "without a reason"]),
        (Lenient, ["accepts an unknown name", "differs from what operators() yields"]),
        (Silent, ["own text", "a docstring twice", "refers to"]),
        (Loose, ["gives 1 cases", "ids are not", "other inputs when", "without a reason"]),
        (Broken, ["no docs", "no cases"]),
        (Empty, ["yields nothing"]),
    ],
)
def test_what_is_lacking_is_said(suite: type, lacks: list[str]) -> None:
    problems = check_suite(suite())
    for part in lacks:
        assert any(part in problem for problem in problems), (part, problems)
