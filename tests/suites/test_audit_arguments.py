"""The audit's families about arguments: dimensions, what is missing, other kinds, shapes, numbers, alignment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from families_testkit import call_of, family, noticed

from bringup.suites import CaseInputs
from bringup.suites.audit._pool import Pool
from bringup.suites.audit._spoilt import rank_of, refused
from bringup.suites.audit._tree import Leaf, tensors
from bringup.suites.audit._vet import run
from bringup.suites.opinfo import OpInfoSuite


def test_dimensions_are_named_by_their_first_and_last_numbers() -> None:
    seen = set()
    for case in family("cumsum", "dims"):
        rank, dim = max(case.args[0].dim(), 1), case.args[1]
        assert dim in (-rank, rank - 1)
        seen.add((rank, dim < 0))
    assert {(1, True), (1, False), (3, True), (3, False)} == seen


def test_dimensions_count_the_one_that_stack_adds() -> None:
    for case in family("stack", "dims"):
        rank = case.args[0][0].dim()
        assert case.args[1] in (-rank - 1, rank)


def test_lists_of_dimensions_name_one() -> None:
    cases = [case for case in family("flip", "dims") if "counted from the end" not in case.title]
    assert cases
    for case in cases:
        (dim,) = case.args[1] if len(case.args) > 1 else case.kwargs["dims"]
        assert dim in (-case.args[0].dim(), case.args[0].dim() - 1)


def test_numbers_that_are_no_dimensions_are_left_alone() -> None:
    assert not [case for case in family("tril", "dims") if "1" in case.title.split()[2:3]]
    assert family("topk", "dims")  # its `k` has the range of a length
    assert all("argument 1 " not in case.title or case.args[0].dim() == 0 for case in family("topk", "dims"))
    assert family("exp", "dims") == []


def test_dims_notice_a_bound_that_is_one_off() -> None:
    def wrong(input: torch.Tensor, dim: int, **kwargs: Any) -> torch.Tensor:
        if not -input.dim() < dim < input.dim():
            raise IndexError(dim)
        return torch.cumsum(input, dim, **kwargs)

    assert any("lowest" in title for title in noticed(family("cumsum", "dims"), wrong))


def test_one_argument_is_missing_or_all_are() -> None:
    titles = [case.title for case in family("arange", "omitted")]
    assert "omitted: start missing" in titles
    assert "omitted: all missing that have defaults" in titles
    assert not any("device" in title for title in titles)
    for case in family("eye", "omitted"):
        assert case.args == ()
        assert "device" in case.kwargs  # else the result is not on the target


def test_omitted_notices_another_default() -> None:
    def wrong(x1: torch.Tensor, x2: torch.Tensor, p: float = 4.0, compute_mode: str = "donot_use_mm") -> torch.Tensor:
        return torch.cdist(x1, x2, p, compute_mode)

    assert any("p missing" in title for title in noticed(family("cdist", "omitted"), wrong))


def test_omitted_notices_a_default_that_shows_on_empty_tensors_alone() -> None:
    def wrong(input: torch.Tensor, weights: torch.Tensor | None = None, minlength: int = 1) -> torch.Tensor:
        return torch.bincount(input, weights, minlength)

    titles = noticed(family("bincount", "omitted", "int64"), wrong)
    assert titles == ["omitted: without elements, all missing that have defaults"]
    assert not any("without elements" in case.title for case in family("cdist", "omitted") if case.kwargs["x1"].numel())


def test_mixed_asks_for_numbers_in_place_of_tensors() -> None:
    clamps = {case.title: case for case in family("clamp", "mixed")}
    assert all(type(value) is float for value in clamps["mixed: all tensors but the first as numbers"].args[1:])
    narrow = clamps["mixed: argument 1 in float16"]
    assert narrow.args[1].dtype is torch.float16
    assert run(call_of(narrow)).dtype is torch.float32


@pytest.mark.parametrize("name", ["nn.functional.conv1d", "nn.functional.batch_norm", "baddbmm", "linalg.solve"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_networks_and_matrices_have_one_dtype(name: str, dtype: str) -> None:
    for case in family(name, "mixed", dtype):
        assert len({leaf.tensor.dtype for leaf in tensors(call_of(case))}) == 1


def test_mixed_leaves_operators_of_two_operands_to_promotion() -> None:
    assert family("mul", "mixed") == []
    assert family("mul", "promotion")


def test_indices_keep_their_dtype() -> None:
    for name in ("gather", "scatter_reduce", "take_along_dim"):
        assert not any(
            " in int" in case.title for dtype in ("float32", "int64") for case in family(name, "mixed", dtype)
        )


def test_mismatches_are_refused_for_what_sizes_and_numbers_say() -> None:
    for name in ("cross", "amax", "nn.functional.layer_norm", "gather"):
        cases = family(name, "mismatch")
        assert cases
        for case in cases:
            assert case.raises
            assert refused(call_of(case))


def test_mismatch_has_numbers_for_the_fewest_dimensions() -> None:
    least = min(rank_of(call_of(case)) for case in family("amax", "mismatch") if " with " in case.title)
    assert least <= 1

    def wrong(input: torch.Tensor, dim: Any = (), keepdim: bool = False) -> torch.Tensor:
        if input.dim() < 2 and isinstance(dim, int):
            dim = 0
        return torch.amax(input, dim, keepdim)

    assert noticed(family("amax", "mismatch"), wrong)


def test_mismatch_notices_silent_broadcasting() -> None:
    def wrong(input: torch.Tensor, other: torch.Tensor, dim: int = -1) -> torch.Tensor:
        return torch.linalg.cross(input, other.expand_as(input) if other.dim() == input.dim() else other[None], dim=dim)

    assert noticed(family("cross", "mismatch"), wrong)


def test_errors_that_hang_on_values_are_not_asked_for() -> None:
    for name in ("cholesky", "put", "take"):
        for case in family(name, "mismatch"):
            assert "LinAlgError" not in case.raises
            assert "tried to access" not in case.raises


def test_what_only_the_values_of_indices_or_matrices_tell_is_not_asked_for() -> None:
    for name in ("lu_unpack", "linalg.lu_factor"):
        said = " ".join(case.raises for which in ("errors", "mismatch") for case in family(name, which))
        assert "pivots passed" not in said
        assert "is zero" not in said


def test_misshapen_tensors_are_asked_for_under_one_dtype() -> None:
    assert family("cross", "mismatch", "float32")
    assert family("cross", "mismatch", "int64") == []
    assert family("lu_unpack", "mismatch") == []  # PyTorch writes beside the memory


def shapes_of(case: CaseInputs) -> list[tuple[int, ...]]:
    return [tuple(leaf.tensor.shape) for leaf in tensors(call_of(case))]


def test_shapes_have_other_numbers_of_dimensions() -> None:
    different = [case for case in family("kron", "shapes") if len({len(shape) for shape in shapes_of(case)}) > 1]
    assert different

    def wrong(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        rank = min(input.dim(), other.dim())
        return torch.kron(input.flatten(0, input.dim() - rank), other.flatten(0, other.dim() - rank))

    assert noticed(different, wrong)


def test_shapes_notice_a_default_that_looks_at_lengths() -> None:
    def wrong(input: torch.Tensor, other: torch.Tensor, dim: Any = None) -> torch.Tensor:
        if dim is None:
            dim = max(d for d in range(input.dim()) if input.shape[d] == 3)
            if dim == 0:
                raise RuntimeError("no dimension of size 3")
        return torch.cross(input, other, dim=dim)

    assert noticed(family("cross", "shapes"), wrong)


def test_numbers_are_not_those_of_the_samples() -> None:
    gate = OpInfoSuite(options="alone")
    known = {sample.args[1] for sample in gate.materialise("diag", "float32") if len(sample.args) > 1}
    asked = {case.args[1] for case in family("diag", "numbers")}
    assert asked
    assert not asked & known

    def wrong(input: torch.Tensor, diagonal: int = 0) -> torch.Tensor:
        return torch.diag(input, min(diagonal, 2))

    assert noticed(family("diag", "numbers"), wrong)


def test_flags_are_asked_both_ways() -> None:
    assert {case.kwargs["keepdim"] for case in family("amax", "numbers") if "keepdim" in case.title} == {False, True}


def test_rows_are_whole_but_not_aligned() -> None:
    cases = family("softmax", "alignment")
    assert {"odd offset" in case.title for case in cases} == {False, True}
    for case in cases:
        assert case.args[0].shape[-1] == 64
        assert case.args[0].storage_offset() * case.args[0].element_size() % 32

    def wrong(input: torch.Tensor, dim: int, dtype: Any = None) -> torch.Tensor:
        if input.shape[-1] % 8 == 0:  # taken for aligned
            input = input.as_strided(input.shape, input.stride(), input.storage_offset() // 8 * 8)
        return torch.softmax(input, dim, dtype=dtype)

    assert len(noticed(cases, wrong)) == len(cases)


def test_no_memory_is_asked_for_what_would_be_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weight with one length along all of its five dimensions would have 64^5 elements."""
    made: list[int] = []
    like = Pool.like

    def counted(self: Pool, leaf: Leaf, shape: Sequence[int]) -> torch.Tensor:
        made.append(math.prod(shape))
        assert made[-1] <= 1 << 26, "gigabytes"
        return like(self, leaf, shape)

    monkeypatch.setattr(Pool, "like", counted)
    family.__wrapped__("nn.functional.conv_transpose3d", "alignment")
    assert max(made) > 1 << 10
