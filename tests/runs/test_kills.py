"""`kill -9` at random moments: no call is repeated, no verdict is lost, the report is that of an undisturbed run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

DRIVER = Path(__file__).with_name("kill_driver.py")
KILLS = 60


def test_sixty_kills_change_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path), str(KILLS), "20"],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": str(DRIVER.parents[1] / "session")},
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["kills"] >= KILLS
    assert result["rounds"]  # a slow machine spends all its kills on one run
    for found in result["rounds"]:
        assert found["equal"], found
        assert found["same_report"], found
        assert found["answered_twice"] == found["asked_twice"] == 0
        assert found["asked_but_lost"] == []
        assert found["judged"] == found["expected_judged"]
        assert found["calls"] > 20
