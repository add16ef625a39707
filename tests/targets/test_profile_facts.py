"""What a chip's profile says of it reaches the judge and the prompts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from bringup.device.frontend import KernelRefused
from bringup.errors import ConfigError
from bringup.judge._case_limits import arithmetic_of, limits_of
from bringup.suites import get_suite
from bringup.targets import get_target

SMALL = 2.0**-130  # subnormal in float32


def chip(folder: Path, features: str) -> str:
    path = folder / "chip.yaml"
    path.write_text(f"extends: pe64\nname: chip\nfeatures: {{{features}}}\n")
    return f"vpe:{path}"


@pytest.mark.parametrize(("features", "kept"), [("", True), ("subnormals: true", True), ("subnormals: false", False)])
def test_a_chip_without_subnormal_numbers_says_so_in_its_profile(tmp_path: Path, features: str, kept: bool) -> None:
    target = get_target(chip(tmp_path, features))
    assert target.subnormals is kept
    assert target.facts()["features"].get("subnormals", True) is kept
    assert any("for zeros, in arguments and results" in rule for rule in target.dialect().rules) is not kept
    case = next(case for case in get_suite("opinfo").own_cases("sqrt", "float32") if case.args[0].numel() > 1)
    given = torch.full_like(case.args[0], SMALL)
    case = type(case)(
        case=case.case, variant="", args=(given,), kwargs={}, reference=torch.sqrt, standard=case.standard
    )
    (limit,) = limits_of(case, (torch.sqrt(given), (given,), {}), arithmetic_of(target)).outputs
    assert limit is not None
    assert not limit.wrong(torch.sqrt(given), torch.sqrt(given)).any()
    flushed = torch.zeros_like(given)
    assert bool(limit.wrong(flushed, flushed).any()) is kept


def test_subnormals_are_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="subnormals"):
        get_target(chip(tmp_path, "subnormals: some"))


def test_what_was_judged_before_profiles_had_the_word_stays_judged() -> None:
    """A judgement holds for a profile's figures: a new one that says what was so all the time changes none."""
    target = get_target("vpe:pe64")
    assert target.subnormals
    assert "subnormals" not in target.facts()["features"]


def test_every_target_shows_the_whole_log_of_a_refused_kernel() -> None:
    error = KernelRefused("PassManager::run failed", "PassManager::run failed\nAssertion `a' failed")
    for name in ("vpe:pe64", "cuda", "hip"):
        assert get_target(name).compile_log(error) == error.log
    assert get_target("cuda").compile_log(ValueError("x")) is None
