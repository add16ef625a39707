"""Families that ask for what an argument may be besides: numbers, dtypes, matrices, degrees; and what it may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from families_testkit import call_of, family, noticed, subject

from bringup.suites.audit._vet import raised


def titles(name: str, which: str, dtype: str = "float32") -> set[str]:
    return {case.title for case in family(name, which, dtype)}


def test_numbers_that_no_sample_has_are_asked_for_or_refused() -> None:
    found = titles("nn.functional.hardtanh", "scalars")
    assert {"scalars: argument min_val nan", "scalars: argument max_val inf"} <= found
    assert "scalars: 0 as second operand, refused" in titles("floor_divide", "scalars", "int32")
    assert "scalars: 0 as second operand" in titles("floor_divide", "scalars", "float32")
    assert "scalars: argument 1 0, refused" in titles("unsafe_chunk", "scalars")
    assert "scalars: argument 3 inf, refused" in titles("scatter", "scalars", "int32")
    assert "scalars: argument 0 1.2345678" in titles("scalar_tensor", "scalars")
    for case in family("scatter", "scalars", "int32"):
        assert bool(case.raises) == bool(raised(call_of(case))) == case.title.endswith("refused")


def test_no_number_is_asked_for_that_names_no_way() -> None:
    """Samples have all modes; PyTorch does not check, and takes -2 for one of them."""
    for which in ("numbers", "scalars"):
        asked = titles("grid_sampler_3d", which)
        assert not [title for title in asked if "argument 2 " in title or "argument 3 " in title]
    assert "numbers: argument 4 True" in titles("grid_sampler_3d", "numbers") | titles("grid_sampler_2d", "numbers")


def test_degrees_are_finite_and_sizes_of_structured_arguments_stay() -> None:
    for title in titles("special.chebyshev_polynomial_v", "scalars"):
        assert "nan" not in title
        assert "inf" not in title
    assert not titles("bincount", "scalars")


@pytest.mark.parametrize(
    ("name", "dtype", "wrong"),
    [
        ("floor_divide", "int32", lambda a, b: torch.floor_divide(a, b if isinstance(b, torch.Tensor) or b else 1)),
        ("nn.functional.hardtanh", "float32", lambda x, *a, **k: torch.nn.functional.hardtanh(x, *a, **k).nan_to_num()),
        ("unsafe_chunk", "float32", lambda x, n, dim=0: torch.unsafe_chunk(x, max(n, 1), dim)),
    ],
)
def test_scalars_notice_who_forgets_them(name: str, dtype: str, wrong: Callable[..., Any]) -> None:
    assert noticed(family(name, "scalars", dtype), wrong)


def test_one_argument_stands_alone() -> None:
    cases = family("clamp", "alone")
    assert {case.title for case in cases} == {
        "alone: min and no other that has a default", "alone: max and no other that has a default"
    }  # fmt: skip
    assert noticed(cases, lambda input, min=0.0, max=1.0: torch.clamp(input, min, max))


def test_a_default_shows_where_it_is_what_the_sample_gives() -> None:
    def unit(A: Any, B: Any, *, unitriangular: bool = True, **kwargs: Any) -> torch.Tensor:
        return torch.linalg.solve_triangular(A, B, unitriangular=unitriangular, **kwargs)

    assert noticed(family("linalg.solve_triangular", "alone"), unit)


def test_stores_notice_lost_specials_in_other_dtypes() -> None:
    def zeroing(x: torch.Tensor, eps: Any = None, *, out: Any) -> torch.Tensor:
        result = torch.logit(x, eps)
        if out.dtype is torch.float64:
            result = result.nan_to_num(0.0)
        return out.resize_(result.shape).copy_(result)

    cases = family("logit", "stores")
    assert [case.kwargs["out"].dtype for case in cases] == [torch.float64, torch.float16, torch.bfloat16]
    assert noticed(cases, zeroing) == ["stores: out= of float64, special values"]
    assert noticed(cases, lambda x, eps=None, *, out: torch.logit(x, eps, out=out)) == []


def test_stores_wrap_integers_before_they_are_cast() -> None:
    def late(a: Any, b: Any, *, out: torch.Tensor) -> torch.Tensor:
        wide = torch.as_tensor(a).long() * torch.as_tensor(b).long()
        return out.resize_(wide.shape).copy_(wide)

    assert "stores: out= of float64, special values" in noticed(family("mul", "stores", "int32"), late)


def test_a_dtype_that_is_named_is_the_one_that_is_computed_in() -> None:
    def late(x: torch.Tensor, dim: int, *, dtype: Any = None) -> torch.Tensor:
        return torch.cumprod(x, dim).to(dtype or x.dtype)

    cases = family("cumprod", "precisions")
    assert {"precisions: dtype=float16", "precisions: dtype=int32"} <= {case.title for case in cases}
    # What an integer becomes of NaN is the processor's own.
    numbers = {case.title: case.args[0] for case in family("masked.amin", "precisions")}
    assert [bool(numbers[f"precisions: dtype={name}"].isnan().any()) for name in ("float16", "int32")] == [True, False]
    assert noticed(cases, late)


def test_parameters_of_norms_may_be_wider_than_the_data() -> None:
    cases = family("nn.functional.group_norm", "precisions", "float16")
    assert {case.kwargs["weight"].dtype for case in cases} == {torch.float32}
    assert {case.args[0].dtype for case in cases} == {torch.float16}
    assert not family("nn.functional.linear", "precisions", "float16")


def test_elimination_must_exchange_rows() -> None:
    def without(a: torch.Tensor, b: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        lu, pivots = torch.linalg.lu_factor(a.reshape(b.numel(), -1) + torch.eye(b.numel()) * 1e-3)
        return torch.linalg.lu_solve(lu, pivots, b.reshape(-1, 1)).reshape(a.shape[b.dim() :])

    cases = family("linalg.tensorsolve", "pivots")
    assert all(case.args[0].reshape(-1)[0] == 0 for case in cases)
    assert noticed(cases, without)
    assert not family("linalg.cholesky", "pivots")


def test_polynomials_at_their_edges() -> None:
    def rounded(x: Any, n: Any) -> torch.Tensor:
        return torch.special.chebyshev_polynomial_v(x, n).bfloat16().float()

    cases = [case for case in family("special.chebyshev_polynomial_v", "edges") if "-1 and 1" in case.title]
    assert noticed(cases, rounded)
    assert not family("special.zeta", "edges")


def test_sizes_that_are_arguments_are_long_too() -> None:
    def one_block(x: torch.Tensor, size: Any, **kwargs: Any) -> torch.Tensor:
        result = x.new_zeros(size, **kwargs)
        result.view(-1)[:1024] = 1
        return result

    assert noticed(family("new_ones", "lengths"), one_block)


def test_every_tensor_is_refused_in_its_turn() -> None:
    cases = family("scatter", "unfit")
    assert all(case.raises for case in cases)
    assert {case.title.partition(":")[2].split(" in ")[0].split(":")[0].strip() for case in cases} >= {
        "argument 0", "argument 2", "argument 3"
    }  # fmt: skip
    assert "unfit: argument 2 in float32" in {case.title for case in cases}
    assert not family("scatter", "unfit", "float16")
    assert not subject("lu_unpack", "float32").samples or not family("lu_unpack", "unfit")


def test_windows_have_elements_where_an_option_is_left_out() -> None:
    hann = torch.signal.windows.hann
    for which in ("calls", "omitted", "alone"):
        asked = family("signal.windows.hann", which)
        assert any("sym" in title for title in noticed(asked, lambda M, sym=False, **k: hann(M, sym=sym, **k))), which
    kaiser = torch.signal.windows.kaiser
    doubled = family("signal.windows.kaiser", "doubles")
    assert "doubles: dtype=float64" in noticed(doubled, lambda M, beta=12.0, **k: kaiser(M, beta=beta * 1.01, **k))


def test_values_leave_the_range_of_a_narrower_dtype() -> None:
    def by_int32(x: torch.Tensor, dtype: Any = None, *args: Any, **options: Any) -> torch.Tensor:
        return (x.clamp(-(2.0**31), 2.0**31 - 129) if dtype is torch.int64 else x).to(dtype, *args, **options)

    assert noticed(family("to", "precisions"), by_int32) == ["precisions: dtype=int64, large values"]
    assert "precisions: dtype=float16, large values" in titles("masked.cumsum", "precisions")


def test_every_norm_of_a_condition_number_is_asked_for() -> None:
    found = titles("linalg.cond", "options")
    assert {f"options: p={p}" for p in ("nuc", "fro", 1, -1, 2, -2, "inf", "-inf")} == found
    wrong = noticed(family("linalg.cond", "options"), lambda A, p=None: torch.linalg.cond(A, None if p == "nuc" else p))
    assert wrong == ["options: p=nuc"]
