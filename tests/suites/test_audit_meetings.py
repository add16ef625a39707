"""The audit's families about what meets in one call: dtypes, memory, `out=`, formats, equations, masks, rare shapes."""

from __future__ import annotations

import math
from typing import Any

import torch
from families_testkit import call_of, family, noticed

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._draws import cases_of_family
from bringup.suites.audit._tree import tensors
from bringup.suites.audit._vet import run
from bringup.suites.audit.offsets import behind


def test_each_operand_in_turn_has_a_half_precision_beside_float32() -> None:
    dtypes = {tuple(leaf.tensor.dtype for leaf in tensors(call_of(case))) for case in family("special.zeta", "pairs")}
    assert {(torch.float16, torch.float32), (torch.float32, torch.float16)} <= dtypes

    def wrong(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return torch.special.zeta(input.view(torch.int16) if input.dtype is torch.float16 else input, other)

    titles = noticed(family("special.zeta", "pairs"), wrong)
    assert titles == ["pairs: argument 0 in float16 beside float32"]


def test_a_bound_of_64_bits_is_cast_to_the_datas_32() -> None:
    def wrong(input: torch.Tensor, max: torch.Tensor) -> torch.Tensor:
        return torch.clamp_max(input.long(), max).to(torch.int32)

    assert noticed(family("clamp_max", "pairs", "int32"), wrong)


def test_networks_and_matrices_have_no_pairs() -> None:
    assert family("nn.functional.conv1d", "pairs") == []
    assert family("mm", "pairs") == []


def test_offsets_come_with_another_order_of_dimensions() -> None:
    for name in ("rsqrt", "nn.functional.channel_shuffle"):
        found = [case.args[0] for case in family(name, "offsets")]
        assert any(t.storage_offset() and not t.is_contiguous() for t in found)
        assert any(t.storage_offset() and t.is_contiguous(memory_format=torch.channels_last) for t in found)

    def wrong(input: torch.Tensor) -> torch.Tensor:
        if not input.is_contiguous() and input.storage_offset():
            input = input.as_strided(input.shape, input.stride(), 0)
        return torch.rsqrt(input)

    assert len(noticed(family("rsqrt", "offsets"), wrong)) == 3


def test_samples_with_gaps_lose_them_behind_an_offset() -> None:
    for shape, step in (((5, 5, 5), 2), ((7,), 3), ((2, 3, 4, 5), 2)):
        x = torch.arange(float(math.prod(shape) * step)).reshape(*shape[:-1], -1)[..., ::step]
        for way in (x, x.transpose(0, -1)):
            moved = behind(way)
            assert torch.equal(moved, way)
            assert moved.storage_offset() == 7
            assert moved.untyped_storage().nbytes() == 4 * (way.numel() + 12)
    assert family("ravel", "offsets")  # whose samples of three dimensions have gaps


def test_factories_are_asked_to_write() -> None:
    def wrong(n: int, m: int | None = None, *, out: torch.Tensor | None = None, **kwargs: Any) -> torch.Tensor:
        return torch.eye(n, m, **kwargs) if out is None else out

    cases = family("eye", "written")
    assert len([case for case in cases if "out" in case.kwargs]) == len(cases) > 2
    assert noticed(cases, wrong)


def test_out_may_have_stride_0_along_one_element() -> None:
    def wrong(input: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
        if out is not None and 0 in out.stride():
            raise RuntimeError("several elements share memory")
        return torch.exp(input, out=out)

    assert noticed(family("exp", "written"), wrong) == ["written: out= with stride 0 along an axis of one element"]


def test_joins_are_not_written_where_pytorch_divides_by_a_stride_of_0() -> None:
    titles = [case.title for case in family("stack", "written", "float16")]
    assert titles  # and the process is alive
    assert not [title for title in titles if "stride 0" in title]


def test_what_a_half_precision_cannot_hold_is_infinite_in_a_wider_out() -> None:
    def wrong(input: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        return out.copy_(torch.special.entr(input.float()))

    titles = noticed(family("special.entr", "written", "float16"), wrong)
    assert "written: out= of float32, the largest numbers of float16" in titles


def test_results_in_a_wider_out_are_held_to_the_exact_ones_not_to_pytorchs_roundings() -> None:
    def right(*args: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return out.copy_(torch.special.ndtr(args[0].float()).to(args[0].dtype))

    cases = [case for case in family("special.ndtr", "written", "bfloat16") if "largest" in case.title]
    assert len(cases) == 2
    assert not noticed(cases, right)  # PyTorch's own flushes results, by steps in bfloat16


def test_nothing_is_written_where_pytorch_overflows_on_the_way() -> None:
    for case in family("remainder", "written", "bfloat16"):
        if "largest" in case.title:  # its own remainders of large numbers are NaN, though `out=` held NaN before
            plain = torch.remainder(*(tensor.double() for tensor in case.args))
            assert torch.equal(run(call_of(case)).isnan(), plain.isnan())
    assert not [case for case in family("std", "written", "bfloat16") if "largest" in case.title]


def test_a_wider_out_is_not_asked_for_where_pytorch_takes_it_for_some_samples_only() -> None:
    for dtype in ("bfloat16", "float16"):
        assert not [case for case in family("lerp", "written", dtype) if "largest" in case.title]


def test_what_is_summed_in_the_dtype_of_out_is_right_in_any_order_of_summing() -> None:
    def other_order(input: torch.Tensor, dim: int, *, out: torch.Tensor) -> torch.Tensor:
        rows = input.movedim(dim, 0).float()
        sums = [torch.stack([*rows[:1], *rows[1 : n + 1].flip(0)]).sum(0) for n in range(len(rows))]
        return out.copy_(torch.stack(sums).movedim(0, dim))

    def without_the_last(input: torch.Tensor, dim: int, *, out: torch.Tensor) -> torch.Tensor:
        input = input.clone()
        input.select(dim, -1).zero_()
        return torch.cumsum(input, dim, out=out)

    cases = [case for case in cases_of_family("cumsum", "float16", 1, "written") if "of float32" in case.title]
    assert noticed(cases, other_order) == []
    assert noticed(cases, without_the_last) == [case.title for case in cases] != []


def test_dtype_float64_is_asked_for_also_of_one_element() -> None:
    cases = {case.title: case for case in family("signal.windows.blackman", "doubles")}
    assert set(cases) == {"doubles: dtype=float64", "doubles: dtype=float64, a length of 1"}
    assert all(run(call_of(case)).dtype is torch.float64 for case in cases.values())


def test_what_is_stored_as_float64_is_right_where_it_was_computed_in_float32() -> None:
    # PyTorch rounds to the half precision first: it would fail a bound of float32.
    assert family("masked.logaddexp", "doubles", "bfloat16") == []
    assert family("masked.logaddexp", "doubles")
    # It sums in the dtype of `out=`, and in float64 up to numbers that no float32 holds.
    cases = [case for case in family("cumsum", "written", "bfloat16") if "float64" in case.title]
    assert all(bool((run(call_of(case)).abs() <= torch.finfo(torch.float32).max).all()) for case in cases)


def test_view_has_a_dtype_alone() -> None:
    cases = family("view", "doubles")
    assert cases
    assert all(set(case.kwargs) == {"dtype"} and len(case.args) == 1 for case in cases)
    assert not [case for case in family("sum", "doubles") if "a tensor and" in case.title]


def test_memory_formats_are_asked_for_and_refused() -> None:
    def wrong(input: torch.Tensor, *sizes: Any, memory_format: Any = torch.contiguous_format) -> torch.Tensor:
        return input.resize_(*sizes)

    titles = noticed(family("resize_", "formats"), wrong)
    assert "formats: channels_last_3d, 5 dimensions" in titles
    assert "formats: channels_last_3d, 4 dimensions, refused" in titles
    shown = [case for case in family("resize_as_", "formats") if case.title.endswith("channels_last, 4 dimensions")]
    assert [run(call_of(case)).is_contiguous() for case in shown] == [False]


def test_integers_are_asked_for_where_pytorch_takes_them_and_no_sample_has_any() -> None:
    cases = family("nn.functional.l1_loss", "unlisted")
    assert {case.args[0].dtype for case in cases} == {torch.int64, torch.int32}
    assert family("nn.functional.conv1d", "unlisted") == []  # its samples have some integers


def test_beside_integers_stand_whole_numbers() -> None:
    # A loss of integers cuts a fraction of its margin off, which no formula says.
    cases = family("nn.functional.hinge_embedding_loss", "unlisted")
    assert cases
    assert all(float(case.kwargs["margin"]).is_integer() for case in cases if "margin" in case.kwargs)


def test_equations_are_of_every_kind() -> None:
    cases = family("einsum", "equations")
    assert len(cases) == 8
    rows = next(case for case in cases if "row by row" in case.title)
    assert rows.args[0] in ("ab,ab->a", "ab,ab->b", "abc,abc->ab", "abc,abc->b")


def test_a_mask_stands_in_a_list_of_indices() -> None:
    cases = family("index_put", "masks")
    assert {int(case.args[1][0].sum()) == 1 for case in cases} == {True, False}
    for case in cases:
        assert case.args[1][0].dtype is torch.bool
        assert not case.args[1][0].all()


def test_rare_shapes_meet_rare_numbers() -> None:
    def wrong(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
        if not tensor.numel() and not num_classes:
            return tensor.new_empty((*tensor.shape, 0))
        return torch.nn.functional.one_hot(tensor, num_classes)

    titles = noticed(family("nn.functional.one_hot", "rare", "int64"), wrong)
    words = ("every number zero, refused", "argument num_classes zero: 0")
    assert titles == [f"rare: no elements, {one}" for one in words]
    pools = {case.title: case for case in family("nn.functional.adaptive_avg_pool3d", "rare")}
    case = pools["rare: a dimension fewer, every number for a list one"]
    assert case.args[0].dim() == 3
    assert not case.raises


def test_a_number_for_a_list_is_asked_for_where_a_kernel_decides() -> None:
    assert not [case for case in family("tile", "rare") if "for a list" in case.title]  # PyTorch's parser refuses it
    assert not [case for name in ("tile", "view_copy") for case in family(name, "rare") if "TypeError" in case.raises]
    shown = [case.title for case in family("nn.functional.max_pool2d", "rare") if "for a list" in case.title]
    assert any(title.endswith("refused") for title in shown)


def test_pivots_of_two_rows_are_needed() -> None:
    for case in family("linalg.ldl_factor", "indefinite"):
        pivots = run(Call(torch.linalg.ldl_factor, case.args, dict(case.kwargs)))[1]
        assert bool((pivots < 0).any())
        assert torch.equal(case.args[0], case.args[0].mT)


def test_powers_come_to_the_ends_of_the_range() -> None:
    tiny = next(case for case in family("linalg.vander", "magnitudes") if "tiny" in case.title)
    values = run(call_of(tiny)).abs()
    assert bool(((values > 0) & (values < 2.0**-64)).any())
