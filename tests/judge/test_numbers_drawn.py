"""Numbers among the arguments: which are found, what they become, which of them are sizes, what lies at a threshold."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bringup.judge._named import Named, named
from bringup.judge._size_class import made, same_class, takes_more
from bringup.judge._thresholds import operands
from bringup.judge.guards.numbers import (
    NAMED,
    NAMED_WHOLE,
    WHOLE,
    _defaults,
    _dtype,
    _exchanged,
    _found,
    _is_whole,
    _numbers,
    _other,
    _others,
    _places,
    _takes_whole,
    parameters_of,
)

NONE = Named((), ())
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
)


@given(TREES)
def test_finite_floats_are_exchanged_in_order_and_nothing_else(tree: object) -> None:
    found = _numbers(tree)
    assert all(type(number) is float and math.isfinite(number) for number in found)
    new = [float(n) for n in range(len(found))]
    changed = _exchanged(tree, iter(new))
    assert _numbers(changed) == new
    assert repr(_exchanged(changed, iter(found))) == repr(tree)


@given(st.floats(-1e6, 1e6), st.integers(0, 1000))
def test_a_number_stays_near_and_keeps_its_sign(number: float, seed: int) -> None:
    other = _other(number, random.Random(seed))
    if abs(number) > 1e-300:
        assert 0.5 <= other / number <= 2
    elif not number:
        assert 0.125 <= other <= 1


@given(TREES)
def test_whole_numbers_are_exchanged_as_well_and_truth_values_are_none(tree: object) -> None:
    found = _found(tree, _is_whole)
    changed = _exchanged(tree, iter([n + 1 for n in found]), _is_whole)
    assert _found(changed, _is_whole) == [n + 1 for n in found]
    assert repr(_exchanged(changed, iter(found), _is_whole)) == repr(tree)


@given(st.floats(-1e6, 1e6), st.integers(0, 1000))
def test_a_number_comes_to_lie_on_the_other_side_of_one(number: float, seed: int) -> None:
    for other in _others("the other side of 1", number, torch.float32, NONE, random.Random(seed)):
        assert (abs(other) > 1) == (abs(number) < 1)
        assert math.copysign(1, other) == math.copysign(1, number)


def test_special_numbers_and_extremes_are_those_of_the_dtype() -> None:
    chance = random.Random(5)
    told = [list(_others(what, 2.5, torch.float16, NONE, chance)) for what in ("-0.0", "NaN", "infinity", "-infinity")]
    assert [str(one) for [one] in told] == ["-0.0", "nan", "inf", "-inf"]
    assert set(_others("extreme", 1.0, torch.float16, NONE, chance)) == {65504.0, -65504.0, 2.0**-14}
    assert not list(_others("extreme", 1.0, torch.int32, NONE, chance))
    far, extreme = (list(_others(what, 1, torch.int64, NONE, chance)) for what in WHOLE[:2])
    assert sorted(abs(n) >> 16 for n in far) == [1, 1]
    assert sorted(extreme)[0] == -(1 << 63)
    assert sorted(extreme)[2] == (1 << 63) - 1
    assert len(list(_others(WHOLE[1], 1, torch.int32, NONE, chance))) == 2


def test_numbers_of_the_source_are_drawn_those_first_that_it_compares() -> None:
    names = named("if beta * x > 20: y = x * 0.5 + 3")
    for seed in range(20):
        first, *rest = _others(NAMED[0], 1.5, torch.float16, names, random.Random(seed))
        assert 18.9 <= abs(first) <= 21.1
        assert len(rest) == 2
        whole, *_ = _others(NAMED_WHOLE, 1, torch.int64, names, random.Random(seed))
        assert abs(whole) in (19, 20, 21)
    assert not list(_others(NAMED[1], 1.5, torch.float32, NONE, random.Random(0)))


def test_defaults_are_numbers_of_the_call_where_the_wrapper_has_the_parameter() -> None:
    signature = "f(input, slope=0.01, k: int = 1, eps: float=1e-05, mode='a', dim=None, other=2., flag=False) -> Tensor"
    rerun: Any = SimpleNamespace(
        operator=SimpleNamespace(signature=signature),
        parameters=frozenset({"input", "slope", "k", "eps", "mode", "dim"}),
    )
    assert _defaults(rerun) == {"slope": 0.01, "k": 1, "eps": 1e-05}
    case: Any = SimpleNamespace(args=(None, 0.5), kwargs={"eps": 1e-3})
    found = _places(rerun, case, lambda value: type(value) is float)
    assert [number for number, _ in found] == [0.5, 1e-3, 0.01]
    assert [put(7.0) for _, put in found] == [
        ((None, 7.0), {"eps": 1e-3}),
        ((None, 0.5), {"eps": 7.0}),
        ((None, 0.5), {"eps": 1e-3, "slope": 7.0}),
    ]


@pytest.mark.parametrize(
    ("function", "few", "many", "same"),
    [
        (torch.roll, (3,), (70000,), True),
        (torch.tril, (1,), (70000,), True),
        (torch.unfold_copy, (0, 2, 3), (0, 2, 70000), False),
        (torch.nn.functional.interpolate, (None, 2.0), (None, 1e6), False),
        (lambda x, n: x + torch.arange(n).sum(), (3,), (70000,), False),
        (torch.sum, (1,), (70000,), False),
        (torch.tensor_split, (2,), (4096,), False),
    ],
    ids=["shift", "diagonal", "steps", "scale", "work", "refused", "results"],
)
def test_a_number_is_a_size_where_results_or_work_grow_with_it(
    function: Any, few: tuple[Any, ...], many: tuple[Any, ...], same: bool
) -> None:
    x = torch.ones(1, 4, 5)
    assert same_class(made(function, (x, *few), {}), made(function, (x, *many), {})) is same


@pytest.mark.parametrize("size", [(), (4, 5)])
def test_work_within_an_operator_is_seen_with_a_moderate_number(size: tuple[int, ...]) -> None:
    """2^31 of `mvlgamma`'s terms are gigabytes, of which nothing is seen from without."""
    x = torch.full(size, 9.0)
    assert takes_more(torch.mvlgamma, ((x, 3), {}), ((x, 1 << 12), {}))
    assert not takes_more(torch.roll, ((x, 3), {}), ((x, 1 << 12), {}))
    assert not takes_more(torch.sum, ((x, 0), {}), ((x, 1 << 12), {}))
    before = x.clone()
    assert not takes_more(torch.add, ((x, 1), {"out": x}), ((x, 2), {"out": x}))
    assert torch.equal(x, before), "the arguments are the case's own, for verdicts to come"


