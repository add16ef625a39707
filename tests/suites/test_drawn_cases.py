"""Published cases that are drawn under another seed: some of the gate's, with other values."""

from __future__ import annotations

import torch

from bringup.suites import get_suite


def test_drawn_cases_are_published_ones_with_other_values() -> None:
    suite = get_suite("opinfo")
    every = {case.case.index: case for case in suite.materialise("trace", "float32", 7)}
    known = {case.case.index: case for case in suite.materialise("trace", "float32", 0)}
    own = len(suite.own_cases("trace", "float32", 7))
    drawn = suite.drawn_cases("trace", "float32", 7, 3)
    assert len(drawn) == 3
    assert any(not torch.equal(case.args[0], known[case.case.index].args[0]) for case in drawn)
    for case in drawn:
        assert case.case.index >= own
        assert not case.raises
        assert not case.requires
        assert case.case == every[case.case.index].case
        assert torch.equal(case.args[0], every[case.case.index].args[0])


def test_the_seed_draws_which() -> None:
    suite = get_suite("opinfo")
    chosen = [tuple(case.case.index for case in suite.drawn_cases("trace", "float32", seed, 2)) for seed in range(5)]
    assert len(set(chosen)) > 1
    again = tuple(case.case.index for case in suite.drawn_cases("trace", "float32", 3, 2))
    assert again == chosen[3]
    asked = [case for case in suite.materialise("trace", "float32", 3) if not case.raises and not case.requires]
    own = len(suite.own_cases("trace", "float32", 3))
    assert len(suite.drawn_cases("trace", "float32", 3, 1000)) == len(asked) - own


def test_what_has_no_published_cases_draws_none() -> None:
    assert list(get_suite("opinfo:alone").drawn_cases("trace", "float32", 7, 3)) == []
    assert list(get_suite("aten:alone").drawn_cases("trace", "float32", 7, 3)) == []
