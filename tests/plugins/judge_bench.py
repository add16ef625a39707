"""A pool together with the configuration of its jobs, for tests that judge one candidate after the other."""

from __future__ import annotations

from typing import Any

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.judge import JobTemplate
from bringup.judge._pool import JudgePool
from bringup.operators import Operator
from bringup.suites import get_suite
from bringup.verdict import Verdict


class Bench(JudgePool):
    def __init__(self, target: str, config: JudgeConfig | None = None, *, jobs: int = 1, compiles: bool = True) -> None:
        config = config or JudgeConfig()
        self.template = JobTemplate(target, config, compiles=compiles)
        super().__init__(self.template.target, jobs=jobs, kernel_cache=config.kernel_cache)

    async def candidate(self, candidate: Candidate, operator: Operator, **options: Any) -> Verdict:
        told = {name: options.pop(name, None) for name in ("progress", "tapes")}
        return await self.judge(self.template.job(candidate, operator, **options), **told)

    async def maximum(self, source: str, dtype: str, seed: int, without: tuple[str, ...] = ()) -> Verdict:
        """Judge a text of `maximum` in float32 and one more dtype: on OpInfo's own cases, of a suite that has more."""
        own = get_suite("opinfo:alone").operator("maximum").case_counts
        cases = {name: tuple(range(own[name])) for name in ("float32", dtype)}
        operator = get_suite("opinfo").operator("maximum")
        return await self.candidate(
            Candidate(source=source), operator, cases=cases, fresh_seed=seed, without_guards=without
        )
