"""Names of runs: sorted by time, readable, easy to say aloud."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

from bringup.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")

_FIRST = (
    "able",
    "brave",
    "bright",
    "brisk",
    "calm",
    "clear",
    "clever",
    "deft",
    "eager",
    "fair",
    "fleet",
    "fresh",
    "gentle",
    "keen",
    "kind",
    "lively",
    "lucid",
    "merry",
    "mild",
    "neat",
    "nimble",
    "quick",
    "quiet",
    "sharp",
    "solid",
    "steady",
    "sunny",
    "swift",
    "tidy",
    "vivid",
    "warm",
    "wise",
)
_SECOND = (
    "badger",
    "bear",
    "bison",
    "crane",
    "deer",
    "eagle",
    "elk",
    "falcon",
    "finch",
    "fox",
    "gecko",
    "hare",
    "hawk",
    "heron",
    "ibex",
    "jay",
    "lark",
    "lynx",
    "marten",
    "moose",
    "newt",
    "orca",
    "otter",
    "owl",
    "plover",
    "puffin",
    "raven",
    "robin",
    "seal",
    "stork",
    "wren",
    "yak",
)
_TRIES = 100


def new_run_id(
    now: float | None = None, rng: random.Random | None = None, name: str | None = None, root: Path | None = None
) -> str:
    """Return a name such as `20260131-142501-quiet-heron` (UTC), or with `name` in the place of the two words.

    `root`: where runs are; two words that begin no run of this second there are drawn.
    Raises ConfigError for a name that cannot be part of a folder's.
    """
    rng = rng or random.SystemRandom()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    if name is not None:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"--name {name}", "is no name for a run", "use letters, digits, `.`, `_` and `-`, at most 60"
            )
        return f"{stamp}-{name}"
    for _ in range(_TRIES):
        run = f"{stamp}-{rng.choice(_FIRST)}-{rng.choice(_SECOND)}"
        if root is None or not (root / run).exists():
            break
    return run
