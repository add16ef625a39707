"""A plug-in suite of a few hand-made operators, found by its entry point as a stranger's would be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bringup.errors import UnknownOperator
from bringup.operators import CallShape, DocNode, Operator
from bringup.suites import CaseInputs
from bringup.verdict import CaseId

# A candidate that is right for the operator `double`; tests break it in one place each.
DOUBLE = """
@triton.jit
def kernel_double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v + v, mask=i < n)

def wrapper(input):
    x = input.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        kernel_double[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)
    return y
"""

SHAPES = ((4,), (3, 5), (), (0,), (33,))


def _double(x: Any) -> Any:
    return x + x


def _add_one_(x: Any) -> Any:
    return x.add_(1)


def _transpose(x: Any) -> Any:
    return x.t() if x.dim() == 2 else x.view(x.shape)


def _split(x: Any) -> Any:
    return (x * 2, [x * 3])


REFERENCES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "double": (_double, ("aten.add.Tensor",)),
    "add_one_": (_add_one_, ("aten.add_.Tensor",)),
    "transpose": (_transpose, ("aten.t.default", "aten.view.default")),
    "split": (_split, ("aten.mul.Tensor",)),
}


class TinySuite:
    name = "tiny"

    def operators(self) -> Iterator[Operator]:
        for name, (_, overloads) in REFERENCES.items():
            yield Operator(
                name=name,
                mutates=name.endswith("_"),
                suite="tiny",
                category="Other",
                case_counts={"float32": len(SHAPES), "int32": len(SHAPES)},
                overloads=overloads,
                call_shapes=(CallShape(positional=1),),
                signature=f"{name}(input) -> Tensor",
            )
        yield Operator(
            name="complex_only",
            suite="tiny",
            category="Other",
            case_counts={"float32": 1},
            needs={"complex": "the result is complex"},
        )

    def operator(self, name: str) -> Operator:
        known = {op.name: op for op in self.operators()}
        if name not in known:
            raise UnknownOperator(name, known, self.name)
        return known[name]

    def docs(self, name: str) -> list[DocNode]:
        return [DocNode(name=name, text=f"{name}(input): see the reference.")]

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        import torch

        generator = torch.Generator().manual_seed(seed)
        reference, _ = REFERENCES[operator]
        cases = []
        for index, shape in enumerate(SHAPES):
            x = torch.randint(-9, 9, shape, generator=generator).to(getattr(torch, dtype))
            case = CaseId(operator=operator, dtype=dtype, index=index, seed=seed)
            cases.append(CaseInputs(case=case, variant="", args=(x,), kwargs={}, reference=reference))
        return cases
