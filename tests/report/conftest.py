"""The store-writing helpers, and the doubles of a whole run."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
for folder in (HERE.parent / "session", HERE.parent / "runs", HERE):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    """Durability is the store's subject; here thousands of small texts are written."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
