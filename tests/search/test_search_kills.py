"""Killed at any moment, a search goes on where it was, and no call is made twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from search_kill_driver import CALLS, NODES


@pytest.mark.thinned
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_or_asked_twice(tmp_path: Path, seed: int) -> None:
    driver = Path(__file__).with_name("search_kill_driver.py")
    done = subprocess.run(
        [sys.executable, str(driver), str(tmp_path), "12", str(seed)],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["killed"] >= 1
    assert found["spent"] == NODES
    assert found["open"] == 0
    assert found["ids"] == [str(number) for number in range(NODES + 1)]
    assert found["results"] == ["passed"]
    # a call that was answered before a kill was fetched again, not made again
    assert len(found["answered"]) == len(set(found["answered"]))
    assert sorted(found["finished"]) == sorted(found["answered"])
    assert len(set(found["finished"])) == len(found["finished"]) == NODES * CALLS
    assert found["ended"] == "nodes"
    assert found["kinds"].count("search_ended") == 1