def test_no_memory_is_needed_to_see_that_a_number_is_a_size() -> None:
    result = made(torch.nn.functional.conv2d, (torch.ones(1, 1, 4, 4), torch.ones(1, 1, 3, 3)), {"padding": 1 << 20})
    assert result is not None
    assert result[1] > 1 << 40


@given(st.floats(1e-9, 8.0), st.booleans(), st.integers(0, 1000))
def test_operands_lie_on_either_side_of_a_threshold(number: float, relative: bool, seed: int) -> None:
    tensor = torch.randn((3, 4), generator=torch.Generator().manual_seed(seed))
    tensor[0, 0] = float("nan")
    first, within, beyond = operands(tensor, number, random.Random(seed), relative=relative)
    assert {t.dtype for t in (first, within, beyond)} == {torch.float32}
    tolerance = {"rtol": number, "atol": 0.0} if relative else {"rtol": 0.0, "atol": number}
    if not relative or number > 1e-5:  # else the dtype's own steps are wider
        assert torch.allclose(within, first, **tolerance)
        assert not torch.allclose(beyond, first, **tolerance)


def test_parameters_of_python_and_of_schemas() -> None:
    assert parameters_of("f(input, dims: list[int, ...] = (0, 1), *, mode: str = 'a', out=None) -> Tensor") == [
        "input", "dims", "mode", "out",
    ]  # fmt: skip
    schema = "f.out(Tensor self, int[2] size=[1, 1], bool? flag=None, *, Tensor(a!) out) -> (Tensor, Tensor)"
    assert parameters_of(schema) == ["self", "size", "flag", "out"]


def test_numbers_that_name_a_way_stay() -> None:
    """PyTorch takes any whole number for `padding_mode`, and does something with it."""
    signature = "g(Tensor input, Tensor grid, int interpolation_mode, int padding_mode=1, int shift=2) -> Tensor"
    rerun: Any = SimpleNamespace(
        operator=SimpleNamespace(signature=signature), parameters={"padding_mode", "shift", "interpolation_mode"}
    )
    case: Any = SimpleNamespace(args=(None, None, 0), kwargs={})
    found = _places(rerun, case, _is_whole)
    assert [number for number, _ in found] == [2]
    assert found[0][1](7) == ((None, None, 0), {"shift": 7})


@pytest.mark.parametrize(("dtype", "takes"), [(torch.uint8, False), (torch.int16, False), (torch.int32, True),
                                              (torch.float16, True), (torch.bool, True)])  # fmt: skip
def test_far_whole_numbers_are_for_dtypes_that_hold_them(dtype: torch.dtype, takes: bool) -> None:
    case: Any = SimpleNamespace(tensors=[("input", torch.zeros(3, dtype=dtype))])
    assert _takes_whole(case) is takes


@pytest.mark.parametrize(
    ("of_case", "tensors", "expected"),
    [
        ("int64", (torch.int32, torch.bool), torch.int32),  # `ge(int32, -2**40)` compares what int32 keeps of it
        ("int64", (torch.int64,), torch.int64),
        ("int32", (torch.int64,), torch.int32),
        ("float32", (torch.float32, torch.int64), torch.float32),
    ],
)
def test_whole_numbers_are_those_of_the_narrowest_integers(
    of_case: str, tensors: tuple[torch.dtype, ...], expected: torch.dtype
) -> None:
    held: Any = [(str(number), torch.zeros((), dtype=dtype)) for number, dtype in enumerate(tensors)]
    case: Any = SimpleNamespace(inputs=SimpleNamespace(case=SimpleNamespace(dtype=of_case)), tensors=held)
    assert _dtype(case) is expected


@pytest.mark.parametrize("moves", [True, False])
def test_scales_that_say_the_sizes_again_stay_where_elements_are_picked_by_them(moves: bool) -> None:
    """PyTorch's kernels of `upsample_nearest2d` disagree on others; interpolation computes with them."""
    signature = "up(Tensor self, SymInt[2] output_size, float? scales_h=None, float factor=1.5) -> Tensor"
    operator = SimpleNamespace(signature=signature, moves=moves)
    rerun: Any = SimpleNamespace(operator=operator, parameters=frozenset())
    case: Any = SimpleNamespace(args=(None, [8, 8], 2.0, 0.5), kwargs={})
    found = _places(rerun, case, lambda value: type(value) is float)
    assert [number for number, _ in found] == ([0.5] if moves else [2.0, 0.5])


def test_a_loop_over_a_number_is_given_up() -> None:
    def loops(x: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = x + 1
        return x

    x = torch.zeros(3)
    assert made(loops, (x, 5), {}) is not None
    assert made(loops, (x, 1 << 40), {}) is None
