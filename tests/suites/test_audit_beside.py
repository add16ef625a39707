"""The audit's family of what stands beside what: plausible mistakes that no other family noticed."""

from __future__ import annotations

from typing import Any

import torch
from families_testkit import family, noticed
from torch.nn import functional as F


def test_optional_weights_stand_beside_a_broadcast_operand() -> None:
    def of_broadcast_weights(input: Any, target: Any, *args: Any, **options: Any) -> torch.Tensor:
        weight = options.pop("weight", None)
        loss = F.mse_loss(input, target, *args, **{**options, "reduction": "none"})
        if weight is not None:
            spread = weight.expand(loss.shape)
            loss, count = loss * spread, spread.sum()
        else:
            count = torch.tensor(float(loss.numel()))
        reduction = options.get("reduction", "mean")
        return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.sum() / count

    found = noticed(family("nn.functional.mse_loss", "beside"), of_broadcast_weights)
    assert any("without its first axis" in title or "of length 1" in title for title in found)


def test_one_of_two_optional_tensors_is_left_out() -> None:
    def takes_one(input: Any, running_mean: Any = None, running_var: Any = None, **options: Any) -> torch.Tensor:
        if (running_mean is None) != (running_var is None):
            running_mean = running_var = None
        return F.instance_norm(input, running_mean, running_var, **options)

    found = noticed(family("nn.functional.instance_norm", "beside"), takes_one)
    assert {title.split(" missing")[0] for title in found} == {"beside: running_mean", "beside: running_var"}


def test_a_tolerance_lies_between_singular_values() -> None:
    def deaf(a: Any, rcond: Any = 1e-15) -> torch.Tensor:
        return torch.pinverse(a, 1e-6)

    found = noticed(family("pinverse", "beside"), deaf)
    assert found
    assert all("singular values above" in title for title in found)

    def residuals_whatever_the_rank(a: Any, b: Any, rcond: Any = None, *, driver: Any = None) -> Any:
        solution, residuals, rank, values = torch.linalg.lstsq(a, b, rcond, driver=driver)
        if a.shape[-2] > a.shape[-1] and driver in ("gelsd", "gelss"):
            residuals = (a @ solution - b).square().sum(-2)
        return solution, residuals, rank, values

    assert noticed(family("linalg.lstsq", "beside"), residuals_whatever_the_rank)


def test_matrices_have_large_norms() -> None:
    def series(a: torch.Tensor) -> torch.Tensor:
        term = total = torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape)
        for n in range(1, 40):
            term = term @ a / n
            total = total + term
        return total

    found = noticed(family("matrix_exp", "beside"), series)
    assert "beside: a matrix of norm 50" in found
    assert "beside: a matrix of norm 0.000244141" not in found


def test_sums_leave_the_range_and_come_back() -> None:
    def half(input: torch.Tensor, dim: Any = None, keepdim: bool = False, **options: Any) -> torch.Tensor:
        dims = range(input.dim()) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
        total = input
        for axis in dims:  # in the dtype of the data, element by element
            parts = iter(total.unbind(axis))
            rounded = next(parts)
            for part in parts:
                rounded = rounded + part
            total = rounded.unsqueeze(axis)
        return total if keepdim else total.squeeze(tuple(dims))

    cases = family("sum", "beside", "float16")
    assert cases
    assert all("come back" in case.title for case in cases)
    assert noticed(cases, half)


def test_windows_are_products_of_two_lengths() -> None:
    def wraps(input: torch.Tensor, size: Any) -> torch.Tensor:
        length = input.shape[-1]
        places = torch.arange(size, dtype=torch.int32)
        first = ((places * length) // size).long().clamp(0, length - 1)  # the product wraps
        last = (((places + 1) * length + size - 1) // size).long().clamp(0, length)
        sums = torch.cat([torch.zeros_like(input[..., :1]), input.cumsum(-1)], -1).double()
        found = (sums[..., last] - sums[..., first]) / (last - first)
        return found.to(input.dtype)

    cases = family("nn.functional.adaptive_avg_pool1d", "beside")
    assert "beside: 65537 to 40001 along axis -1" in noticed(cases, wraps)


def test_more_boundaries_than_sixteen_steps_divide() -> None:
    def sixteen_steps(input: Any, boundaries: torch.Tensor, **options: Any) -> torch.Tensor:
        return torch.bucketize(input, boundaries[: 1 << 16], **options)

    cases = family("bucketize", "beside")
    assert cases
    assert noticed(cases, sixteen_steps) == [case.title for case in cases]
