"""Tapes on disk: what a later process need not ask for, and what it does not take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from library_kernels import ADD, decides
from library_testkit import dense, make_library

import bringup
from bringup.library import _tape_store
from bringup.library.enabled import Enabled
from bringup.library.errors import KernelFailed

X = torch.arange(6.0).reshape(2, 3)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_tape_store, "tapes_folder", lambda: tmp_path / "tapes")
    make_library(tmp_path / "kernels", {"add.out": ADD})
    return tmp_path


def use(disk: Path, *numbers: float, source: str = "kernels") -> Enabled:
    """Sums in what is, for all that is kept in memory, a new process."""
    with bringup.enable(disk / source, device="vpe:permissive", sealed=True) as enabled:
        x = X.to("vpe")
        for number in numbers or (1,):
            torch.testing.assert_close(torch.add(x, x, alpha=number).cpu(), X + number * X)
            enabled.sealer.study.settle()
    return enabled


def test_the_next_process_asks_for_nothing_again(disk: Path) -> None:
    assert use(disk).sealer.asked == 1
    again = use(disk)
    assert (again.sealer.asked, again.sealer.repeated) == (0, 1)
    assert not again.sealer.caller._spawners, "no process was started"
    assert use(disk, 2).sealer.asked == 1


@pytest.mark.long
def test_what_numbers_have_in_common_is_kept_too(disk: Path) -> None:
    assert use(disk, *dense(0.3, 0.4, 0.37)).sealer.asked == 3
    assert use(disk, *dense(0.3, 0.4, 0.41, 0.43, 0.45, 0.47)).sealer.asked == 3, "not proved before"
    assert use(disk, *dense(0.3, 0.4, 0.46, 0.48)).sealer.asked == 0


def test_another_kernel_has_tapes_of_its_own(disk: Path) -> None:
    use(disk)
    make_library(disk / "other", {"add.out": ADD + "\n# another\n"})
    assert use(disk, source="other").sealer.asked == 1


@pytest.mark.thinned
@pytest.mark.parametrize("damage", ["cut", "changed", "binary", "gone"])
def test_damaged_tapes_are_as_good_as_none(disk: Path, damage: str) -> None:
    use(disk, 1, 2)
    (file,) = (disk / "tapes").iterdir()
    first, second = file.read_bytes().splitlines(keepends=True)
    if damage == "cut":
        file.write_bytes(first[:-40] + second)
    elif damage == "changed":
        file.write_bytes(first.replace(b"float32", b"float16") + second)
    elif damage == "binary":
        file.write_bytes(bytes(range(256)) * 9)
    else:
        file.unlink()
        file.mkdir()
    assert use(disk, 1, 2).sealer.asked == {"cut": 2, "changed": 1, "binary": 2, "gone": 2}[damage]


@pytest.mark.long
def test_a_tape_without_its_compiled_kernel_is_asked_for_again(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(disk)
    monkeypatch.setattr("bringup.judge.calling.kernels_folder", lambda chosen: str(disk / "nothing"))
    assert use(disk).sealer.asked == 1


@pytest.mark.long
def test_a_pattern_that_was_wrong_is_forgotten(disk: Path) -> None:
    make_library(disk / "sly", {"add.out": decides("7.0 if round(alpha, 5) == 0.43751 else alpha")})
    assert use(disk, *dense(0.3, 0.4, 0.42, 0.43, 0.44), source="sly").sealer.asked == 5
    assert use(disk, *dense(0.3, 0.4, 0.45), source="sly").sealer.asked == 0
    with pytest.raises(KernelFailed, match="not PyTorch's"):
        use(disk, *dense(0.3, 0.4, 0.43751), source="sly")
    assert use(disk, *dense(0.3, 0.4, 0.47), source="sly").sealer.asked == 1


def test_the_oldest_go_where_all_are_too_large(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(disk)
    (disk / "tapes" / "old.jsonl").write_bytes(b"x" * 9000)
    os.utime(disk / "tapes" / "old.jsonl", (1, 1))
    monkeypatch.setattr(_tape_store, "MOST_TOGETHER", 8000)
    _tape_store.tidy()
    assert [path.name == "old.jsonl" for path in (disk / "tapes").iterdir()] == [False]


def test_where_nothing_can_be_kept_is_told_once(disk: Path) -> None:
    (disk / "tapes").write_text("no folder")
    with pytest.warns(UserWarning, match=r"tapes of sealed kernels cannot be kept.*XDG_CACHE_HOME") as found:
        use(disk, 1, 2)
    assert len([one for one in found if "tapes of sealed" in str(one.message)]) == 1


def test_who_waits_long_is_told_why(
    disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bringup.library._sealer.TOLD_AFTER", 0.01)
    use(disk, 1, 2, 3)
    said = capsys.readouterr().err
    assert said.count("first calls of kernels have taken") == 1
    assert "BRINGUP_SEALED=0" in said
