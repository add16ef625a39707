"""The conformance suite: what ships conforms, and a target that does not is found out."""

from __future__ import annotations

import pytest

from bringup.judge import CheckResult, check_target
from bringup.targets import interpreter


async def results(spec: str) -> dict[str, CheckResult]:
    return {result.name: result async for result in check_target(spec)}


@pytest.mark.parametrize("spec", ["vpe:pe64", "vpe:permissive"])
async def test_the_virtual_accelerator_conforms(spec: str) -> None:
    found = await results(spec)
    assert len(found) >= 18
    assert {r.status for r in found.values()} == {"passed"}, found


async def test_the_interpreter_conforms_but_for_bfloat16_arithmetic() -> None:
    # Triton's interpreter keeps bfloat16 as 16-bit integers and adds those.
    found = await results("interpreter")
    assert not [r for r in found.values() if r.status == "failed"]
    assert [r.name for r in found.values() if r.status == "lacking"] == ["arithmetic in bfloat16 without a detour"]


def test_a_target_is_a_target() -> None:
    from bringup.targets import Target, get_target

    assert isinstance(interpreter.InterpreterTarget(), Target)
    for name in ("interpreter", "cuda", "vpe"):  # other tests register names of their own
        assert isinstance(get_target(name), Target), name
