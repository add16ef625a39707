"""Each family of the audit: that it holds what it says, and that it notices the mistake it is there for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from families_testkit import family, noticed, wrong_result

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_source import OpInfoSource
from bringup.suites._opinfo_tolerance import copy_arguments
from bringup.suites.audit import FAMILIES, _drawn
from bringup.suites.audit._signature import Parameter, alternatives, has_rest, value_of
from bringup.suites.audit._subject import Subject
from bringup.suites.audit._tree import tensors
from bringup.suites.audit._vet import run


def test_layout_moves_the_same_values() -> None:
    cases = family("add", "layout")
    words = " ".join(case.title for case in cases)
    for layout in ("transposed", "step of 3", "odd offset", "reversed", "stride 0", "argument 0", "argument 1"):
        assert layout in words
    for case in cases:
        found = [leaf.tensor for leaf in tensors(Call(case.reference, case.args, dict(case.kwargs)))]
        assert any(not t.is_contiguous() or t.storage_offset() for t in found)
        assert ("stride 0" in case.title) == any(0 in t.stride() for t in found if t.numel() > 1)


def test_layout_notices_who_ignores_strides() -> None:
    def wrong(x: torch.Tensor, *rest: Any, **kwargs: Any) -> torch.Tensor:
        return torch.exp(x.as_strided(x.shape, torch.empty(x.shape).stride(), 0))

    assert len(noticed(family("exp", "layout"), wrong)) == len(family("exp", "layout"))


def test_expanded_indices_are_never_made_equal() -> None:
    for name in ("gather", "scatter", "index_put", "index_copy"):
        for dtype in ("float32", "int64"):
            for case in family(name, "layout", dtype):
                if "stride 0" in case.title:
                    assert name == "gather"
                    assert "argument 2" not in case.title


def test_empty_and_0d() -> None:
    found = [tuple(case.args[0].shape) for case in family("add", "empty")]
    assert () in found
    assert any(0 in shape for shape in found)
    assert family("_chunk_cat", "empty") == []


def test_values_are_extreme_where_that_is_defined() -> None:
    kinds = {case.title.removeprefix("values: ") for case in family("maximum", "values")}
    assert {"NaN among ordinary values", "infinities among ordinary values", "subnormal numbers"} <= kinds
    assert {"all equal", "ascending", "few different values", "zeros of both signs"} <= kinds
    assert noticed(family("maximum", "values"), torch.fmax)  # takes the number where one is NaN
    assert noticed(family("sign", "values"), lambda x: torch.where(x.abs() < 1e-37, 0, torch.sign(x)))
    for case in (*family("int", "values"), *family("nn.functional.conv2d", "values")):
        assert not any(leaf.tensor.isnan().any() for leaf in tensors(Call(case.reference, case.args, {})))


def test_smallest_integers_meet_no_minus_one() -> None:
    extreme = [case for case in family("floor_divide", "values", "int64") if "integers" in case.title]
    assert extreme
    for case in extreme:
        assert not ((case.args[0] == torch.iinfo(torch.int64).min) & (case.args[1] == -1)).any()


def test_integers_wrap_as_pytorch_lets_them() -> None:
    extreme = [case for case in family("add", "values", "int32") if "integers" in case.title]
    assert noticed(extreme, lambda x, y, alpha=1: (x.double() + alpha * y.double()).clamp(-(2**31), 2**31 - 1).int())


def test_promotion_asks_for_both_operands_dtypes() -> None:
    cases = family("mul", "promotion", "int32")
    assert any(isinstance(case.args[1], float) for case in cases)
    assert any(isinstance(case.args[1], bool) for case in cases)
    assert any(isinstance(case.args[1], torch.Tensor) and case.args[1].dim() == 0 for case in cases)
    assert {case.args[1].dtype for case in cases if isinstance(case.args[1], torch.Tensor)} >= {torch.float32}
    missed = set(noticed(cases, lambda x, y: (x * y).to(torch.int32)))
    assert "promotion: int32 and float32" in missed
    assert "promotion: a Python float as second operand" in missed


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_out_in_all_ways_and_in_place() -> None:
    cases = family("add", "out")
    assert all(case.requires == "out" for case in cases)
    assert [bool(case.raises) for case in cases] == [False, False, False, False, True, False, False]
    for case in (*cases[:4], *cases[5:]):
        out = case.kwargs["out"]
        result = case.reference(*case.args, **{**case.kwargs, "out": out.clone()})
        assert result.isnan().sum() == 0
    assert [case.kwargs["out"].dtype for case in cases[5:]] == [torch.float16, torch.float64]
    assert any(case.kwargs["out"].shape != run(Call(torch.add, case.args, {})).shape for case in cases)
    assert {case.requires for case in family("nn.functional.relu", "out")} == {"inplace"}
    assert family("linalg.svd", "out") == []  # what is written is unique up to signs only


def test_out_of_another_dtype_is_the_operators_own_rule() -> None:
    casts, refuses = family("add", "out"), family("index_select", "out")
    assert [case.raises for case in casts if "can be cast" in case.title] == [""]
    assert ["same scalar type" in case.raises for case in refuses if "can be cast" in case.title] == [True]


def _into(out: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return out.resize_(value.shape).copy_(value)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_out_of_float64_is_asked_of_what_computes_in_other_dtypes() -> None:
    def unwrapped(x: torch.Tensor, y: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        return _into(out, x.long() * y.long() + (1 << 40) * (out.dtype is torch.float64))

    def flushed(x: torch.Tensor, y: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        value = torch.maximum(x, y)
        return _into(out, value.bfloat16().to(value.dtype) if out.dtype is torch.float64 else value)

    only = ["out: out= of float64"]
    accepted = [case for case in family("mul", "out", "int32") if not case.raises]
    assert noticed(accepted, unwrapped) == only
    accepted = [case for case in family("maximum", "out") if not case.raises]
    assert noticed(accepted, flushed) == only
    assert noticed(accepted, torch.maximum) == []
    assert ["Float but found Double" in case.raises for case in family("linalg.solve_triangular", "out")][-1]
    # What no exact reference bounds is as exact as the dtype that it is computed in.
    stored = [case for case in family("linalg.pinv", "out") if case.title in only]
    assert [(case.rtol, case.atol) for case in stored] == [(1.3e-6, 1e-5)]


def test_calls_name_documented_parameters() -> None:
    cases = family("softmax", "calls")
    assert any(case.args == () and list(case.kwargs)[-1] == "input" for case in cases)
    assert any(case.requires == "dtype" and case.kwargs["dtype"] is None for case in cases)
    assert noticed(cases, lambda x, dim, dtype=None: torch.softmax(x, dim, dtype=dtype))  # not called "input"
    assert family("permute_copy", "calls")


def test_errors_are_those_that_a_wrapper_can_know() -> None:
    cases = family("gather", "errors")
    assert cases
    assert not any("out of bounds" in case.raises for case in cases)  # would need the values of the indices
    assert all(case.raises and case.raises.split(":")[0].endswith("Error") for case in cases)
    titles = [case.title for dtype in ("float32", "float16") for case in family("narrow", "errors", dtype)]
    assert len(set(titles)) == len(titles)  # asked for under one dtype


def test_sizes_reach_past_blocks() -> None:
    for name in ("exp", "add", "sum", "sort", "where"):
        sizes = [case.args[0].numel() for case in family(name, "sizes")]
        assert max(sizes) > 1 << 20, name
        assert any(size % 2 for size in sizes)
        assert {n for case in family(name, "sizes") for n in case.args[0].shape} & {127, 129, 1023, 1025, 4095, 4097}

    def forgets_the_tail(x: torch.Tensor) -> torch.Tensor:
        result = torch.exp(x).reshape(-1)
        result[result.numel() // 1024 * 1024 :] = 0
        return result.reshape(x.shape)

    assert len(noticed(family("exp", "sizes"), forgets_the_tail)) >= 6


def test_odd_rows_of_several_blocks() -> None:
    def reads_rows_as_blocks(x: torch.Tensor) -> torch.Tensor:
        result = torch.exp(x)
        result[..., 1024:] = 0
        return result

    for name in ("exp", "add", "sum", "index_select", "nn.functional.layer_norm"):
        rows = [case for case in family(name, "sizes") if "odd rows" in case.title]
        assert len(rows) == 1
        shape = rows[0].args[0].shape
        assert shape[-1] > 1024
        assert shape[-1] % 2
    assert any("odd rows" in title for title in noticed(family("exp", "sizes"), reads_rows_as_blocks))


def test_long_sums_are_exact_in_any_order_and_show_one_missing_term() -> None:
    long = [case for case in family("sum", "sizes") if case.args[0].numel() > 1 << 20]
    assert long
    assert not noticed(long, lambda x, dim=None, keepdim=False: x.flip(0).cumsum(0)[-1])
    assert noticed(long, lambda x, dim=None, keepdim=False: x[:-1].sum())


def subject(dtype: str = "float32", seed: int = 0) -> Subject:
    source = OpInfoSource()
    return Subject(source.operator("exp"), source.facts["exp"], dtype, seed)


def test_shapes_in_use_are_stored_and_others_follow_from_the_seed_alone() -> None:
    assert all(str(seed) in _drawn._stored()["drawn"]["exp"]["float32"] for seed in (0, 1))
    for seed in (0, 1, 12345):
        first = _drawn.draws(subject(seed=seed), "unary", "0", 10)
        assert first == _drawn.draws(subject(seed=seed), "unary", "0", 10)
        assert len(set(first)) == 10
        assert first != _drawn.draws(subject(seed=seed + 1), "unary", "0", 10)
    assert len({case.args[0].shape for case in family("exp", "random")}) >= 4
    assert sorted(_drawn.draws(subject(seed=9), "lengths 24", "resized 0", 1)[0]) == list(range(1, 25))
    assert len(_drawn.draws(subject(seed=9), "numbers", "numbers", 50)) == 41


@pytest.mark.long
def test_the_audit_runs_without_hypothesis() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from bringup.suites import get_suite\n"
        "found = get_suite('audit').materialise('sum', 'float32')\n"
        "assert sum(case.notes['family'] == 'random' for case in found) == 5"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_accuracy_draws_the_whole_range_and_far_off_data() -> None:
    for name, dtype in (("tanh", "float32"), ("tanh", "bfloat16"), ("hypot", "float16"), ("matmul", "float16")):
        assert family(name, "accuracy", dtype), (name, dtype)
    [ranged] = [case for case in family("mul", "accuracy") if case.title == "accuracy: the whole range"]
    exponents = torch.frexp(ranged.args[0]).exponent
    assert (exponents.min(), exponents.max()) == (-125, 127) or exponents.max() - exponents.min() > 240
    assert bool((ranged.args[0] < 0).any())
    assert family("add", "accuracy", "int32") == []


def test_small_arguments_show_cancellation() -> None:
    small = [case for case in family("expm1", "accuracy") if "small" in case.title]
    assert len(small) == 1
    assert not noticed(small, torch.expm1)
    assert noticed(small, lambda x: torch.exp(x) - 1)


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        ("softmax(input, dim, *, dtype=None) -> Tensor", [["input", "dim", "dtype"]]),
        ("max(input) -> Tensor; max(input, dim) -> (Tensor, LongTensor)", [["input"], ["input", "dim"]]),
        ("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", [["tensors", "dim", "num_chunks"]]),
        ("f(x: dict[str, int] = {}, y: Tuple[int, int] = (1, 2), *rest)", [["x", "y"]]),
    ],
)  # fmt: skip
def test_signatures_are_read(signature: str, names: list[list[str]]) -> None:
    assert [[p.name for p in way] for way in alternatives(signature)] == names


def test_defaults_are_read() -> None:
    [way] = alternatives("f(input, dim=-1, *, layout=torch.strided, kind='mean', out: Tensor | None = None)")
    assert way[1] == Parameter("dim", False, "-1")
    assert [value_of(p.default) for p in way if p.default] == [
        (True, -1), (True, torch.strided), (True, "mean"), (True, None),
    ]  # fmt: skip
    assert way[3].keyword_only
    assert value_of("sys.maxsize") == (False, None)
    assert has_rest("expand(input, *size) -> Tensor")
    assert not has_rest("add(input, other, *, alpha=1)")


def test_factories_are_asked_for_other_numbers() -> None:
    for name in ("zeros", "arange", "signal.windows.hann"):
        cases = (*family(name, "sizes"), *family(name, "random"))
        assert cases, name
        assert all(case.notes["device_places"] == ("device",) for case in cases)
    results = [run(Call(case.reference, case.args, dict(case.kwargs))) for case in family("zeros", "sizes")]
    assert max(result.numel() for result in results) > 1 << 20
    assert family("empty", "sizes") == []  # nothing to compare


def test_left_out_arguments_show_another_default() -> None:
    cases = [c for c in family("topk", "calls") if "left to its default" in c.title]
    assert cases
    assert noticed(cases, lambda input, k, dim=0, largest=True, sorted=True: torch.topk(input, k, dim, largest, sorted))
    assert not noticed(cases, torch.topk)


def test_spoilt_arguments_are_refused() -> None:
    cases = [c for c in family("cumsum", "errors") if "too" in c.title]
    assert {c.title.split(": ")[1] for c in cases} == {"argument 1 too high", "argument 1 too low"}
    for case in cases:
        with pytest.raises(IndexError):
            case.reference(*case.args, **case.kwargs)


def test_larger_matrices_are_solved_exactly_enough() -> None:
    cases = family("linalg.solve", "matrices")
    assert {t.shape[-1] for c in cases for t in c.args[:1]} >= {70, 129}
    first_tile = noticed(cases, lambda a, b, **rest: torch.linalg.solve(a.tril(diagonal=63), b, **rest))
    assert len(first_tile) >= 2
    assert not family("add", "matrices")


def test_structured_arguments_are_repeated() -> None:
    cases = [c for c in family("masked_scatter", "sizes") if "repeated" in c.title]
    assert max(c.args[0].numel() for c in cases) > 5000

    def one_program(input: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        flat = mask.expand_as(input).clone()
        flat.view(-1)[4096:] = False
        return torch.masked_scatter(input, flat, source)

    assert noticed(cases, one_program)


def test_long_axes_have_their_extremes_last() -> None:
    cases = [c for c in family("amax", "sizes") if c.args[0].dim() == 1]
    assert cases
    assert noticed(cases, lambda input, **rest: torch.amax(input[:-1], **rest))


def test_out_without_ties_where_indices_are_returned() -> None:
    cases = [c for c in family("topk", "out") if not c.raises]
    assert len(cases) == 4
    for case in cases:
        values = case.args[0]
        assert values.unique().numel() == values.numel()


def test_what_pytorch_itself_rounds_away_is_not_asked_for() -> None:
    """In half precision its binary cross entropy is up to 11 % off: the exact result, rounded, is right too."""
    for dtype in ("bfloat16", "float16"):
        for case in family("nn.functional.binary_cross_entropy", "layout", dtype):
            args, kwargs = copy_arguments(case.args, dict(case.kwargs), widen=True)
            exact = case.reference(*args, **kwargs)
            assert wrong_result(case, exact.to(getattr(torch, dtype))) is None
            assert wrong_result(case, case.reference(*case.args, **case.kwargs)) is None
            assert wrong_result(case, torch.zeros_like(exact).to(getattr(torch, dtype))) is not None
    assert len(family("nn.functional.binary_cross_entropy", "layout")) == FAMILIES["layout"]


def test_memory_that_is_shared_is_not_written_to() -> None:
    titles = [case.title for case in family("nn.functional.embedding", "layout", "float16")]
    assert titles
    assert not any("expanded" in title for title in titles)
