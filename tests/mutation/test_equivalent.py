"""The files of equivalent mutants."""

from __future__ import annotations

from pathlib import Path

import pytest

from bringup.errors import ConfigError
from bringup.mutation import load_equivalents


def test_marks_are_found_by_operator_and_beginning_of_the_digest(tmp_path: Path) -> None:
    file = tmp_path / "marks.yaml"
    file.write_text("add:\n- mutant: 0123456789ab\n  reason: the tail is never read\n  line: 3\n")
    marks = load_equivalents(file, shipped=False)
    assert marks.reason("add", "0123456789ab" + "0" * 52) == "the tail is never read"
    assert marks.reason("sub", "0123456789ab" + "0" * 52) is None
    assert marks.reason("add", "1" * 64) is None
    assert len(marks) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add: [", "not valid YAML"),
        ("add:\n- mutant: 0123456789ab\n", r"add\.0\.reason"),
        ("add:\n- mutant: 0123\n  reason: long enough to read\n", r"add\.0\.mutant"),
        ("add:\n- {mutant: 0123456789ab, reason: equivalent mutant, why: x}\n", r"add\.0\.why"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "marks.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_equivalents(file, shipped=False)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_equivalents(tmp_path / "none.yaml")


def test_shipped_marks_belong_to_the_recorded_kernels() -> None:
    from bringup.clients.recording import find_set
    from bringup.mutation import recorded_candidates, stale_marks

    assert stale_marks(recorded_candidates(find_set("vpe-pe64")), load_equivalents()) == {}


def test_shipped_marks_of_overloads_belong_to_the_librarys_kernels() -> None:
    from bringup.candidate import Candidate
    from bringup.mutation import stale_marks
    from bringup.runs.starts import kernels_of
    from bringup.suites import get_suite

    folder = Path(__file__).parents[2] / "kernels"
    names = [operator.name for operator in get_suite("aten").operators()]
    kernels = {name: Candidate(source=text) for name, text in kernels_of(str(folder), names, folder).items()}
    marks = load_equivalents()
    marked = [name for name in kernels if any(mark.suite == "aten" for mark in marks.marks(name))]
    assert marked
    assert stale_marks({name: kernels[name] for name in marked}, marks, "aten") == {}
    assert stale_marks({"take": kernels["take"]}, marks, "opinfo") != {}
