"""The conformance suite: what ships conforms, and a target that does not is found out."""

from __future__ import annotations

import pytest

from bringup.errors import RetiredName
from bringup.judge import CheckResult, check_target
from bringup.targets import Target, get_target, targets


async def results(spec: str) -> dict[str, CheckResult]:
    return {result.name: result async for result in check_target(spec)}


@pytest.mark.parametrize("spec", ["vpe:pe64", "vpe:permissive"])
async def test_the_virtual_accelerator_conforms(spec: str) -> None:
    found = await results(spec)
    assert len(found) >= 18
    assert {r.status for r in found.values()} == {"passed"}, found


def test_a_target_is_a_target() -> None:
    for name in ("cuda", "vpe"):  # other tests register names of their own
        assert isinstance(get_target(name), Target), name


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
