"""Choose the cases that give every gate its breadth (`bringup.audit.breadth`), and write the file that ships.

python scripts/gate_breadth.py              # all operators, some minutes
python scripts/gate_breadth.py --check      # whether the file is what would be written for some operators
python scripts/gate_breadth.py --grow       # add what is wanted of each dtype (many programs, values)
python scripts/gate_breadth.py --family ranks --family scales    # these families anew; all else stays as it is
python scripts/gate_breadth.py --ops gradient,lu_unpack          # these operators anew
python scripts/gate_breadth.py --suite aten --jobs 2             # overloads, with the values that show errors
python scripts/gate_breadth.py --suite aten --grow               # the dtypes that no sample gives them; some minutes
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.progress import track

from bringup.audit.breadth import (
    breadth_of,
    overload_breadth,
    overload_dtypes,
    with_each_dtype,
    with_families,
    write_breadth,
)
from bringup.suites import get_suite, select
from bringup.suites._random_listing import random_overloads

DATA = Path(__file__).parents[1] / "src" / "bringup" / "suites" / "data"
FILES = {"opinfo": "gate-breadth.json", "aten": "aten-breadth.json"}
PATIENCE = 300  # seconds without any answer
KEPT_EVERY = 10  # operators after which the file is written: an interrupted call goes on with --ops


def choice(task: tuple[str, str, Sequence[str] | None, dict[str, list[str]], bool]) -> tuple[str, dict[str, list[str]]]:
    """Return an operator's name and choice; one process has one thread."""
    import torch

    name, suite, families, known, grow = task
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    audit = get_suite(f"{suite}-audit" if suite == "aten" else "audit")
    operator = audit.operator(name)
    if grow:
        return name, overload_dtypes(known, operator) if suite == "aten" else with_each_dtype(known, operator)
    if suite == "aten":
        return name, overload_breadth(operator)
    return name, with_families(known, operator, families) if families else breadth_of(operator, audit.materialise)


def doubles() -> list[str]:
    """Return the overloads that public operators ask a bare device for in float64 where their arguments are float32."""
    import torch
    from torch.utils import _pytree as pytree

    from bringup.suites._aten_record import prepare, run
    from bringup.suites._aten_survey import DIRECTIONS, surveyed
    from bringup.suites._opinfo_samples import samples

    warnings.simplefilter("ignore")
    prepare()
    found: set[str] = set()
    for name in track(surveyed(), "running"):
        for direction, (index, sample) in itertools.product(DIRECTIONS, enumerate(samples(name, "float32"))):
            try:
                calls = run(name, "float32", index, sample, direction, values=False)
            except Exception:  # whatever PyTorch raises is a fact about the sample
                continue
            for call in calls:
                leaves = pytree.tree_leaves((call.args, dict(call.kwargs)))
                if any(isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64 for leaf in leaves):
                    found.add(call.overload)
    return sorted(found)


def arriving(pool: Any, tasks: Sequence[Any]) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield choices as they come. PyTorch may bring a process down: its operator never comes, and is named."""
    left = {task[0] for task in tasks}
    results = pool.imap_unordered(choice, tasks)
    while left:
        try:
            name, found = results.next(timeout=PATIENCE)
        except multiprocessing.TimeoutError:
            print(f"no answer on {', '.join(sorted(left))}: a process died; the same call with --missing tries again")
            return
        left.discard(name)
        yield name, found


def main() -> int:
    """Return 0, or 1 when `--check` finds another choice than the file's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="opinfo", choices=FILES, help="whose gates")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    parser.add_argument("--sample", type=int, default=12, help="operators that --check looks at")
    parser.add_argument("--ops", default="all", help="globs, separated by commas: choose for these alone")
    parser.add_argument("--family", action="append", help="choose again of this family alone; may be repeated")
    parser.add_argument("--grow", action="store_true", help="add what each dtype wants; all else stays as it is")
    parser.add_argument("--doubles", action="store_true", help="print the overloads that PyTorch asks in float64")
    parser.add_argument("--missing", action="store_true", help="only operators that the file does not have yet")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    if options.suite == "aten" and options.family:
        parser.error("--family chooses again for the suite opinfo only")
    if options.doubles:
        print("\n".join(doubles()))
        return 0
    path = DATA / FILES[options.suite]
    suite = get_suite(options.suite)
    operators = [operator.name for operator in suite.operators() if operator.exclusion is None]
    shipped = json.loads(path.read_text(encoding="utf-8"))["operators"] if path.is_file() else {}
    # What draws random numbers has no audit of a public operator to choose from.
    chosen = [o.name for o in select(suite, options.ops.split(",")) if o.name not in random_overloads()]
    if options.missing:
        chosen = [name for name in chosen if name not in shipped]
    if options.check:
        chosen = random.sample(chosen, min(options.sample, len(chosen)))
    tasks = [(name, options.suite, options.family, shipped.get(name, {}), options.grow) for name in chosen]
    wrong, written = [], 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for done, (name, found) in enumerate(track(arriving(pool, tasks), "choosing", total=len(tasks)), 1):
            if options.check and found != shipped.get(name, {}):
                wrong.append(name)
            shipped[name] = found
            if not options.check and done % KEPT_EVERY == 0:
                write_breadth(path, {name: shipped[name] for name in operators if name in shipped})
    if not options.check:  # also where some never came
        written = write_breadth(path, {name: shipped[name] for name in operators if name in shipped})
    for name in wrong:
        print(f"{path.name}: {name} would be chosen otherwise; write it anew with scripts/gate_breadth.py")
    if not options.check:
        print(f"{written} cases of {sum(map(bool, shipped.values()))} operators in {path.name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
