"""Drawn examples are the same in every run, so that a failure is of the change at hand.

`HYPOTHESIS_PROFILE=search` draws others: run it now and then, and before a release.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from kept_servers import kept_servers
from store_servers import postgres, postgres_server, s3, s3_server, shared_url
from whole import WHOLE

# What kernels compute does not depend on the seal, and takes a tenth of the time without; test_sealed*.py are about it.
os.environ.setdefault("BRINGUP_SEALED", "0")

# A shell ignores the interrupt in what it starts in the background, and so would every command that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Folders whose files take minutes come first, so that no processor waits for the other's last file.
LONGEST = (
    "exploits", "targets", "sandbox", "judge", "mutation", "coverage", "library", "plugins", "prompts", "suites",
    "runs", "audit", "search", "accuracy", "lessons", "models",
)  # fmt: skip
TESTS = Path(__file__).parent


def _later(items: list[pytest.Item]) -> list[pytest.Item]:
    """What is for `make test-whole` alone: the long ones, and of what is thinned all but every fifth variant."""
    seen: Counter[tuple[Path, str]] = Counter()
    found = []
    for item in items:
        thinned = item.get_closest_marker("thinned")
        if thinned is not None:
            name = item.path, item.name.partition("[")[0]
            seen[name] += 1
            if seen[name] % 5 != (2 if "odd" in thinned.args else 1):
                found.append(item)
        elif item.get_closest_marker("long"):
            found.append(item)
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the folders; `--no-loadscope-reorder` keeps xdist from sorting files by how many tests they have.

    What is long is left out, unless BRINGUP_WHOLE is set or tests are asked for by name.
    """
    if not WHOLE and not any("::" in str(argument) for argument in config.args):
        later = set(_later(items))
        config.hook.pytest_deselected(items=[item for item in items if item in later])
        items[:] = [item for item in items if item not in later]

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        return LONGEST.index(folder) if folder in LONGEST else len(LONGEST)

    items.sort(key=place)


__all__ = ["kept_servers", "postgres", "postgres_server", "s3", "s3_server", "shared_url"]
