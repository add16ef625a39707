"""The conformance suite: what ships conforms, and a target that does not is found out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bringup.config import NO_CACHE, JudgeConfig
from bringup.device import Engine
from bringup.errors import ConfigError, RetiredName
from bringup.judge import CheckResult, check_target, conformance
from bringup.targets import Target, get_target, targets


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless loop need not be waited for as long as users do; nothing of theirs is written."""
    monkeypatch.setattr(conformance, "JudgeConfig", lambda **_: JudgeConfig(case_seconds=3.0, kernel_cache=NO_CACHE))


async def results(spec: str) -> dict[str, CheckResult]:
    return {result.name: result async for result in check_target(spec)}


@pytest.mark.parametrize("spec", ["vpe:pe64", "third"])
async def test_what_ships_and_a_plug_in_conform(spec: str) -> None:
    found = await results(spec)
    assert len(found) >= 18
    assert {r.status for r in found.values()} == {"passed"}, found


async def test_a_target_that_computes_wrongly_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not conform is named, what is optional lacks, and the rest is still told."""
    checks = [c for c in conformance.checks() if c.name in ("element-wise kernel, float32", "a wrong kernel is wrong")]
    good, bad = sorted(checks, key=lambda c: c.name != "element-wise kernel, float32")
    assert good.name != bad.name
    turned = replace(good, source=good.source.replace("v + v", "v + v + 1"))
    monkeypatch.setattr(conformance, "checks", lambda: [turned, bad, replace(turned, name="optional", required=False)])
    found = await results("third")
    assert (found[good.name].status, found["optional"].status) == ("failed", "lacking")
    assert "elements differ" in found[good.name].detail
    assert found[bad.name].status == "passed"


def test_a_target_is_a_target() -> None:
    for name in ("cuda", "vpe", "third"):  # other tests register names of their own
        assert isinstance(get_target(name), Target), name
    for engine in (get_target("vpe").engine(), get_target("third").engine()):
        assert isinstance(engine, Engine)


def test_a_plug_in_of_which_something_is_missing_is_none() -> None:
    class Half:
        name, profile = "half", None

    assert not isinstance(Half(), Target)
    with pytest.raises(ConfigError, match="no profiles"):
        get_target("third:x")


def test_a_retired_target_says_what_to_use() -> None:
    assert "interpreter" not in targets.names()
    for spec in ("interpreter", "interpreter:x"):
        with pytest.raises(RetiredName, match="target 'interpreter' is gone; use `vpe:permissive`") as caught:
            get_target(spec)
        assert caught.value.exit_code == 2
        assert "\n" not in str(caught.value)


def test_a_target_speaks_of_itself() -> None:
    dialect = get_target("cuda:1").dialect()
    assert dialect.name == "cuda"
    assert "NVIDIA" in dialect.description
