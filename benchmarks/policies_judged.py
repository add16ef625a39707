"""Policies at equal node budgets on a modelled chip, with repetitions. No model is asked.

    python benchmarks/policies_judged.py [--ops A,B] [--target T] [--nodes 24] [--repetitions 5] [--json FILE]

In the place of a model there is a blind author: it takes the kernels of the prompt and changes one or two things that
their source leaves open (block sizes, programs, order of tiles; of two kernels it joins the choices), drawn from a seed
of its own; one answer in ten is broken. All policies get the same author, and the same number of nodes. Printed: the
best fitness after a quarter, half and all of the nodes, median and range over the repetitions. The tuner `parameters`
stands beside them. Modelled times do not vary, so that every candidate is judged and timed once for all searches.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from bringup.clients import Call, Message, Sampling
from bringup.clients.scripted import ScriptedClient
from bringup.config import RunConfig
from bringup.judge import Judge, JudgeJob, Measured, MeasureJob, Progress, Replayed, ReplayJob, open_judge
from bringup.runs import Services, assemble
from bringup.search import running
from bringup.search.parameters import apply, freedom_of, space
from bringup.targets import get_target
from bringup.verdict import Verdict

POLICIES = ("one-shot", "linear", "greedy", "mcts", "islands", "parameters")
SHOWN = re.compile(r"^### Kernel .*?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BROKEN = 0.1


class Remembering:
    """A judge that judges and times each source once."""

    def __init__(self, judge: Judge) -> None:
        self.judge_, self.asked = judge, 0
        self.known: dict[tuple[str, str], Any] = {}

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        """Return the verdict, from memory where it is known."""
        key = ("judge", job.candidate.digest)
        if key not in self.known:
            self.asked += 1
            self.known[key] = await self.judge_.judge(job)
        return self.known[key]

    async def measure(self, job: MeasureJob, progress: Progress | None = None) -> Measured:
        """Return the times, from memory where they are known."""
        key = ("measure", job.judge.candidate.digest)
        if key not in self.known:
            self.asked += 1
            self.known[key] = await self.judge_.measure(job)
        return self.known[key]

    async def replay(self, job: ReplayJob) -> Replayed:
        """Pass the job on."""
        return await self.judge_.replay(job)

    async def close(self) -> None:
        """It serves the next search."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


class Author:
    """Answers a prompt with a variant of the kernels that it shows."""

    def __init__(self, target: str, seed: int) -> None:
        self.freedom, self.seed = freedom_of(get_target(target)), seed

    def __call__(self, messages: Sequence[Message], sampling: Sampling, call: Call) -> str:
        """Return a reply: one or two changes of the first kernel shown, joined with the second's choices."""
        rng = random.Random(f"{self.seed}/{call.node}/{call.turn}")
        sources = SHOWN.findall(messages[-1].content)
        if not sources or rng.random() < BROKEN:
            return "```python\ndef wrapper(*args, **kwargs):\n    return no_such_name\n```"
        known = space(sources[0], self.freedom)
        values = {p.name: p.present for p in known.parameters}
        if len(sources) > 1:  # the second parent's values where the sources leave the same open
            other = {p.name: p.present for p in space(sources[1], self.freedom).parameters}
            for name, value in other.items():
                parameter = known.parameter(name)
                if parameter is not None and value in parameter.choices and rng.random() < 0.5:
                    values[name] = value
        for parameter in rng.sample(known.parameters, min(rng.randint(1, 2), len(known.parameters))):
            at = parameter.choices.index(values[parameter.name])
            near = [i for i in (at - 2, at - 1, at + 1, at + 2) if 0 <= i < len(parameter.choices)]
            if near:
                values[parameter.name] = parameter.choices[rng.choice(near)]
        return f"Change: {known.choice(values)}\n```python\n{apply(sources[0], known.choice(values))}\n```"


async def search(op: str, policy: str, repetition: int, options: argparse.Namespace, judge: Any, root: Path) -> Any:
    """Run one search; return its best fitness after each node."""
    config = RunConfig.model_validate(
        {
            "suite": options.suite,
            "ops": (op,),
            "target": options.target,
            "seed": 0,
            "client": {"name": "scripted"},
            "search": {
                "policy": policy, "nodes": options.nodes, "drafts": options.drafts, "calls": 1, "warm": 0,
                "gate": "improvements", "remember": False, "look_up": False, "restart": None,
            },
        }
    )  # fmt: skip
    author = Author(options.target, repetition)

    @asynccontextmanager
    async def assembled(given: RunConfig, run_dir: Path) -> AsyncIterator[Services]:
        async with assemble(given, run_dir, client=ScriptedClient(script=author)) as services:
            await services.judge.close()  # not started yet: the one of all searches takes its place
            yield replace(services, judge=judge)

    plan = await asyncio.to_thread(running.make_plan, config, root / "none")
    # the cases stay the same; the policy's draws and the tuner's differ with the repetition
    seeded = plan.config.model_copy(update={"seed": repetition})
    result = await running.start(replace(plan, config=seeded), root, assemble=assembled)
    return [value for _, value in result.graph.curve()]


async def main() -> None:
    """Run all searches and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default="softmax,mm")
    parser.add_argument("--suite", default="shaped:?small=1")
    parser.add_argument("--target", default="vpe:pe64")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--nodes", type=int, default=24)
    parser.add_argument("--drafts", type=int, default=4)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    curves: dict[str, dict[str, list[list[float]]]] = {}
    async with open_judge(options.target, jobs=options.jobs) as pool:
        for op in options.ops.split(","):
            judge, began = Remembering(pool), time.monotonic()
            for policy in options.policies.split(","):
                with tempfile.TemporaryDirectory() as folder:
                    found = [
                        await search(op, policy, repetition, options, judge, Path(folder))
                        for repetition in range(options.repetitions)
                    ]
                curves.setdefault(op, {})[policy] = found
                marks = [max(1, options.nodes // 4), options.nodes // 2, options.nodes]
                cells = []
                for mark in marks:
                    values = sorted(curve[min(mark, len(curve) - 1)] for curve in found)
                    cells.append(f"{statistics.median(values):.3f} ({values[0]:.3f} to {values[-1]:.3f})")
                print(f"{op:12} {policy:11} after {marks}: {'   '.join(cells)}", flush=True)
            print(f"{op}: {judge.asked} jobs, {time.monotonic() - began:.0f} s", flush=True)
            if options.json:
                options.json.write_text(json.dumps(curves, indent=1) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
