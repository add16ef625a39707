"""Overloads that draw random numbers: which numbers these are, and that others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from bringup.accuracy import copy_arguments
from bringup.suites import _philox, get_suite
from bringup.suites import _random_defined as defined
from bringup.suites._random_listing import random_overloads
from bringup.suites.aten import AtenSuite

SUITE = AtenSuite()


def refused(name: str, change: Callable[..., Any], dtype: str = "float32") -> set[str]:
    """The statements that do not hold once a right result is changed, over all cases in a dtype."""
    found = set()
    for case in SUITE.materialise(name, dtype):
        args, kwargs = copy_arguments(case.args, dict(case.kwargs))
        assert case.postprocess is not None
        changed = change(case.reference(*args, **kwargs))
        found |= {words for words, holds in case.postprocess(changed).items() if holds is not True}
    return found


def numbers(name: str, seed: int, *args: Any) -> torch.Tensor:
    """What is right, flat."""
    return defined.defined(name, args, seed).right()[0]


@pytest.mark.parametrize("name", sorted(random_overloads()))
@pytest.mark.thinned
def test_the_reference_is_right_and_the_seed_decides(name: str) -> None:
    operator = SUITE.operator(name)
    assert operator.exclusion is None
    assert "seed" in operator.call_shapes[0].keywords
    for dtype in operator.dtypes:
        cases = SUITE.materialise(name, dtype)
        assert len({case.kwargs["seed"] for case in cases}) == len(cases)
        differ = 0
        for case in cases:
            results = []
            for seed in (case.kwargs["seed"], case.kwargs["seed"], case.kwargs["seed"] ^ 1):
                args, kwargs = copy_arguments(case.args, dict(case.kwargs))
                results.append(case.reference(*args, **{**kwargs, "seed": seed}))
            assert case.postprocess is not None
            assert set(case.postprocess(results[0]).values()) == {True}, case.title
            one, same, other = (r[1] if isinstance(r, tuple) else r for r in results)
            assert torch.equal(one, same)
            differ += not torch.equal(one, other)
            assert all(v is True for v in case.postprocess(results[2]).values()) or not torch.equal(one, other)
        assert differ > len(cases) // 2


def test_pytorch_refuses_what_it_refuses_and_its_generators_stay_as_they_are() -> None:
    (case,) = SUITE.materialise("native_dropout", "float32")[:1]
    before = torch.random.get_rng_state()
    case.reference(*case.args, **case.kwargs)
    assert torch.equal(torch.random.get_rng_state(), before)
    (case,) = SUITE.materialise("uniform_", "float32")[:1]
    with pytest.raises(RuntimeError, match="from"):
        case.reference(torch.empty(3), 2.0, 1.0, seed=1)


def test_the_audit_draws_other_calls() -> None:
    gate, audit = (get_suite(name).materialise("normal_", "float32") for name in ("aten", "aten-audit"))
    assert not {case.kwargs["seed"] for case in gate} & {case.kwargs["seed"] for case in audit}


@pytest.mark.parametrize("seed", [0, 7, (5 << 32) + 9, 2**63 - 1])
def test_words_are_philox(seed: int) -> None:
    def philox(counter: int) -> list[int]:
        word = 0xFFFFFFFF
        c, k = [counter, 0, 0, 0], [seed & word, seed >> 32 & word]
        for _ in range(10):
            low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [high >> 32 ^ c[1] ^ k[0], high & word, low >> 32 ^ c[3] ^ k[1], low & word]
            k = [k[0] + 0x9E3779B9 & word, k[1] + 0xBB67AE85 & word]
        return c

    offsets = [0, 1, 1000, 2**32 - 1]
    found = np.array(_philox.words(seed, np.array(offsets))).T
    assert found.tolist() == [philox(offset) for offset in offsets]
    uniform = _philox.uniform(np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 1], np.uint64))
    assert uniform.dtype == np.float32
    assert (uniform >= 0).all()
    assert uniform.max() < 1


@pytest.mark.parametrize("span", [1, 3, 2**32 - 1, 2**32 + 1, 2**63])
def test_scaled_words_are_the_upper_half_of_a_product(span: int) -> None:
    high, low = (np.array(one, np.uint64) for one in ([0, 2**32 - 1, 12345], [1, 2**32 - 1, 678910]))
    wanted = [((int(h) << 32 | int(lo)) * span) >> 64 for h, lo in zip(high, low, strict=True)]
    assert _philox.scaled(high, low, span).tolist() == wanted


def test_what_is_drawn_is_distributed_as_it_is_called() -> None:
    """The definitions themselves, each by its mean and spread: 2**16 numbers, five standard deviations."""
    place, count = torch.empty(1 << 16), 1 << 16
    for name, args, mean, variance, fourth in (
        ("uniform_", (-2.0, 3.0), 0.5, 25 / 12, 1.8),
        ("normal_", (-1.0, 0.5), -1.0, 0.25, 3.0),
        ("exponential_", (0.5,), 2.0, 4.0, 9.0),
        ("bernoulli_.float", (0.3,), 0.3, 0.21, 2.0),
        ("random_.to", (1000,), 499.5, (1000**2 - 1) / 12, 1.8),
        ("random_.from", (-3, 4), 0.0, 4.0, 1.75),
    ):
        drawn = numbers(name, 12345, place, *args).double()
        assert abs(float(drawn.mean()) - mean) < 5 * (variance / count) ** 0.5, name
        assert abs(float((drawn - mean).square().mean()) - variance) < 5 * variance * ((fourth - 1) / count) ** 0.5, (
            name
        )
    counts = torch.stack([numbers("randperm.generator_out", seed, 4) for seed in range(4000)])
    for column in counts.t():
        assert (column.bincount(minlength=4).double() - 1000).abs().max() < 5 * 750**0.5
    weights = torch.tensor([1.0, 2.0, 0.0, 5.0])
    for again in (True, False):
        first = torch.stack([numbers("multinomial", seed, weights, 2, again)[0] for seed in range(4000)])
        wanted = weights.double() / 8 * 4000
        assert ((first.bincount(minlength=4).double() - wanted).abs() <= 5 * wanted.sqrt()).all()


def test_a_number_at_another_place_is_refused() -> None:
    for name, dtype in (
        ("uniform_", "float32"), ("normal_", "bfloat16"), ("exponential_", "float16"), ("bernoulli_.float", "int32"),
        ("random_", "int64"), ("random_.to", "int32"), ("random_.from", "float32"),
    ):  # fmt: skip
        assert refused(name, lambda y: y, dtype) == set()
        assert refused(name, lambda y: y.flip(0) if y.dim() else y, dtype) == {defined.GIVEN}


def test_what_is_outside_of_the_support_is_refused() -> None:
    assert refused("uniform_", lambda y: y + 10) == {defined.GIVEN, defined.SUPPORT}
    assert refused("exponential_", torch.zeros_like) == {defined.GIVEN, defined.SUPPORT}
    assert defined.SUPPORT in refused("random_.to", lambda y: y + 0.5)


def test_one_wrong_number_shows_and_is_named() -> None:
    case = SUITE.materialise("normal_", "float32")[1]
    args, kwargs = copy_arguments(case.args, dict(case.kwargs))
    y = case.reference(*args, **kwargs)
    y[2, 5] += 1e-3 * y.std()
    assert case.postprocess is not None
    said = case.postprocess(y)[defined.GIVEN]
    assert isinstance(said, str)
    assert said.startswith(f"1 of {y.numel()} are not: element [2, 5] is ")
    assert "where its seed gives" in said


def test_wrong_dropout_is_refused() -> None:
    assert refused("native_dropout", lambda both: both) == set()
    assert refused("native_dropout", lambda both: (both[0] * 1.5, both[1])) == {defined.SCALED}
    assert refused("native_dropout", lambda both: (both[0] * 0, both[1] & False)) == {defined.MASK}


def test_wrong_permutations_are_refused() -> None:
    name = "randperm.generator_out"
    assert refused(name, lambda y: y, "int64") == set()
    assert refused(name, lambda y: y.flip(0), "int64") == {defined.ORDER}
    assert refused(name, lambda y: y * 0, "int32") >= {defined.ONCE}


def test_wrong_picks_are_refused() -> None:
    assert refused("multinomial", lambda y: y) == set()
    assert defined.PICKED in refused("multinomial", lambda y: y.flip(0))
    assert defined.SUPPORT in refused("multinomial", lambda y: y + 1000)
    assert defined.DISTINCT in refused("multinomial", torch.zeros_like)


def test_numbers_that_a_dtype_does_not_hold_are_near_to_what_they_are() -> None:
    place = torch.empty(1000, dtype=torch.bfloat16)
    held = defined.defined("random_.to", (place, 1000), 5)
    near = held.right()[0].to(torch.bfloat16).clamp(max=996)
    assert set(held.statements(near).values()) == {True}
    assert held.statements(near + 64)[defined.GIVEN] is not True
