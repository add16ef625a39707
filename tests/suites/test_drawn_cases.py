"""Published cases that are drawn under another seed: some of the gate's, with other values."""

from __future__ import annotations

import pytest
import torch
from test_opinfo_cases import digest

from bringup.suites import get_suite
from bringup.suites._opinfo_source import OpInfoSource
from bringup.suites.audit._build import family_cases
from bringup.suites.audit._subject import Subject


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


@pytest.mark.parametrize(("name", "family"), [("gather", "sizes"), ("sort", "errors"), ("sum", "values")])
def test_a_case_that_is_looked_for_is_that_of_its_whole_family(name: str, family: str) -> None:
    source = OpInfoSource()
    subject = Subject(source.operator(name), source.facts[name], "float32", 7)
    cap = 6  # fewer than there are drafts
    every = family_cases(subject, family, cap, 0, 7)
    assert 1 < len(every) <= cap
    later = [case.notes["key"] for case in family_cases(subject, family, cap + 2, 0, 7)][cap:]
    for wanted in every:
        for numbered in (True, False):
            found = family_cases(subject, family, cap, 0, 7, {wanted.notes["key"]}, numbered)
            (case,) = (one for one in found if one.notes["key"] == wanted.notes["key"])
            assert digest([case]) == digest([wanted])
            assert (case.title, case.raises, case.rtol, case.atol) == (
                wanted.title, wanted.raises, wanted.rtol, wanted.atol,
            )  # fmt: skip
            assert case.case == wanted.case or not numbered
    for key in later:  # nor is one found that the family is too full for
        assert all(case.notes["key"] != key for case in family_cases(subject, family, cap, 0, 7, {key}, False))
    assert family_cases(subject, family, cap, 0, 7, {f"{family}/no-such-draft/0"}, False) == []
