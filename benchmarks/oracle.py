"""Judge PyTorch with itself: every eligible operator's own CPU implementation, run as a candidate, must pass.

    python benchmarks/oracle.py [--suite opinfo|audit] [--ops GLOB] [--jobs N]

What fails here is a fault of the suite or the judge, not of a kernel: a case that cannot cross the border, a result
that differs between two runs, a mutation or alias misread. Guards and linter are off, since PyTorch does the work.
It computes on host views of the memory of `vpe:permissive`, the whole operator at once, since torch would take some
composite operators apart on a device from outside that the CPU has in one piece.
Prints the cases per second and per judge process: the judge's own cost, with next to nothing to compute.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.judge import JudgePool
from bringup.judge.guards import IDS
from bringup.operators import Operator
from bringup.suites import get_suite, select
from bringup.verdict import Verdict

SOURCE = """
import warnings
warnings.simplefilter("ignore")
from torch.utils._pytree import tree_map
from bringup.suites import get_suite
from bringup.vpe.device.fallback import _Exchange
OP = get_suite("opinfo").operator({name!r})
REFERENCE = get_suite("opinfo").materialise(OP.name, OP.dtypes[0])[0].reference

def wrapper(*args, **kwargs):
    exchange = _Exchange()
    out = {{name: tree_map(exchange.out_to_host, kwargs.pop(name)) for name in ("out",) if name in kwargs}}
    args, kwargs = tree_map(exchange.to_host, (args, kwargs))
    with torch.no_grad():
        result = REFERENCE(*args, **kwargs, **out)
    exchange.settle()
    return tree_map(exchange.to_device, result)
"""


async def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="opinfo")
    parser.add_argument("--ops", default="all")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    operators = select(get_suite(options.suite), [options.ops])
    verdicts: dict[str, Verdict] = {}
    async with JudgePool("vpe:permissive", JudgeConfig(without_guards=IDS), jobs=options.jobs, compiles=False) as judge:
        limit = asyncio.Semaphore(options.jobs)

        async def one(operator: Operator) -> None:
            async with limit:
                candidate = Candidate(source=SOURCE.format(name=operator.name))
                verdicts[operator.name] = await judge.judge(candidate, operator, keep_going=True)

        await judge.judge(Candidate(source=SOURCE.format(name="abs")), operators[0])  # imports are not judging
        began = time.perf_counter()
        await asyncio.gather(*(one(operator) for operator in operators))
        seconds = time.perf_counter() - began
    kinds = Counter(v.kind for v in verdicts.values())
    cases = sum(v.cases_passed + len(v.failures) for v in verdicts.values())
    for name, verdict in sorted(verdicts.items()):
        if not verdict.passed:
            done = f"{verdict.cases_passed}/{verdict.cases_total}"
            print(f"{name:45} {verdict.kind:10} {done:>9} {verdict.case or ''!s:40} {verdict.summary[:140]}")
    print(dict(kinds))
    print(
        f"{len(verdicts)} operators, {cases} cases in {seconds:.1f} s with {options.jobs} judges: "
        f"{cases / seconds / options.jobs:.0f} cases/s per judge process"
    )


if __name__ == "__main__":
    asyncio.run(main())
