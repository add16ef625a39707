"""What a case is, what is moved to the device, and how sparse results and gradients that cancel are compared."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
import torch

from bringup.accuracy import Limit, Limits
from bringup.coverage import OperatorResult
from bringup.coverage._measure import _at_least_the_host, _other_layout
from bringup.coverage._moving import with_host_arguments
from bringup.coverage._nearby import nearby_errors
from bringup.coverage.measuring import Setting, measure
from bringup.suites._opinfo_source import OpInfoSource
from bringup.suites.opinfo_forms import NoCase, dense, forms_of


def test_a_sample_whose_tensor_would_have_to_grow_is_no_case_in_place() -> None:
    admitted, refused = [], []
    for maker in forms_of(OpInfoSource(), "addbmm", "float32", gradients=False):
        if maker.form == "in-place":
            try:
                admitted.append(maker().inputs.args[0].shape)
            except NoCase:
                refused.append(maker.index)
    assert admitted
    assert set(admitted) == {torch.Size([5, 10])}
    assert refused


@pytest.mark.parametrize("operator", ["t", "squeeze", "unsqueeze", "transpose", "as_strided", "mul"])
def test_operators_that_change_the_view_have_their_in_place_cases(operator: str) -> None:
    makers = [m for m in forms_of(OpInfoSource(), operator, "float32", gradients=False) if m.form == "in-place"]
    made = 0
    for maker in makers:
        with contextlib.suppress(NoCase):
            made += maker().form == "in-place"
    assert made >= len(makers) / 3 > 0


def test_one_argument_stays_on_the_host() -> None:
    x, sections = torch.ones(4), torch.tensor([1, 2])
    moved = (x.to("meta"), sections.to("meta"))
    args = with_host_arguments("tensor_split", 0, (x, sections), moved)
    assert [a.device.type for a in args] == ["meta", "cpu"]
    assert args[1].tolist() == [1, 2]
    above = [torch.ones(1)]
    args = with_host_arguments("tensor_split", 1, (above, x, 3, 0), (above, moved[0], 3, 0))
    assert args == (above, moved[0], 3, 0)
    assert with_host_arguments("split", 0, (x, sections), moved) == moved


def test_a_sparse_gradient_and_a_dense_one_differ() -> None:
    full = torch.eye(3)
    assert "layout torch.sparse_coo was expected" in _other_layout((full, full.to_sparse()), (full, full))
    assert not _other_layout((full, full.to_sparse()), (full, full.to_sparse()))
    assert torch.equal(dense([full.to_sparse()])[0], full)


def cancels(x: torch.Tensor) -> tuple[torch.Tensor]:
    return ((x + 1) - 1,)


def test_the_error_of_the_host_is_not_what_chance_made_it_for_one_argument() -> None:
    x = torch.tensor([0.5 + 2.0**-23])
    assert cancels(x)[0] == x  # right by chance
    assert 2.0**-26 < nearby_errors(cancels, (x,), {})[0] <= 2.0**-24
    assert nearby_errors(lambda x: (2 * x,), (x,), {}) == [0.0]


def test_only_what_the_host_does_not_keep_is_widened() -> None:
    from bringup.accuracy import Standard
    from bringup.suites import CaseInputs
    from bringup.verdict import CaseId

    x = torch.tensor([0.1])
    inputs = CaseInputs(
        case=CaseId(operator="cancels", dtype="float32", index=0), args=(x,), kwargs={}, variant="", reference=cancels,
        standard=Standard("cancels", cancels, "float32"),
    )  # fmt: skip
    result = cancels(x)
    near = max(float((result[0].double() - x.double()).abs()), nearby_errors(cancels, (x,), {})[0])

    def widened(allowed: float) -> float:
        limit = Limit("", x.double(), torch.tensor([allowed], dtype=torch.float64))
        found = _at_least_the_host(inputs, Limits([limit]), result).outputs[0]
        assert found is not None
        assert found.allowed is not None
        return float(found.allowed)

    assert widened(1e-6) == 1e-6
    assert widened(0.0) == 2 * near


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sections_on_the_host_and_sparse_gradients() -> None:
    found: dict[str, OperatorResult] = {}
    library = Path(__file__).parents[2] / "kernels"
    names = ["tensor_split", "nn.functional.embedding"]
    measure(Setting("vpe:pe64", library, gradients=True), names, lambda one: found.update({one.operator: one}))
    assert {name: one.status for name, one in found.items()} == dict.fromkeys(names, "covered"), found
    assert found["nn.functional.embedding"].forms["gradient"].total > 5
