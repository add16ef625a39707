"""Overloads that draw random numbers: what is asked of their results, and that wrong generators are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bringup.accuracy import copy_arguments, follows, independent, unrelated
from bringup.suites import _random_holds as hold
from bringup.suites import get_suite
from bringup.suites._random_listing import random_overloads
from bringup.suites.aten import AtenSuite

SUITE = AtenSuite()


def refused(name: str, candidate: Callable[..., Any], dtype: str = "float32") -> set[str]:
    """The statements that do not hold of a candidate's results, over all cases in a dtype."""
    found = set()
    for case in SUITE.materialise(name, dtype):
        args, kwargs = copy_arguments(case.args, dict(case.kwargs))
        assert case.postprocess is not None
        found |= {words for words, holds in case.postprocess(candidate(*args, **kwargs)).items() if not holds}
    return found


def generator(seed: int) -> torch.Generator:
    made = torch.Generator()
    made.manual_seed(seed)
    return made


@pytest.mark.parametrize("name", sorted(random_overloads()))
@pytest.mark.thinned
def test_pytorch_itself_passes_and_the_seed_decides(name: str) -> None:
    operator = SUITE.operator(name)
    assert operator.exclusion is None
    assert "seed" in operator.call_shapes[0].keywords
    assert "generator" not in operator.signature.partition(".generator")[2] or "seed" in operator.signature
    cases = SUITE.materialise(name, "int64" if "float32" not in operator.dtypes else "float32")
    assert len({case.kwargs["seed"] for case in cases}) == len(cases)
    for case in cases:
        results = []
        for seed in (case.kwargs["seed"], case.kwargs["seed"], case.kwargs["seed"] ^ 1):
            args, kwargs = copy_arguments(case.args, dict(case.kwargs))
            results.append(case.reference(*args, **{**kwargs, "seed": seed}))
            assert case.postprocess is not None
            assert all(case.postprocess(results[-1]).values()), case.title
        one, same, _ = (r[1] if isinstance(r, tuple) else r for r in results)
        assert torch.equal(one, same)


def test_the_audit_draws_other_calls() -> None:
    gate, audit = (get_suite(name).materialise("normal_", "float32") for name in ("aten", "aten-audit"))
    assert not {case.kwargs["seed"] for case in gate} & {case.kwargs["seed"] for case in audit}


def test_wrong_uniform_numbers_are_refused() -> None:
    def uniform(change: Callable[[torch.Tensor], torch.Tensor]) -> set[str]:
        def candidate(self: torch.Tensor, low: float = 0.0, high: float = 1.0, *, seed: int) -> torch.Tensor:
            u = torch.rand(self.shape, generator=generator(seed))
            return self.copy_(change(u) * (high - low) + low)

        return refused("uniform_", candidate)

    assert uniform(lambda u: u) == set()
    assert "every number is in the support" in uniform(lambda u: u * 1.001)
    assert "the numbers follow the distribution" in uniform(lambda u: u.sqrt())
    assert "their mean is right" in uniform(lambda u: u * 0.95)
    assert "their spread is right" in uniform(lambda u: (u - 0.5) * 0.9 + 0.5)

    def blocks(u: torch.Tensor) -> torch.Tensor:  # each program draws the same numbers
        flat = u.flatten()
        return flat[torch.arange(flat.numel()) % 1024].reshape(u.shape) if u.numel() else u

    assert "no number goes with one a fixed distance on" in uniform(blocks)


def test_wrong_dropout_is_refused() -> None:
    def dropout(kept: Callable[[torch.Tensor, float], torch.Tensor], scale: Callable[[float], float]) -> set[str]:
        def candidate(x: torch.Tensor, p: float, train: bool | None, *, seed: int) -> Any:
            u = torch.rand(x.shape, generator=generator(seed))
            mask = torch.ones(x.shape, dtype=torch.bool) if train is False else kept(u, p)
            return (x * mask * (1.0 if train is False else scale(p))), mask

        return refused("native_dropout", candidate)

    assert dropout(lambda u, p: u >= p, lambda p: 1 / (1 - p)) == set()
    assert "mask: their mean is right" in dropout(lambda u, p: u < p, lambda p: 1 / (1 - p))
    assert "the result is input * mask * scale, and 0 where the mask is False" in dropout(
        lambda u, p: u >= p, lambda p: 1.0
    )


def test_a_permutation_that_is_none_is_refused() -> None:
    def shifted(n: int, *, seed: int, out: torch.Tensor) -> torch.Tensor:
        return out.copy_((torch.arange(n) + seed % max(n, 1)) % max(n, 1))

    def repeated(n: int, *, seed: int, out: torch.Tensor) -> torch.Tensor:
        return out.copy_(torch.randint(0, max(n, 1), (n,), generator=generator(seed)))

    assert "no number goes with one a fixed distance on" in refused("randperm.generator_out", shifted, "int64")
    assert "every number is there once" in refused("randperm.generator_out", repeated, "int64")


def test_alarms_are_rare_and_small_samples_say_nothing() -> None:
    few, more = (torch.zeros(count, dtype=torch.float64) for count in (8, 12))
    assert follows(few, lambda x: x, few, few)
    assert independent(more)
    assert not follows(more, lambda x: x, more, more)  # twelve equal ones are no chance
    alarms = 0
    for seed in range(200):
        u = torch.rand(2000, generator=generator(seed), dtype=torch.float64)
        alarms += not follows(u, lambda x: x, u, u) or not independent(u)
    assert alarms == 0  # one in ten million each


