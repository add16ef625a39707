"""Choose which of the recorded operators `make run` replays: a hundred, cheap and varied.

Usage: python scripts/choose_recordings.py RUN... [--set NAME]

RUN are folders of runs that replayed operators of the set, as many as shall be chosen among. The cost of an operator is
the time that judging its replies took; where several runs have it, the least. A run on a busy machine is brought to the
scale of the first one by the operators that both have. What did not end with a pass is not chosen. The rule, in this
order, until there are a hundred:

1. of each category its three cheapest;
2. of each way in which a first reply failed (format, a rule of the linter, compiler, wrong, ...) the two cheapest;
3. of the operators that were repaired the cheapest, until there are 25;
4. the cheapest of all others.

Writes `chosen.txt` beside the dialogs.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path

from bringup.clients.recording import CHOSEN, find_set, recorded_operators
from bringup.store import Judged, Linted, Parsed, open_run

MOST, A_CATEGORY, A_WAY, REPAIRED = 100, 3, 2, 25


def main() -> None:
    """Choose, and write the list."""
    arguments = sys.argv[1:]
    name = "vpe-pe64"
    if "--set" in arguments:
        place = arguments.index("--set")
        name = arguments[place + 1]
        del arguments[place : place + 2]
    if not arguments:
        sys.exit(f"usage: {__doc__.split('Usage: ')[1].splitlines()[0]}" if __doc__ else "")
    where = find_set(name)
    recorded = set(recorded_operators(name))
    cost: dict[str, float] = {}
    category: dict[str, str] = {}
    ways: defaultdict[str, set[str]] = defaultdict(set)
    last: dict[str, str] = {}
    for folder in arguments:
        seconds: Counter[str] = Counter()
        with open_run(Path(folder)) as run:
            category.update({info.name: info.category for info in run.started.operators})
            for stored in run.events():
                event, operator = stored.event, stored.operator or ""
                if isinstance(event, Judged):
                    seconds[operator] += event.seconds  # type: ignore[assignment]
                    last[operator] = event.result
                    if event.result != "passed":
                        ways[operator].add(event.result)
                elif isinstance(event, Linted) and event.violations:
                    ways[operator].add(f"lint {event.violations[0].rule}")
                elif isinstance(event, Parsed) and event.problem is not None:
                    ways[operator].add(f"format {event.problem.kind}")
        common = [cost[one] / seconds[one] for one in seconds if one in cost and seconds[one]]
        scale = statistics.median(common) if common else 1.0
        for operator, took in seconds.items():
            cost[operator] = min(cost.get(operator, float("inf")), took * scale)
    judged = {one for one in recorded & set(cost) if last[one] == "passed"}
    if len(judged) < MOST:
        sys.exit(f"the runs have judged {len(judged)} of the set's operators: {MOST} are to be chosen")
    cheapest = sorted(judged, key=lambda one: (cost[one], one))
    chosen: dict[str, None] = {}
    for kind in sorted(set(category.values())):
        chosen.update(dict.fromkeys([one for one in cheapest if category[one] == kind][:A_CATEGORY]))
    for way in sorted({way for found in ways.values() for way in found}):
        chosen.update(dict.fromkeys([one for one in cheapest if way in ways[one]][:A_WAY]))
    for one in cheapest:
        if len([name for name in chosen if ways[name]]) < REPAIRED and ways[one]:
            chosen[one] = None
    for one in cheapest:
        if len(chosen) < MOST:
            chosen[one] = None
    told = (
        "# The operators that `make run` replays: cheap, of all categories, with many repairs.\n"
        "# Written by scripts/choose_recordings.py, which says by which rule.\n"
    )
    (where / CHOSEN).write_text(told + "".join(f"{one}\n" for one in sorted(chosen)))
    total, part = sum(cost[one] for one in judged), sum(cost[one] for one in chosen)
    repaired = sum(bool(ways[one]) for one in chosen)
    print(f"{len(chosen)} of {len(judged)} judged operators, {repaired} repaired: {part:.0f} s of {total:.0f} s")


if __name__ == "__main__":
    main()
