"""`@plan` among the operators of a run: the kernels that its target lacks, in the order that unlocks most."""

from __future__ import annotations

from pathlib import Path

from bringup.errors import ConfigError

PLAN = "@plan"


def is_planned(pattern: str) -> bool:
    """Whether a pattern of `ops` asks for a plan: `@plan`, `@plan:40`, `@plan:FILE`, `@plan:FILE:40`."""
    return pattern == PLAN or pattern.startswith(f"{PLAN}:")


def planned(pattern: str, suite: str, target: str) -> list[str]:
    """Return the operators that `@plan[:FILE][:N]` stands for, the most useful ones first: all, or N of them.

    FILE is a measurement by `bringup coverage`. Raises ConfigError where a plan is for another suite, where N is no
    number above 0, where there is no measurement, and where nothing is missing.
    """
    from bringup.coverage import plan
    from bringup.coverage.missing import SUITE

    if suite != SUITE:
        raise ConfigError(f"ops {pattern}", f"a plan names kernels of the suite {SUITE}, not {suite}", "--suite aten")
    file, most = "", 0
    rest = pattern.removeprefix(PLAN).removeprefix(":")
    if rest:
        before, _, last = rest.rpartition(":")
        if last.isdecimal():
            file, most = before, int(last)
            if not most:
                raise ConfigError(f"ops {pattern}", "0 kernels are none", "give a number above 0")
        else:
            file = rest
    found = plan(target, results=Path(file).expanduser() if file else None)
    kernels = found.order.kernels[: most or None]
    if not kernels:
        raise ConfigError(f"ops {pattern}", f"no kernel is missing on {target} that could be made", "see bringup plan")
    return kernels
