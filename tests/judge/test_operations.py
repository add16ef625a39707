"""What the suite's reference multiplies, by the shapes of a case."""

from __future__ import annotations

from typing import Any

import torch

from bringup.judge._operations import reference_operations
from bringup.suites import CaseInputs
from bringup.verdict import CaseId


def case(reference: Any, *args: Any, raises: str = "") -> CaseInputs:
    known = CaseId(operator="mm", dtype="float32", index=0)
    return CaseInputs(case=known, variant="", args=args, kwargs={}, reference=reference, raises=raises)


def test_matrix_products_are_counted_by_shape_and_nothing_is_computed() -> None:
    a, b = torch.empty(4096, 8192), torch.empty(8192, 16384)
    seen: list[str] = []

    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        seen.append(x.device.type)
        return torch.relu(x @ y)

    assert reference_operations(case(reference, a, b)) == 2 * 4096 * 8192 * 16384
    assert seen == ["meta"]


def test_what_cannot_be_counted_is_not_known() -> None:
    x = torch.ones(4, 4)
    assert reference_operations(case(torch.exp, x)) == 0
    assert reference_operations(case(lambda t: t @ t if t.sum().item() else t, x)) == 0
    assert reference_operations(case(torch.mm, x, torch.ones(3, 3), raises="RuntimeError: shapes")) == 0
