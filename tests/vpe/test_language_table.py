"""The scoreboard of the language in the docs says what its command finds: a few of its rows, measured again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def deactivated() -> Iterator[None]:
    import bringup.vpe as vpe

    yield
    vpe.deactivate()


@pytest.mark.long
@pytest.mark.usefixtures("deactivated")
def test_rows_of_the_scoreboard_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import vpe_language

    text = vpe_language.PAGE.read_text(encoding="utf-8")
    listed = text.split("\n## ")[-1].splitlines()[2:]
    reasons = dict(line.split(". ", 1) for line in listed)
    found, chosen = vpe_language.rows(
        "a + b,a << 1,sum,atomic_add,sqrt,dot,fma,masked*,tensor desc*,dot_scaled,rand,topk"
    )
    assert len(chosen) == 12
    for profile, section in zip(vpe_language.PROFILES, text.split("\n## ")[1:3], strict=True):
        for operation in chosen:
            line = next(row for row in section.splitlines() if row.startswith(f"| {operation.name} |"))
            shown = [cell.strip() for cell in line.strip("|").split("|")[1:]]
            words = ["" if cell == "✓" else reasons[cell].replace("\\|", "|") for cell in shown]
            assert words == list(found[profile][operation.name].values()), f"{profile}, {operation.name}"
    every = {operation.name for operation in vpe_language.OPERATIONS}
    rows = {line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")}
    assert {name.replace("|", "\\|") for name in every} <= rows
    sys.modules.pop("vpe_language", None)
