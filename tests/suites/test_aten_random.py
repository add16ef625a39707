"""Overloads that draw random numbers: what is asked of their results, and that wrong generators are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bringup.accuracy import copy_arguments, follows, independent
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
    few = torch.zeros(10, dtype=torch.float64)
    assert follows(few, lambda x: x, few, few)
    assert independent(few)
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
