"""A search that is killed again and again. One warm process forks a child for each life, which ends itself by SIGKILL.

Usage: search_kill_driver.py ROOT KILLS SEED. Prints JSON. Each child has its own engine, connections and leases. Lives
end at a commit that is drawn, before it, after it or a few milliseconds later: how far a life comes does not depend on
the machine's speed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from search_doubles import OPERATOR, Bench, FakeJudge, config, graph_of, reply

from bringup.errors import StoreError
from bringup.store import CallFinished, CallStarted, list_runs, open_run
from bringup.store.writer import RunLog

NODES, CALLS, LEASE = 14, 2, 0.3


def script() -> dict[str, Any]:
    """As data, so that the client finds the answer to a call in its log again; every first reply needs a repair."""
    return {OPERATOR: [reply(kind="lint"), reply(0.5)]}


async def live(root: Path) -> None:
    """Begin the search, or go on with it."""
    judge = FakeJudge(delay=0.004)
    bench = Bench(root / "runs", script(), judge, call_log=root / "calls.log", delay_seconds=0.004)
    begun = [folder for folder in list_runs(root / "runs") if has_begun(folder)]
    settings = config(policy="mcts", nodes=NODES, drafts=3, calls=CALLS, workers=3)
    if begun:
        await bench.resume(begun[-1], lease_seconds=LEASE)
    else:
        await bench.start(settings, lease_seconds=LEASE)


def has_begun(folder: Path) -> bool:
    """Whether its first node is stored: before, it has no start but the one that this driver gives."""
    try:
        with open_run(folder) as run:
            if run.started is None:
                return False
        return "0" in {node.id for node in graph_of(folder).nodes.values()}
    except StoreError:
        return False


def die_at(commit: int, when: str, seconds: float) -> None:
    """End this process by SIGKILL before its commit of this number, after it, or that many seconds later."""
    whole = RunLog._commit

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def counted(self: RunLog, group: Any) -> Any:
        here = self.commits + 1 == commit
        if here and when == "before":
            die()
        done = whole(self, group)
        if here and when == "after":
            die()
        if here:
            threading.Timer(seconds, die).start()
        return done

    RunLog._commit = counted  # type: ignore[method-assign]


def main(root: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    killed = 0
    while True:
        kill = (rng.randint(2, 8), rng.choice(("before", "after", "later")), rng.uniform(0.0, 0.02))
        child = os.fork()
        if child == 0:
            if killed < kills:
                die_at(*kill)
            with contextlib.redirect_stdout(sys.stderr):
                asyncio.run(live(root))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
        killed += 1
    folder = [folder for folder in list_runs(root / "runs") if has_begun(folder)][-1]
    with open_run(folder) as run:
        events = list(run.events())
    graph = graph_of(folder)
    finished = [stored.event.key for stored in events if isinstance(stored.event, CallFinished)]
    print(
        json.dumps(
            {
                "killed": killed,
                "spent": graph.spent,
                "open": len(graph.open),
                "ids": [node.id for node in graph],
                "results": sorted({node.result for node in graph}),
                "answered": (root / "calls.log").read_text().split(),
                "finished": finished,
                "begun": [stored.event.key for stored in events if isinstance(stored.event, CallStarted)],
                "ended": graph.ended.cause if graph.ended is not None else "",
                "kinds": [stored.event.kind for stored in events],
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
