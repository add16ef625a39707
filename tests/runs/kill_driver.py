"""A run that is killed again and again. One warm process forks a child for each life of the run and kills it.

Usage: kill_driver.py ROOT KILLS SEED, with tests/session on PYTHONPATH. Prints JSON. The child is a process of its
own with its own engine, database connections and lock, ended by SIGKILL at a random moment; only Python's imports are
shared.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from engine_doubles import config, dice
from run_doubles import MIX, Assembly, plan

from bringup.report import build_report, to_json, without_times
from bringup.runs import runner
from bringup.store import CallFinished, CallStarted, Judged, list_runs, open_run

OPERATORS = 12
LIMITS = {"attempts": 2, "calls": 6, "context_tokens": 1024, "context_reserve": 0.75}
SECTIONS = {"suite": "made-up", "attempts": LIMITS, "sessions": 5}
SUMMARISE = {"states": {"summarise": True}, "summariser": {"name": "scripted"}}


def script(seed: int) -> dict[str, list[list[str]]]:
    """As data, so that the client can find the answer to a call in its log again."""
    draw = dice(seed, MIX)

    class Call:
        role = "generate"

        def __init__(self, operator: str, attempt: int, turn: int) -> None:
            self.operator, self.attempt, self.turn = operator, attempt, turn

    return {
        op.name: [[draw(None, None, Call(op.name, a, t)) for t in range(1, 7)] for a in (1, 2)]
        for op in plan(OPERATORS).operators
    }


async def live(root: Path, seed: int) -> None:
    """Start the run, or go on with it."""
    assembly = Assembly(script(seed), call_log=root / "calls.log", delay=0.004)
    # only a run whose first event was stored can be resumed; one killed before that never began
    begun = [f for f in list_runs(root / "runs") if has_begun(f)]
    if begun:
        await runner.resume(begun[-1], assemble=assembly)
    else:
        await runner.start(config(**SECTIONS, **SUMMARISE), root / "runs", plan=plan(OPERATORS), assemble=assembly)


def has_begun(folder: Path) -> bool:
    from bringup.errors import StoreError

    try:
        with open_run(folder) as run:
            return bool(run.started)
    except StoreError:
        return False


def child(root: Path, seed: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        asyncio.run(live(root, seed))
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def report(folder: Path) -> tuple[dict[str, object], list[str], list[str], int]:
    with open_run(folder) as run:
        events = [stored.event for stored in run.events()]
        summaries = {name: s.without_times().model_dump(mode="json") for name, s in run.summaries().items()}
        for event in events:
            if isinstance(event, CallFinished):
                run.blob(event.reply)
            elif isinstance(event, Judged):
                run.verdict(event)
    answered = [e.key for e in events if isinstance(e, CallFinished)]
    started = [e.key for e in events if isinstance(e, CallStarted)]
    return summaries, answered, started, sum(isinstance(e, Judged) for e in events)


def page(folder: Path) -> str:
    return to_json(without_times(build_report([folder])))


def main(root: Path, kills: int, seed: int) -> dict[str, object]:
    rng = random.Random(seed)
    done = 0
    finished_early = 0
    rounds = []
    while done < kills:
        here = root / f"round{len(rounds)}"
        here.mkdir(parents=True)
        while True:
            pid = child(here, seed + len(rounds))
            if done < kills:
                time.sleep(rng.uniform(0.0, 0.25))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            if os.WIFSIGNALED(status):
                done += 1
                continue
            if os.WEXITSTATUS(status) != 0:
                raise SystemExit(f"a life of the run ended with {os.WEXITSTATUS(status)}")
            finished_early += 1
            break
        rounds.append(here)
    results = []
    for number, here in enumerate(rounds):
        whole = here / "whole"
        whole.mkdir()
        pid = child(whole, seed + number)
        os.waitpid(pid, 0)
        begun = [f for f in list_runs(here / "runs") if has_begun(f)]
        killed, answered, started, judged = report(begun[-1])
        expected, *_, expected_judged = report(list_runs(whole / "runs")[-1])
        asked = (here / "calls.log").read_text().split()
        results.append(
            {
                "equal": killed == expected,
                "same_report": page(begun[-1]) == page(list_runs(whole / "runs")[-1]),
                "begun": len(begun),
                "answered_twice": len(answered) - len(set(answered)),
                "asked_twice": len(asked) - len(set(asked)),
                "asked_but_lost": sorted(set(asked) - set(answered)),
                "judged": judged,
                "expected_judged": expected_judged,
                "calls": len(answered),
                "calls_begun": len(started),
            }
        )
    return {"kills": done, "rounds": results}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
