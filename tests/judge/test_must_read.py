"""Which calls have a result that says something of data by its size, or as a number: told by sizes alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bringup.judge._must_read import must_read

MASK = torch.zeros(3, dtype=torch.bool)


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "wanted"),
    [
        ("equal", (torch.ones(3), torch.zeros(3)), {}, True),
        ("equal", (torch.ones(1).expand(3), torch.ones(1).expand(3)), {}, True),
        ("equal", (torch.ones(3), torch.ones(4)), {}, False),
        ("equal", (torch.ones(0), torch.ones(0)), {}, False),
        ("allclose", (torch.ones(3), torch.ones(1)), {"rtol": 1e9}, True),
        ("nonzero", (torch.zeros(5),), {}, True),
        ("nonzero", (torch.zeros(()),), {}, True),
        ("nonzero", (torch.ones(0, 3),), {}, False),
        ("bincount", (torch.arange(5),), {"minlength": 50}, True),
        ("masked_select", (torch.ones(3), MASK), {}, True),
        ("masked_select.out", (torch.ones(3), MASK), {}, True),
        ("unique", (torch.ones(4),), {}, True),
        ("unique", (torch.ones(1),), {}, False),
        ("repeat_interleave.Tensor", (torch.arange(3),), {}, True),
        ("repeat_interleave.Tensor", (torch.arange(3),), {"output_size": 3}, False),
        ("repeat_interleave", (torch.ones(3), 2), {}, False),
        ("repeat_interleave", (), {"input": torch.ones(3), "repeats": torch.arange(3)}, True),
        ("repeat_interleave", (torch.arange(3),), {}, True),
        ("repeat_interleave", (torch.ones(3), torch.arange(3)), {}, True),
        ("linalg_lstsq.out", (torch.ones(3, 2), torch.ones(3, 1)), {"driver": "gelsd"}, True),
        ("linalg_lstsq.out", (torch.ones(2, 2), torch.ones(2, 1)), {"driver": "gelsd"}, False),
        ("linalg.lstsq", (torch.ones(3, 2), torch.ones(3, 1)), {}, False),
        ("__getitem__", (torch.ones(3), (MASK,)), {}, True),
        ("__getitem__", (torch.ones(3), (torch.tensor([1]),)), {}, False),
        ("__getitem__", (torch.ones(3), (MASK.to(torch.uint8),)), {}, True),
        ("__getitem__", (torch.ones(3, 0), (MASK,)), {}, True),
        ("__getitem__", (torch.ones(0, 3), (MASK[:0],)), {}, False),
        ("repeat_interleave", (torch.ones(3, 0), torch.arange(3), 0), {}, True),
        ("nn.functional.one_hot", (torch.arange(3),), {}, True),
        ("nn.functional.one_hot", (torch.arange(3), 5), {}, False),
        ("add.out", (torch.ones(3), torch.ones(3)), {"out": torch.ones(3)}, False),
    ],
)
def test_sizes_and_truth_values_that_data_decide(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: bool
) -> None:
    assert (must_read(name, args, kwargs) is not None) is wanted


@pytest.mark.parametrize(
    ("name", "args", "by"),
    [
        ("equal", (torch.ones(3), torch.ones(3)), (0, 1)),
        ("masked_select", (torch.ones(3), MASK), (1,)),
        ("repeat_interleave.self_Tensor", (torch.ones(3), torch.arange(3)), (1,)),
        ("bincount", (torch.arange(3), torch.ones(3)), (0,)),
        ("linalg_lstsq", (torch.ones(3, 2), torch.ones(3, 1), None), (0,)),
    ],
)
def test_which_tensors_decide(name: str, args: tuple[Any, ...], by: tuple[int, ...]) -> None:
    named = {"driver": "gelsd"} if "lstsq" in name else {}
    sought = must_read(name, args, named)
    assert sought is not None
    assert [id(one) for one in sought.by] == [id(args[place]) for place in by]


def test_a_tensor_that_is_there_for_a_result_says_nothing() -> None:
    out = {"out": torch.ones(0)}
    assert must_read("masked_select.out", (torch.ones(3), MASK), out, {"out"})
    assert not must_read("masked_select.out", (torch.ones(3), MASK[:0]), out, {"out"})


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "dim"),
    [
        ("nonzero", (torch.ones(3),), {}, 0),
        ("unique", (torch.ones(3, 2),), {"dim": 1}, 1),
        ("unique_dim", (torch.ones(3, 2), 1), {}, 1),
        ("unique_consecutive", (torch.ones(3, 2), False, False, 1), {}, 1),
        ("repeat_interleave", (torch.ones(2, 3), torch.arange(3), 1), {}, 1),
        ("repeat_interleave.Tensor", (torch.arange(3),), {}, 0),
        ("nn.functional.one_hot", (torch.arange(3),), {}, -1),
    ],
)
def test_which_size_it_is(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], dim: int) -> None:
    sought = must_read(name, args, kwargs)
    assert sought is not None
    assert sought[:2] == ("size", dim)
