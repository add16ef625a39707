"""Factorisations: any right factors pass, whatever basis or sign they have; slightly wrong ones do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bringup.accuracy import Limit, Standard
from bringup.suites import CaseInputs, get_suite

Factors = tuple[torch.Tensor, ...]
OPERATORS = ("svd", "linalg.svd", "qr", "linalg.qr", "geqrf", "linalg.eigh")


def drawn(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(5))


def functions(operator: str) -> Callable[[Any], Any]:
    """Functions of the result that the suite compares."""
    case = next(c for c in get_suite("opinfo").materialise(operator, "float32", 0) if not c.raises)
    assert case.postprocess is not None
    return case.postprocess


def limits(
    operator: str, reference: Callable[..., Any], matrix: torch.Tensor
) -> tuple[list[Limit], list[torch.Tensor]]:
    compared = functions(operator)
    result = reference(matrix)
    found = Standard(operator, reference, "float32", compared).limits((matrix,), {}, result, ((matrix,), {}))
    assert found.functions
    assert all(limit is not None and limit.exact is not None for limit in found.outputs), found.reason
    return list(found.outputs), list(compared(result))  # type: ignore[arg-type]


def refused(bounds: list[Limit], expected: list[torch.Tensor], actual: Any) -> bool:
    return any(bool(limit.wrong(one, two).any()) for limit, one, two in zip(bounds, expected, actual, strict=True))


@pytest.mark.thinned
@pytest.mark.parametrize("sizes", [(5, 5), (40, 7), (7, 40), (3, 17, 12), (129, 129)])
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_singular_values_and_vectors(sizes: tuple[int, ...], scale: float) -> None:
    def reference(a: torch.Tensor) -> Factors:
        return tuple(torch.linalg.svd(a, full_matrices=False))

    matrix = drawn(*sizes) * scale
    bounds, expected = limits("linalg.svd", reference, matrix)
    compared = functions("linalg.svd")
    u, s, vh = reference(matrix)
    assert not refused(bounds, expected, expected)
    assert not refused(bounds, expected, compared((-u, s, -vh)))
    wide = tuple(factor.float() for factor in reference(matrix.double()))
    assert not refused(bounds, expected, compared(wide))
    for wrong in (
        (u, s * 1.001, vh),
        (u.half().float(), s, vh.half().float()),
        (-u, s, vh),
        (u, s, vh.flip(-2)),
        (u * 1.001, s, vh / 1.001),
        (u, torch.cat([s[..., :-1], torch.zeros_like(s[..., -1:])], -1), vh),
    ):
        assert refused(bounds, expected, compared(wrong))


def test_eigenvalues_and_vectors() -> None:
    matrix = drawn(2, 20, 20)
    matrix = matrix + matrix.mT
    bounds, expected = limits("linalg.eigh", lambda a: tuple(torch.linalg.eigh(a)), matrix)
    values, vectors = torch.linalg.eigh(matrix)
    compared = functions("linalg.eigh")
    assert not refused(bounds, expected, compared((values, -vectors)))
    assert refused(bounds, expected, compared((values * 1.001, vectors)))
    assert refused(bounds, expected, compared((values, vectors * 1.001)))
    assert refused(bounds, expected, compared((values, vectors.bfloat16().float())))


@pytest.mark.parametrize("operator", ["linalg.eigh", "linalg.svd"])
def test_vectors_that_are_not_asked_for_have_no_limits_to_meet(operator: str) -> None:
    """As ATen's overloads leave them: without elements, beside values of a batch."""
    matrix, none = drawn(2, 5, 5), torch.empty(0)
    matrix = matrix + matrix.mT
    eigh = operator == "linalg.eigh"

    def reference(a: torch.Tensor) -> Any:
        nothing = none.to(a.dtype)
        return (torch.linalg.eigvalsh(a), nothing) if eigh else (nothing, torch.linalg.svdvals(a), nothing)

    bounds, expected = limits(operator, reference, matrix)
    actual = functions(operator)(reference(matrix))
    assert not refused(bounds, expected, actual)
    assert refused(bounds, expected, [value * 1.001 for value in actual])


def test_orthogonal_and_triangular_factors() -> None:
    matrix = drawn(3, 30, 20)
    bounds, expected = limits("linalg.qr", lambda a: tuple(torch.linalg.qr(a)), matrix)
    q, r = torch.linalg.qr(matrix)
    compared = functions("linalg.qr")
    assert not refused(bounds, expected, compared((-q, -r)))
    for wrong in ((q, r * 1.001), (q, r + 0.001), (q.half().float(), r), (q * 2, r / 2)):
        assert refused(bounds, expected, compared(wrong))
    ill = matrix.clone()
    ill[..., 1] = ill[..., 0] * (1 + 1e-4 * drawn(3, 30))  # Gram and Schmidt lose orthogonality there
    bounds, expected = limits("linalg.qr", lambda a: tuple(torch.linalg.qr(a)), ill)
    assert not refused(bounds, expected, expected)
    gram = torch.linalg.cholesky(ill.double().mT @ ill.double()).mT.float()
    assert refused(bounds, expected, compared((ill @ torch.linalg.inv(gram), gram)))


def test_a_matrix_without_elements_and_one_of_zeros_have_limits() -> None:
    for matrix in (torch.zeros(0, 3), torch.zeros(2, 4, 4)):
        bounds, expected = limits("linalg.svd", lambda a: tuple(torch.linalg.svd(a)), matrix)
        assert not refused(bounds, expected, expected)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_case_has_an_exact_reference_that_pytorch_meets(operator: str) -> None:
    def exact(case: CaseInputs) -> bool:
        assert case.standard is not None
        assert case.postprocess is not None
        result = case.reference(*case.args, **case.kwargs)
        found = case.standard.limits(case.args, case.kwargs, result, (case.args, case.kwargs))
        shown = [leaf for leaf in case.postprocess(result) if isinstance(leaf, torch.Tensor)]
        assert not refused(list(found.outputs), shown, shown), case.title  # type: ignore[arg-type]
        return found.functions

    cases = [case for case in get_suite("opinfo").materialise(operator, "float32", 0) if not case.raises]
    assert [case.title for case in cases if not exact(case)] == []
