"""Hand-made records for the prompts' tests."""

from __future__ import annotations

import pytest

from bringup.dialect import Dialect, load_dialect
from bringup.operators import CallShape, DocNode, Operator


@pytest.fixture(scope="session")
def dialect() -> Dialect:
    return load_dialect("triton")


@pytest.fixture(scope="session")
def operator() -> Operator:
    return Operator(
        name="softmax",
        suite="opinfo",
        category="Reduction",
        case_counts={"float32": 20, "bfloat16": 10, "float16": 10},
        overloads=("aten._softmax.default", "aten._to_copy.default"),
        signature="softmax(input, dim, *, dtype=None) -> Tensor",
        call_shapes=(CallShape(positional=2), CallShape(positional=1, keywords=("dim", "dtype"))),
    )


@pytest.fixture(scope="session")
def docs() -> tuple[DocNode, ...]:
    return (
        DocNode(
            name="softmax", text="Alias for torch.nn.functional.softmax.", refers_to=("torch.nn.functional.softmax",)
        ),
        DocNode(name="torch.nn.functional.softmax", text="Rescales slices so that they sum to 1."),
    )
