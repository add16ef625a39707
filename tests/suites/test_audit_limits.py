"""The audit's families about memory with gaps, limits of dtypes, float64 numbers, words, and lone tensors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from families_testkit import family, noticed

from bringup.suites import get_suite
from bringup.suites._aten_audited import audit_cases
from bringup.suites.audit import FAMILIES, MAX_CASES


def test_tensors_in_another_order_have_gaps_too() -> None:
    tensors = [case.args[0] for case in family("erfc", "gaps")]
    assert len(tensors) == 3
    assert not any(t.is_contiguous() or torch.empty_like(t).stride() == t.stride() for t in tensors)

    def wrong(input: torch.Tensor) -> torch.Tensor:
        result = torch.empty_like(input)
        if result.is_contiguous():
            return torch.erfc(input)
        return result.copy_(torch.erfc(input.as_strided(result.shape, result.stride())))

    assert len(noticed(family("erfc", "gaps"), wrong)) == 3


def test_what_a_dtype_just_holds_is_taken_and_what_it_does_not_is_refused() -> None:
    def late(input: torch.Tensor, value: Any) -> torch.Tensor:
        if value == torch.iinfo(input.dtype).min:
            raise RuntimeError
        return torch.fill(input, value)

    def lax(size: Any, fill_value: Any, **kwargs: Any) -> torch.Tensor:
        wide = torch.full(size, fill_value, **{**kwargs, "dtype": torch.int64})
        return wide.to(kwargs.get("dtype") or torch.int64)

    assert noticed(family("fill", "limits", "int32"), late) == ["limits: argument value at the smallest integer"]
    assert [title for title in noticed(family("full", "limits", "int32"), lax) if "refused" in title]


def test_a_number_may_be_the_first_operand_and_a_flag_be_refused() -> None:
    def wrong(input: Any, other: Any) -> torch.Tensor:
        return torch.bitwise_xor(input.clone(), other)

    titles = noticed(family("bitwise_xor", "limits", "int32"), wrong)
    assert titles
    assert all("as first operand" in title for title in titles)
    assert any(
        case.raises and case.title.endswith("True as second operand, refused") for case in family("rsub", "limits")
    )


def test_a_size_is_no_value_of_the_dtype() -> None:
    assert family("eye", "limits", "int32") == []


def test_a_float64_number_is_rounded_before_it_is_compared() -> None:
    cases = family("ge", "singles")
    assert cases
    assert all(any(t.dtype is torch.float64 and not t.dim() for t in case.args) for case in cases)

    def wrong(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        args = [t if t.dtype is torch.float32 else torch.zeros((), dtype=torch.float32) for t in (input, other)]
        return torch.ge(*args)

    assert noticed(cases, wrong)
    assert family("mm", "singles") == []


def test_words_that_an_operator_does_not_know_are_refused() -> None:
    def wrong(input: torch.Tensor, target: torch.Tensor, *args: Any, reduction: str = "mean", **kwargs: Any) -> Any:
        known = reduction if reduction in ("none", "sum") else "mean"
        return torch.nn.functional.nll_loss(input, target, *args, reduction=known, **kwargs)

    cases = family("nn.functional.nll_loss", "words")
    assert noticed(cases, wrong) == [case.title for case in cases] != []
    assert family("exp", "words") == []


def test_a_lone_tensor_is_refused_by_dtype_and_by_shape() -> None:
    assert [case.title for case in family("positive", "lone")] == ["lone: argument 0 in bool"]
    titles = {case.title for case in family("linalg.inv_ex", "lone")}
    assert {"lone: argument 0 in float16", "lone: argument 0 of one row"} <= titles
    assert family("add", "lone") == []


def test_lists_of_dimensions_are_counted_from_the_end() -> None:
    def wrong(input: torch.Tensor, dims: Any) -> torch.Tensor:
        if -input.dim() in dims:
            raise IndexError
        return torch.permute(input, dims)

    assert noticed(family("permute", "dims"), wrong) == ["dims: argument 1 counted from the end"]


def test_lines_of_few_numbers_far_from_zero() -> None:
    def rough(input: torch.Tensor, dim: Any = None, *, correction: Any = 1, keepdim: bool = False, **_: Any) -> Any:
        dims = tuple(range(input.dim())) if dim is None else dim
        count = input.numel() // max(1, input.sum(dims).numel())
        mean = input.sum(dims, keepdim=True) / (count + 1)
        rest = input - mean
        squares = (rest * rest).sum(dims, keepdim=keepdim) - rest.sum(dims, keepdim=keepdim) ** 2 / count
        return squares / max(0, count - correction)

    assert any(re.search("64x5", title) for title in noticed(family("var", "accuracy"), rough))


def test_integers_of_every_magnitude_come_in_each_form() -> None:
    forms = [len(case.args) + len(case.kwargs) for case in family("max", "values", "int32") if "every" in case.title]
    assert len(set(forms)) > 1


def test_a_mask_stands_beside_indices_of_two_dimensions() -> None:
    case = next(case for case in family("index_put", "masks") if "two dimensions" in case.title)
    mask, other = case.args[1]
    assert mask.dtype is torch.bool
    assert other.dim() == 2


def test_an_overload_is_looked_for_in_the_whole_family() -> None:
    suite = get_suite("aten-audit")
    found = audit_cases(suite.overloads["min.dim_min"], suite.parent("min.dim_min"), "float32", 0, {"sizes": 4}, {})  # type: ignore[attr-defined]
    assert found


def test_reductions_without_keepdim_have_long_and_misaligned_rows() -> None:
    assert any(case.args[0].storage_offset() for case in family("count_nonzero", "alignment"))
    assert any(max(case.args[0].shape, default=0) > 1000 for case in family("count_nonzero", "sizes"))


def test_each_form_of_a_call_has_tensors_that_no_view_makes_flat() -> None:
    cases = family("sum", "forms")
    assert all(not case.args[0].is_contiguous() for case in cases)
    given = {tuple(sorted((name, type(value)) for name, value in case.kwargs.items())) for case in cases}
    assert len(given) >= 3  # nothing, one dimension, several

    def wrong(input: torch.Tensor, *, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> torch.Tensor:
        if dim is not None:
            return torch.sum(input, dim, keepdim, **kwargs)
        flat = input.as_strided((input.numel(),), (1,))  # as it lies
        return torch.sum(flat, **kwargs)

    assert noticed(cases, wrong) == [case.title for case in cases if not case.kwargs.keys() & {"dim"}]


def test_a_lone_float64_number_is_asked_of_casts_and_of_nothing_else() -> None:
    asked = family("float", "singles", "float16")
    assert len(asked) == 8 + 3
    through = noticed(asked, lambda x, **options: x.half().float(**options))
    values = ("1.2345678901234567", "1.5e-40", "6e-39", "2049.0", "16777217.0")
    assert through == [f"singles: a lone 0-d float64 {value}" for value in values]
    assert not family("isnan", "singles")
    assert not family("exp", "singles")


def test_a_float64_number_may_be_subnormal_in_float32() -> None:
    tiny = "singles: argument 2 0-d float64 1.5e-40"
    flush = torch.finfo(torch.float32).tiny

    def flushed(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.where(condition, x, torch.where(y.abs() < flush, 0.0, y))

    assert tiny in noticed(family("where", "singles"), flushed)


def test_a_memory_format_of_axes_of_one_element_decides_nothing() -> None:
    ones = [case for case in family("half", "formats", "float16") if "one element" in case.title]
    assert len(ones) == 4
    assert all(case.args[0].numel() == 2 for case in ones)


def test_the_page_says_how_many_cases_there_may_be() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "audit.md").read_text()
    assert f"At most {MAX_CASES} cases an operator and dtype" in page
    for name, most in FAMILIES.items():
        assert f"\n| `{name}` | {most} | " in page, name
