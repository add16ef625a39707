"""Drawn examples are the same in every run, so that a failure is of the change at hand.

`HYPOTHESIS_PROFILE=search` draws others: run it now and then, and before a release.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from kept_servers import kept_servers
from store_servers import postgres, postgres_server, s3, s3_server, shared_url

# What kernels compute does not depend on the seal, and takes a tenth of the time without; test_sealed*.py are about it.
os.environ.setdefault("BRINGUP_SEALED", "0")

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Folders whose files take minutes come first, so that no processor waits for the other's last file.
LONGEST = (
    "exploits", "targets", "sandbox", "judge", "mutation", "coverage", "library", "plugins", "prompts", "suites",
    "runs", "audit", "search", "accuracy", "lessons", "models",
)  # fmt: skip
TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the folders; `--no-loadscope-reorder` keeps xdist from sorting files by how many tests they have."""

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        return LONGEST.index(folder) if folder in LONGEST else len(LONGEST)

    items.sort(key=place)


__all__ = ["kept_servers", "postgres", "postgres_server", "s3", "s3_server", "shared_url"]
