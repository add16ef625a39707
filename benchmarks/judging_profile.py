"""Where the time of judging goes: recorded kernels judged again, seconds by phase and by guard.

    python benchmarks/judging_profile.py [--set vpe-pe64] [--every N | --draw N [--seed S] | --ops A,B] [--cold]
    python benchmarks/judging_profile.py --run RUN

Judges the last recorded candidate of the operators on its whole gate, one after the other in one judge process: every
N-th of the set's chosen operators, N drawn from all of the set, or those named. Prints what each phase took in all and
in the operator where it took most of the time. `calls` is the guest and the device at work, `references` PyTorch's
results, `limits` the exact results in double precision and the bounds around them, `inputs` the rebuilding of cases,
`comparison` the rest of the decision, `rest` what guards make of cases. The guards' reruns are in the phases; what each
guard took stands below. The last lines say what a case and a verdict cost, and what that makes for the whole gate of
the recording's target, on two cores. `--cold` compiles every kernel anew. `--run`: the same figures of the verdicts
that a run holds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

from bringup.clients.recording import RecordingSet, chosen_operators, find_set
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import JobTemplate, open_judge
from bringup.store import Judged, open_run
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.verdict import Verdict

CORES = 2


class Profile:
    """Seconds of verdicts so far."""

    def __init__(self) -> None:
        self.phases: defaultdict[str, float] = defaultdict(float)
        self.worst: dict[str, tuple[float, str]] = {}
        self.guards: defaultdict[str, float] = defaultdict(float)
        self.reruns: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.failed: list[str] = []
        self.total, self.cases, self.gate = 0.0, 0, 0.0

    def add(self, name: str, verdict: Verdict) -> None:
        """Count a verdict."""
        self.kinds[verdict.kind] += 1
        self.failed += [] if verdict.passed else [f"{name}: {verdict.guard or verdict.kind}: {verdict.summary[:160]}"]
        self.total += verdict.seconds
        self.cases += verdict.cases_total
        environment = verdict.environment
        for guard, one in environment.reruns.items():
            self.guards[guard] += one["seconds"]
            self.reruns[guard] += int(one["runs"])
        self.gate += verdict.seconds - sum(one["seconds"] for one in environment.reruns.values())
        for phase, seconds in environment.phases.items():
            self.phases[phase] += seconds
            self.worst[phase] = max(self.worst.get(phase, (0.0, "")), (seconds / verdict.seconds, name))

    def show(self) -> None:
        """Print what did not pass, phases and guards."""
        for line in self.failed:
            print(f"  {line}")
        for phase, seconds in sorted(self.phases.items(), key=lambda item: -item[1]):
            share, name = self.worst[phase]
            print(f"{phase:12} {seconds:7.1f} s  {self._share(seconds)}   most in {name}: {100 * share:.0f} %")
        print(f"guards' reruns, in all phases: {self.total - self.gate:.1f} s, {self._share(self.total - self.gate)}")
        for guard, seconds in sorted(self.guards.items(), key=lambda item: -item[1]):
            print(f"  {guard:10} {seconds:7.1f} s  {self._share(seconds)}   {self.reruns[guard]} calls")

    def _share(self, seconds: float) -> str:
        return f"{100 * seconds / self.total:5.1f} %"


def whole_gate(found: Profile, set_name: str) -> None:
    """Print what the figures make for all operators that the set's target can judge."""
    recorded = RecordingSet(find_set(set_name))
    assert recorded.manifest is not None
    features = get_target(recorded.manifest.target).features
    suite = get_suite(recorded.manifest.suite)
    every = [op for op in suite.operators() if op.exclusion is None and op.not_applicable(features) is None]
    cases, own = sum(op.cases_total for op in every), sum(sum(op.own_counts.values()) for op in every)
    verdicts = found.kinds.total()
    a_case, guards = found.gate / found.cases, (found.total - found.gate) / verdicts
    print(f"a case without guards: {1e3 * a_case:.1f} ms; the guards of a verdict: {guards:.2f} s")
    gate, all_guards = a_case * cases / CORES / 60, guards * len(every) / CORES / 60
    print(
        f"the whole gate of {recorded.manifest.target}, {len(every)} operators, {cases} cases ({own} of OpInfo's own), "
        f"on {CORES} cores: about {gate:.0f} minutes, and {all_guards:.0f} for the guards"
    )


async def judged(arguments: argparse.Namespace) -> AsyncIterator[tuple[str, Verdict]]:
    """Judge recorded candidates again."""
    recorded = RecordingSet(find_set(arguments.set))
    assert recorded.manifest is not None
    target, suite = recorded.manifest.target, get_suite(recorded.manifest.suite)
    candidates = recorded.candidates()
    if arguments.ops:
        names = arguments.ops.split(",")
    elif arguments.draw:
        names = sorted(random.Random(arguments.seed).sample(sorted(candidates), arguments.draw))
    else:
        names = [name for name in chosen_operators(arguments.set) if name in candidates][:: arguments.every]
    config = JudgeConfig(kernel_cache=NO_CACHE if arguments.cold else "")
    template = JobTemplate(target, config)
    async with open_judge(target, config, jobs=1) as judge:
        for name in names:
            yield name, await judge.judge(template.job(candidates[name], suite.operator(name)))


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="vpe-pe64")
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ops", default="")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--cold", action="store_true")
    arguments = parser.parse_args()
    found = Profile()
    if arguments.run is not None:
        with open_run(arguments.run) as run:
            for stored in run.events():
                if isinstance(stored.event, Judged):
                    verdict = Verdict.model_validate_json(run.blob(stored.event.verdict))
                    found.add(stored.operator or "", verdict)
    else:
        async for name, verdict in judged(arguments):
            found.add(name, verdict)
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds.most_common())
    if not found.total:
        raise SystemExit("no verdict was found")
    cold = " with every kernel compiled" * arguments.cold
    print(f"{found.kinds.total()} verdicts ({kinds}), {found.cases} cases, {found.total:.1f} s{cold}")
    found.show()
    if arguments.run is None:
        whole_gate(found, arguments.set)


if __name__ == "__main__":
    asyncio.run(main())
