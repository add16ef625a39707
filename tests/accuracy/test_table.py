"""The table of classes: every operator of the suite, once, under a rule that can be followed."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from pathlib import Path

import yaml

from bringup.accuracy import KINDS, rule_of, table
from bringup.accuracy._conditions import SIZES
from bringup.accuracy._open import OPEN
from bringup.accuracy._poles import POLES
from bringup.accuracy._positions import POSITIONS
from bringup.suites import get_suite


def _names() -> list[str]:
    loaded = yaml.safe_load(files("bringup.accuracy").joinpath("data", "classes.yaml").read_text(encoding="utf-8"))
    flat = [
        *loaded["exact"].split(),
        *loaded["exact_integer"].split(),
        *loaded["exact_remainder"].split(),
        *loaded["exact_order"].split(),
    ]
    flat += [name for kind in ("rounding", "accumulating", "composite") for name in loaded[kind]]
    return flat + [
        name for kind in ("factors", "undefined") for names in loaded[kind].values() for name in names.split()
    ]


def test_every_eligible_operator_is_in_the_table_once() -> None:
    eligible = {operator.name for operator in get_suite("opinfo").operators() if operator.exclusion is None}
    assert len(eligible) >= 560
    counts = Counter(_names())
    assert [name for name, count in counts.items() if count > 1] == []
    assert eligible - set(counts) == set()
    assert set(counts) == set(table())


def test_documents_count_the_operators_without_an_exact_reference() -> None:
    eligible = {operator.name for operator in get_suite("opinfo").operators() if operator.exclusion is None}
    count = sum(rule_of(name).kind == "undefined" for name in eligible)
    root = Path(__file__).parents[2]
    decision = (root / "docs" / "decisions" / "0029-what-right-means.md").read_text(encoding="utf-8")
    assert f"| undefined | {count}: " in decision
    changes = " ".join((root / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert f"but for {count} operators without an exact reference" in changes


def test_rules_can_be_followed() -> None:
    for name, rule in table().items():
        assert rule.kind in KINDS
        assert rule.ulps > 0, name
        assert not rule.sizes or rule.sizes in SIZES, name
        assert not rule.open or rule.open in OPEN, name
        assert not rule.poles or rule.poles in POLES, name
        assert not rule.positions or rule.positions in POSITIONS, name
        assert (rule.kind in ("factors", "undefined")) == bool(rule.reason), name
        assert all(
            dtype in ("float32", "bfloat16", "float16", "int64") for dtype in f"{rule.inexact} {rule.either}".split()
        )
        assert bool(rule.without) == (rule.place >= 0), name


def test_few_operators_have_no_exact_reference() -> None:
    kinds = Counter(rule.kind for rule in table().values())
    assert kinds["undefined"] <= 32
    assert rule_of("an operator of tomorrow").kind == "undefined"


def test_no_figure_is_below_a_published_one() -> None:
    source = files("bringup.accuracy").joinpath("data", "published.yaml").read_text(encoding="utf-8")
    published: dict[str, dict[str, float]] = yaml.safe_load(source)
    assert len(published) >= 40
    for name, figures in published.items():
        assert set(figures) <= {"opencl", "cuda"}
        # CUDA's are distances from the rounded result.
        least = max(figures.get("opencl", 0.5), figures.get("cuda", 0) + 0.5)
        assert rule_of(name).kind == "rounding", name
        assert rule_of(name).ulps >= least, name
