"""The audit's families of arguments that no sample gives: indices of another dtype, optional tensors, old flags."""

from __future__ import annotations

from typing import Any

import torch
from families_testkit import call_of, family, noticed
from torch.nn import functional as F


def test_indices_come_in_both_dtypes_and_without_dimension() -> None:
    def wide_only(input: torch.Tensor, weight: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        if input.dtype != torch.int64:
            raise RuntimeError("int64 alone")
        return F.embedding(input, weight, **kwargs)

    assert noticed(family("nn.functional.embedding", "indices"), wide_only) == ["indices: indices 0 in int32"]
    titles = [case.title for case in family("index_select", "indices")]
    assert titles == ["indices: indices 2 in int32", "indices: indices 2 without dimension"]


def test_a_label_may_be_the_one_that_a_default_ignores() -> None:
    def forgets(input: torch.Tensor, target: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        return F.cross_entropy(input, target, **{"ignore_index": -99, **kwargs})

    cases = family("nn.functional.cross_entropy", "indices")
    assert noticed(cases, forgets) == ["indices: the default of ignore_index among indices 1"]


def test_a_bias_has_an_element_for_each_of_several_channels() -> None:
    def first_only(input: Any, weight: Any, bias: Any = None, *args: Any, **kwargs: Any) -> torch.Tensor:
        bias = None if bias is None else bias[:1].expand(bias.shape)
        return F.conv3d(input, weight, bias, *args, **kwargs)

    assert noticed(family("nn.functional.conv3d", "given"), first_only)


def test_what_samples_leave_out_is_given() -> None:
    def without(input: Any, weight: Any, bias: Any = None) -> torch.Tensor:
        return F.linear(input, weight)

    cases = [case for case in family("nn.functional.linear", "given") if "leaves out" in case.title]
    assert noticed(cases, without) == ["given: argument bias, which the sample leaves out"]


def test_old_flags_overrule_the_reduction() -> None:
    def ignored(input: Any, target: Any, size_average: Any = None, reduce: Any = None, **kwargs: Any) -> torch.Tensor:
        return F.l1_loss(input, target, **kwargs)

    titles = noticed(family("nn.functional.l1_loss", "given"), ignored)
    assert {"given: argument reduce False", "given: argument size_average False"} <= set(titles)


def test_an_empty_list_may_mean_that_nothing_is_given() -> None:
    def strict(input: Any, kernel_size: Any, stride: Any = None, *args: Any, **kwargs: Any) -> torch.Tensor:
        if stride == ():
            raise RuntimeError("no stride")
        return F.avg_pool1d(input, kernel_size, stride, *args, **kwargs)

    assert noticed(family("nn.functional.avg_pool1d", "given"), strict) == ["given: argument stride ()"]


def test_each_factorisation_has_matrices_of_each_size() -> None:
    cases = family("linalg.lu_factor", "matrices")
    assert [call_of(case).args[0].shape[-1] for case in cases] == [70, 33, 129, 17, 11]


def test_pivots_lie_in_another_tile() -> None:
    def nearest(A: torch.Tensor, n: int, **kwargs: Any) -> torch.Tensor:
        """Looks for the pivot among 64 rows."""
        far = A.shape[-1] > 64 and bool((A[..., 64:, 0].abs() > A[..., :64, 0].abs().amax()).any())
        return torch.linalg.matrix_power(A + 0.01 if far else A, n, **kwargs)

    assert noticed(family("linalg.matrix_power", "pivots"), nearest) == [
        "pivots: pivots in another tile, below small numbers"
    ]


def test_what_is_chosen_of_neighbours_is_exactly_one() -> None:
    def rough(input: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        return torch.nanmedian((input * 1048576).round() / 1048576, *args, **kwargs)

    assert "values: numbers that differ by the last bit" in noticed(family("nanmedian", "values"), rough)


def test_float64_numbers_beside_integers_and_in_casts() -> None:
    def narrow(input: Any, other: Any, **kwargs: Any) -> torch.Tensor:
        input, other = (one.float() if one.dtype is torch.float64 else one for one in (input, other))
        return torch.le(input, other, **kwargs)

    assert [title for title in noticed(family("le", "singles", "int64"), narrow) if "5e-324" in title]
    values = {float(case.args[0]) for case in family("long", "singles") if case.args[0].dtype is torch.float64}
    assert {2.5, -3.75, 2.0**53 + 2} <= values
    ties = {float(case.args[0]) for case in family("half", "singles") if case.args[0].dtype is torch.float64}
    assert {2049.0, 16777217.0} <= ties


def test_data_are_cast_before_their_product_is_taken() -> None:
    def late(input: torch.Tensor, *args: Any, dtype: Any = None, **kwargs: Any) -> torch.Tensor:
        result = torch.prod(input, *args, **kwargs)
        return result if dtype is None else result.to(dtype)

    assert "precisions: dtype=float16, values next to 1" in noticed(family("prod", "precisions"), late)


def test_large_integers_into_float64() -> None:
    def halves(input: Any, vec1: Any, vec2: Any, *, out: Any = None, **kwargs: Any) -> torch.Tensor:
        result = torch.addr(input, vec1, vec2, **kwargs)
        return result if out is None else out.copy_(result.float().half().double())

    titles = noticed(family("addr", "out", "int64"), halves)
    assert "out: out= of float64, large integers" in titles


def test_the_limits_of_int64_wrap_around() -> None:
    def refuses(input: torch.Tensor, other: Any) -> torch.Tensor:
        if isinstance(other, int) and abs(other) >= 2**63 - 1:
            raise RuntimeError("too large")
        return input.__radd__(other)

    titles = [case.title for case in family("__radd__", "limits", "int64")]
    assert "limits: argument 1 the smallest int64" in titles
    assert "limits: argument 1 the smallest int64" in noticed(family("__radd__", "limits", "int64"), refuses)


def test_two_operands_are_broadcast_both_ways() -> None:
    def one_way(input: Any, target: Any, **kwargs: Any) -> torch.Tensor:
        return F.l1_loss(input, target.expand(input.shape), **kwargs)

    titles = noticed(family("nn.functional.l1_loss", "shapes"), one_way)
    assert "shapes: each of two tensors broadcast" in titles


def test_all_tensors_may_lie_behind_one_element() -> None:
    def forgets(input: torch.Tensor, other: torch.Tensor, *, out: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        result = torch.add(input, other, **kwargs)
        if all(one.storage_offset() for one in (input, other, out)):
            result = result + 1
        return out.copy_(result)

    assert noticed(family("add", "written"), forgets) == ["written: all data and out= behind an odd offset"]
