"""Where the time of judging goes: recorded kernels judged again, seconds by phase.

    python benchmarks/judging_profile.py [--set vpe-pe64] [--every N] [--cold]

Judges the last recorded candidate of every N-th of the set's chosen operators on its whole gate, one after the other
in one judge process, and prints what each phase took in all and in the operator where it took most of the time. `calls`
is the guest and the device at work, `references` PyTorch's results, `limits` the exact results in double precision and
the bounds around them, `inputs` the rebuilding of cases, `comparison` the rest of the decision. `--cold` compiles every
kernel anew. The guards' reruns are in the phases; their share stands below.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter

from bringup.clients.recording import RecordingSet, chosen_operators, find_set
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import JobTemplate, open_judge
from bringup.suites import get_suite


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="vpe-pe64")
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--cold", action="store_true")
    arguments = parser.parse_args()
    recorded = RecordingSet(find_set(arguments.set))
    assert recorded.manifest is not None
    target, suite = recorded.manifest.target, get_suite(recorded.manifest.suite)
    candidates = recorded.candidates()
    names = [name for name in chosen_operators(arguments.set) if name in candidates][:: arguments.every]
    config = JudgeConfig(kernel_cache=NO_CACHE if arguments.cold else "")
    template = JobTemplate(target, config)
    phases: Counter[str] = Counter()
    worst: dict[str, tuple[float, str]] = {}
    total = reruns = cases = 0.0
    async with open_judge(target, config, jobs=1) as judge:
        for name in names:
            verdict = await judge.judge(template.job(candidates[name], suite.operator(name)))
            total += verdict.seconds
            cases += verdict.cases_total
            reruns += sum(one["seconds"] for one in verdict.environment.reruns.values())
            for phase, seconds in verdict.environment.phases.items():
                phases[phase] += seconds  # type: ignore[assignment]
                worst[phase] = max(worst.get(phase, (0.0, "")), (seconds / verdict.seconds, name))
    print(f"{len(names)} operators, {cases:.0f} cases, {total:.1f} s{' with every kernel compiled' * arguments.cold}")
    for phase, seconds in phases.most_common():
        share, name = worst[phase]
        print(f"{phase:12} {seconds:7.1f} s  {100 * seconds / total:5.1f} %   most in {name}: {100 * share:.0f} %")
    print(f"reruns of the guards, in all phases: {reruns:.1f} s, {100 * reruns / total:.1f} %")


if __name__ == "__main__":
    asyncio.run(main())
