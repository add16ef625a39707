"""Choose which of the recorded operators `make run` replays: a hundred, cheap and varied.

Usage: python scripts/choose_recordings.py VERDICTS... [--set NAME]

VERDICTS are files that `benchmarks/rejudge.py --out` has written, with as many operators of the set as shall be chosen
among; of several verdicts the latest counts. The cost of an operator is the time of its verdict, for each reply of its
dialog (one that fails takes less). What did not pass is not chosen. The rule, in this order, until there are a hundred:

1. those that everybody looks for first, and that are no longer than others (`softmax` takes a tenth of it all);
2. of each category its three cheapest;
3. of the operators that were repaired the cheapest, until there are ten;
4. the cheapest of all others, no more than 25 of a category while there are others.

Writes `chosen.txt` beside the dialogs.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from bringup.clients.recording import CHOSEN, find_set, recorded_operators
from bringup.suites import get_suite

MOST, A_CATEGORY, REPAIRED = 100, 3, 10
SHARE = 25  # of one category, before the last rule fills up
FIRST = (
    "add", "exp", "gather", "linalg.det", "mm", "nn.functional.gelu", "nn.functional.mse_loss",
)  # fmt: skip


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
    replies = {one: _replies(where, one) for one in recorded_operators(name)}
    suite = get_suite("opinfo")
    cost: dict[str, float] = {}
    for file in arguments:
        for line in Path(file).read_text().splitlines():
            told = json.loads(line)
            operator, verdict = told["operator"], told.get("verdict") or {}
            cost.pop(operator, None)
            if operator in replies and verdict.get("kind") == "passed":
                cost[operator] = verdict["seconds"] * replies[operator]
    if len(cost) < MOST:
        sys.exit(f"{len(cost)} of the set's operators have passed: {MOST} are to be chosen")
    category = {one: suite.operator(one).category for one in cost}
    cheapest = sorted(cost, key=lambda one: (cost[one], one))
    chosen = dict.fromkeys(one for one in FIRST if one in cost)
    for kind in sorted(set(category.values())):
        chosen.update(dict.fromkeys([one for one in cheapest if category[one] == kind][:A_CATEGORY]))
    for one in cheapest:
        if replies[one] > 1 and sum(replies[name] > 1 for name in chosen) < REPAIRED:
            chosen[one] = None
    shares = Counter(category[one] for one in chosen)
    for most in (SHARE, MOST):
        for one in cheapest:
            if len(chosen) < MOST and one not in chosen and shares[category[one]] < most:
                chosen[one] = None
                shares[category[one]] += 1
    told = (
        "# The operators that `make run` replays: cheap, of all categories, with some repairs.\n"
        "# Written by scripts/choose_recordings.py, which says by which rule.\n"
    )
    (where / CHOSEN).write_text(told + "".join(f"{one}\n" for one in sorted(chosen)))
    total, part = sum(cost.values()), sum(cost[one] for one in chosen)
    repaired = sum(replies[one] > 1 for one in chosen)
    print(f"{len(chosen)} of {len(cost)} operators, {repaired} repaired: {part:.0f} s of {total:.0f} s")


def _replies(where: Path, operator: str) -> int:
    """How many replies of an operator's dialog are candidates."""
    lines = (where / f"{operator}.jsonl").read_text().splitlines()
    return sum(json.loads(line)["role"] == "generate" for line in lines)


if __name__ == "__main__":
    main()
