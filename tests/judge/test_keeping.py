"""What a call leaves where it says by an argument what it writes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bringup.judge._keeping import deciding, keeps_in_call
from bringup.suites._aten import KEEPING_ARGUMENTS, keeps

X, S = torch.ones(2, 3), torch.ones(3)
NORM = (X, None, None, S, S)


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "wanted"),
    [
        ("native_batch_norm", (*NORM, True, 0.1, 1e-5), {}, "nothing"),
        ("native_batch_norm", (*NORM, False, 0.1, 1e-5), {}, "arguments"),
        ("native_batch_norm.out", NORM, {"training": True, "momentum": 0.1, "eps": 1e-5, "out": X}, "nothing"),
        ("native_batch_norm", (X[:0], None, None, S, S, True, 0.1, 1e-5), {}, "arguments"),
        ("_batch_norm_with_update", (*NORM, 0.1, 1e-5), {}, "nothing"),
        ("nn.functional.batch_norm", (X, S, S), {}, "arguments"),
        ("nn.functional.batch_norm", (X, S, S), {"training": True}, "nothing"),
        ("nn.functional.instance_norm", (X, S, S), {}, "nothing"),
        ("nn.functional.instance_norm", (X, S, S), {"use_input_stats": False}, "arguments"),
        ("nn.functional.embedding", (X.long(), X), {}, "arguments"),
        ("index_copy", (X, 0, S.long(), X), {}, "elements"),
        ("add", (X, X), {}, "nothing"),
    ],
)
def test_running_statistics_are_written_where_a_call_says_so(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: str
) -> None:
    assert keeps_in_call(keeps(name), name, args, kwargs) == wanted


INDEX, MASK = torch.tensor([0]), torch.tensor([True, False])


@pytest.mark.parametrize(
    ("tensors", "wanted"),
    [
        ((X, INDEX, X), [1]),  # index_copy
        ((X, INDEX), [1]),  # scatter of a number
        ((X, MASK), [1]),  # masked_fill
        ((X, INDEX, INDEX, X), [1, 2]),  # index_put
        ((INDEX, MASK, INDEX), [1]),  # masked_scatter of integers
        ((X,), []),  # tril
        ((X, X), []),  # slice_scatter
    ],
)
def test_which_tensors_say_what_stays(tensors: tuple[torch.Tensor, ...], wanted: list[int]) -> None:
    assert [id(one) for one in deciding(tensors)] == [id(tensors[place]) for place in wanted]


def test_of_each_operator_that_may_leave_an_argument_it_is_known_when() -> None:
    """But for embeddings, which renormalise some rows of an argument, and none without a bound."""
    unknown = {name for name in KEEPING_ARGUMENTS if keeps_in_call("arguments", name, NORM, {"training": True, "use_input_stats": True}) != "nothing"}  # fmt: skip # noqa: E501
    assert unknown == {"nn.functional.embedding", "nn.functional.embedding_bag"}
