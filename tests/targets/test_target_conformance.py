"""The conformance suite: what ships conforms, and a target that does not is found out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from whole import WHOLE

from bringup.config import NO_CACHE, JudgeConfig
from bringup.device import Engine
from bringup.errors import ConfigError, PluginError, RetiredName
from bringup.judge import CheckResult, check_target, conformance
from bringup.targets import Target, get_target, targets


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless loop need not be waited for as long as users do; nothing of theirs is written."""
    monkeypatch.setattr(conformance, "JudgeConfig", lambda **_: JudgeConfig(case_seconds=12.0, kernel_cache=NO_CACHE))
    monkeypatch.setattr(
        conformance, "checks", lambda dialect: [_smaller(check) for check in real(dialect) if _asked(check)]
    )


real = conformance.checks
EXAMPLES = (" exp", " argmax", " diag")  # of the worked ones; the tests of the prompts judge them all


def _asked(check: conformance.Check) -> bool:
    return WHOLE or check.suite == "conformance" or check.name.endswith(EXAMPLES)


def _smaller(check: conformance.Check) -> conformance.Check:
    """Of a worked example two dtypes: that they pass in all of them is for the tests of the prompts."""
    return check if check.suite == "conformance" else replace(check, dtypes=("float32", "int32"))


async def results(spec: str) -> dict[str, CheckResult]:
    return {result.name: result async for result in check_target(spec)}


@pytest.mark.long
async def test_what_ships_conforms() -> None:
    """That a plug-in does is a test of its own package: examples/bringup-loom."""
    found = await results("vpe:pe64")
    assert len(found) >= 20
    assert {"worked example exp", "worked example argmax", "worked example diag"} <= set(found)
    assert [r for r in found.values() if r.status != "passed"] == []


@pytest.mark.long
async def test_a_chip_is_asked_for_nothing_beyond_its_limits(tmp_path: Path) -> None:
    """16 programs and blocks of 128 elements: the probes loop. What the chip's dialect does not have is not tried."""
    profile = tmp_path / "narrow.yaml"
    profile.write_text(
        "extends: pe64\nname: narrow\nlimits: {grid_max: 16, tensor_numel: 128}\n"
        "dtypes: [int1, int8, int16, int32, int64, fp16, fp32]\n",
        encoding="utf-8",
    )
    found = await results(f"vpe:{profile}")
    without = {name for name in found if "bfloat16" in name}
    assert without
    for name, result in found.items():
        if name in without:
            assert (result.status, result.detail) == ("lacking", "not tried: the dialect has no bfloat16")
        elif name.startswith("worked example"):  # bringup's own are written for a wider chip
            assert result.status in {"passed", "lacking"}
        else:
            assert result.status == "passed", result
    assert found["worked example argmax"].status == "lacking"


@pytest.mark.long
async def test_a_chip_on_which_nothing_runs_does_not_conform() -> None:
    """Its language has no word of the probes: what cannot be tried is said, and so is that nothing was."""
    found = await results("vpe:spyre-like")
    assert "tl.arange is not available" in found["element-wise kernel, float32"].detail
    assert found["element-wise kernel, float32"].status == "lacking"
    assert {name for name, r in found.items() if r.status == "failed"} == {"some kernel passes"}


async def test_a_targets_own_examples_must_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are bringup's own may be too wide for a chip; those of a target's package may not."""
    dialect = get_target("third").dialect()
    for folder, status in (("plain", "lacking"), ("bringup.prompts:examples/plain", "failed")):
        narrow = dialect.model_copy(update={"examples": folder, "torch_functions": ()})
        monkeypatch.setattr(
            conformance, "checks", lambda d: [_smaller(c) for c in real(d) if c.name == "worked example exp"]
        )
        monkeypatch.setattr(type(get_target("third")), "dialect", lambda self, narrow=narrow: narrow)
        found = await results("third")
        assert found["worked example exp"].status == status
        assert "[torch-function]" in found["worked example exp"].detail


@pytest.mark.long
async def test_a_target_that_computes_wrongly_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not conform is named, what is optional lacks, and the rest is still told."""
    checks = [
        c
        for c in conformance.checks(get_target("third").dialect())
        if c.name in ("element-wise kernel, float32", "a wrong kernel is wrong")
    ]
    good, bad = sorted(checks, key=lambda c: c.name != "element-wise kernel, float32")
    assert good.name != bad.name
    turned = replace(good, source=good.source.replace("v + v", "v + v + 1"))
    monkeypatch.setattr(
        conformance, "checks", lambda dialect: [turned, bad, replace(turned, name="optional", required=False)]
    )
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


def test_a_plug_in_that_is_no_target_is_one_clear_line() -> None:
    class Half:
        name, profile = "half", None

        def __init__(self, profile: str | None) -> None: ...

    class Broken:
        pass

    try:
        targets.register("half")(Half)
        targets.register("broken")(Broken)
        with pytest.raises(PluginError, match=r"half.*it has no alignment, clock, .*; inherit .*TargetDefaults"):
            get_target("half")
        with pytest.raises(PluginError, match=r"broken.*cannot be loaded: TypeError") as caught:
            get_target("broken")
        assert "\n" not in str(caught.value)
    finally:
        targets._factories.pop("half", None)
        targets._factories.pop("broken", None)


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
