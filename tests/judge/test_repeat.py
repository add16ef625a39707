"""Which operators may give other bits in another order of programs: those that PyTorch adds up in any order."""

from __future__ import annotations

import pytest

from bringup.judge.guards.repeat import ATOMIC, ATOMIC_OVERLOADS, may_add_in_any_order
from bringup.suites import get_suite


@pytest.mark.parametrize(
    ("suite", "name", "expected"),
    [
        ("opinfo", "scatter_add", True),
        ("opinfo", "cumsum", False),
        ("aten", "scatter_add.out", True),
        ("aten", "scatter_reduce.two_out", True),
        ("aten", "_index_put_impl_", True),
        ("aten", "histogram.bin_ct", True),
        ("aten", "_histogramdd_from_bin_cts", True),
        ("aten", "_embedding_bag_backward", True),
        ("aten", "grid_sampler_3d_backward", True),
        ("aten", "upsample_bicubic2d_backward.grad_input", True),
        ("aten", "cumsum.out", False),
        ("aten", "embedding_dense_backward", False),
        ("aten", "softplus_backward.grad_input", False),
    ],
)
def test_overloads_are_judged_like_the_operators_whose_work_they_do(suite: str, name: str, expected: bool) -> None:
    assert may_add_in_any_order(get_suite(suite).operator(name)) is expected


def test_each_name_is_one_of_an_operator() -> None:
    public = {operator.name for operator in get_suite("opinfo").operators()}
    assert public >= ATOMIC
    overloads = [operator.name for operator in get_suite("aten").operators()]
    assert sum(ATOMIC_OVERLOADS.fullmatch(name) is not None for name in overloads) > 20