@pytest.mark.parametrize("name", ["bernoulli_.float", "native_dropout", "random_.to"])
def test_a_case_says_whether_its_seed_decides_anything(name: str) -> None:
    suite = SUITE
    for dtype in suite.operator(name).dtypes:
        cases = suite.materialise(name, dtype)
        assert any(case.notes["random"] for case in cases)
        for case in cases:
            if case.notes["random"]:
                continue
            args, kwargs = copy_arguments(case.args, case.kwargs)
            other, again = copy_arguments(case.args, {**case.kwargs, "seed": case.kwargs["seed"] ^ 1})
            one, two = case.reference(*args, **kwargs), case.reference(*other, **again)
            assert str(one) == str(two)


def test_chances_of_each_element_matter() -> None:
    def half(place: torch.Tensor, p: torch.Tensor, *, seed: int) -> torch.Tensor:
        even = torch.where((p > 0) & (p < 1), 0.5, p.double())
        return torch.bernoulli(even, generator=generator(seed)).to(place.dtype)

    assert hold.LIKELY in refused("bernoulli_.Tensor", half)


def test_weights_of_each_row_matter() -> None:
    def other_rows(weights: torch.Tensor, count: int, again: bool, *, seed: int) -> torch.Tensor:
        weights = weights if again or weights.dim() < 2 else weights.flip(0)
        return torch.multinomial(weights, count, again, generator=generator(seed))

    def later_evenly(weights: torch.Tensor, count: int, again: bool, *, seed: int) -> torch.Tensor:
        if again or count < 2:
            return torch.multinomial(weights, count, again, generator=generator(seed))
        first = torch.multinomial(weights, 1, False, generator=generator(seed))
        left = (weights > 0).double().scatter(-1, first, 0.0)
        return torch.cat([first, torch.multinomial(left, count - 1, False, generator=generator(seed + 1))], -1)

    for wrong in (other_rows, later_evenly):
        assert hold.LIKELY in refused("multinomial", wrong)


def test_few_random_bits_show() -> None:
    holds = hold.whole(0, 1 << 20)
    right = torch.randint(0, 1 << 20, (1 << 16,), generator=generator(1))
    assert all(holds(right).values())
    sixteen = torch.randint(0, 1 << 16, (1 << 16,), generator=generator(1)) << 4
    assert {words for words, right in holds(sixteen).items() if not right} == {hold.MANY, hold.DIGITS}


def test_few_numbers_of_many_seeds_follow_the_distribution() -> None:
    (case,) = [case for case in SUITE.materialise("normal_", "float32") if 1 < case.args[0].numel() < 100][:1]
    statements = case.postprocess
    assert isinstance(statements, hold.Statements)
    shape = case.args[0].shape
    drawn = [(torch.randn(shape, generator=generator(seed)) * case.args[2],) for seed in range(200)]
    assert all(statements.of_many(drawn).values())
    assert all(statements(drawn[0][0].abs()).values())  # alone they say nothing
    assert not statements.of_many([(one.abs(),) for (one,) in drawn])[hold.SHAPE]


def test_two_seeds_have_nothing_in_common() -> None:
    stream = torch.rand(1 << 15, generator=generator(3)).double()
    one, later, other = stream[: 1 << 14], stream[5000 : 5000 + (1 << 14)], torch.rand(1 << 14, generator=generator(4))
    assert hold.strangers((one,), (other,))[hold.STRANGERS]
    assert not hold.strangers((one,), (later,))[hold.STRANGERS]
    assert not hold.strangers((one,), (1 - one,))[hold.STRANGERS]
    order, stranger = (torch.randperm(1000, generator=generator(seed)) for seed in (5, 6))
    statements = hold.permutation(1000)
    assert statements.of_two((order,), (stranger,))[hold.STRANGERS]
    assert not statements.of_two((order,), ((order + 17) % 1000,))[hold.STRANGERS]
    assert not statements.of_two((order,), ((order.roll(300) + 17) % 1000,))[hold.STRANGERS]


def test_short_orders_are_as_likely_as_each_other() -> None:
    statements = hold.permutation(3)
    drawn = [(torch.randperm(3, generator=generator(seed)),) for seed in range(400)]
    assert all(statements.of_many(drawn).values())
    turned = [(torch.arange(3).roll(seed % 3),) for seed in range(400)]
    assert not all(statements.of_many(turned).values())


def test_numbers_that_differ_in_sign_alone_are_not_independent() -> None:
    sizes = torch.rand(1 << 14, generator=generator(1)).double()
    signs = torch.randint(0, 2, (1 << 15,), generator=generator(2)).double() * 2 - 1
    assert not independent(sizes[: 1 << 13].repeat(4) * signs)
    assert independent(torch.rand(1 << 15, generator=generator(3)).double() * signs)
    rare = (torch.rand(1 << 14, generator=generator(4)) < 0.001).double()  # sums of products of rare events
    assert independent(rare - 0.001, alike=False)
    assert not unrelated(sizes * signs[: 1 << 14], sizes * signs[1 << 14 :])
