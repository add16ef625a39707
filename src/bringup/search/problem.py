"""What is searched: an operator, the cases that are timed, and what a candidate is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bringup.candidate import Candidate
from bringup.config import RunConfig
from bringup.errors import ConfigError
from bringup.judge import JobTemplate, JudgeJob
from bringup.judge.guards import RERUNS
from bringup.judge.measuring import COMPILE, EAGER, Baseline, MeasureJob, usable
from bringup.operators import Operator
from bringup.suites import Suite, elements_of
from bringup.targets import Target, get_target
from bringup.verdict import CaseId

START = "start"
"""Name of the baseline that is the kernel which the search started from."""
CALL_AGAIN = tuple(guard.id for guard in RERUNS)
MOST_CASES = 4
"""Timed cases where nobody chose any."""


@dataclass(frozen=True)
class Problem:
    """An operator with its timed cases; its gate is the operator's own, and the timed cases."""

    operator: Operator
    jobs: JobTemplate
    cases: dict[str, tuple[int, ...]]  # timed, indices by dtype
    dtypes: tuple[str, ...]  # of the gate
    seed: int
    modelled: bool  # the target's clock is a model: times do not vary, and the start is the reference
    weights: dict[str, float] = field(default_factory=dict)  # how much timed cases count, by case; {}: all alike
    against: tuple[str, ...] = ()
    diagnose: bool = True
    failures: int = 1
    target: str = ""
    facts: dict[str, object] = field(default_factory=dict)  # of the chip

    def gate(self, candidate: Candidate) -> JudgeJob:
        """Return the job of judging a candidate on the operator's whole gate."""
        return self.jobs.job(candidate, self.operator, dtypes=self.dtypes, seed=self.seed, failures=self.failures)

    def measuring(self, candidate: Candidate, start: str | None) -> MeasureJob:
        """Return the job of timing a candidate. `start` is the source of the kernel that the search started from."""
        # Guards that call again need references of the timed sizes anew: left to the gate, which has these cases too.
        whole = set(self.cases) <= set(self.dtypes)
        judge = self.jobs.job(
            candidate, self.operator, cases=dict(self.cases), seed=self.seed, failures=self.failures,
            without_guards=CALL_AGAIN if whole else (),
        )  # fmt: skip
        baselines = []
        for name in self.against:
            if name != START:
                baselines.append(Baseline(name=name))
            elif start is not None and not self.modelled:  # a modelled time is taken once, with the start itself
                baselines.append(Baseline(name=START, source=start))
        return MeasureJob(judge=judge, against=tuple(baselines), diagnose=self.diagnose)


def make_problem(config: RunConfig, operator: Operator) -> Problem:
    """Return what the configuration searches; raises ConfigError for cases or baselines that cannot be."""
    search = config.search
    assert search is not None
    target = get_target(config.target)
    modelled = target.clock == "model"
    for name in search.against:
        if name not in (EAGER, COMPILE, START):
            raise ConfigError("search.against", f"no baseline '{name}'", f"use {EAGER}, {COMPILE} or {START}")
        if modelled and name != START:
            raise ConfigError(
                "search.against",
                f"target {config.target} has modelled times, and PyTorch's own operators have none there",
                f"compare with `{START}`, the kernel that the search starts from",
            )
    usual = (START,) if modelled else (EAGER, COMPILE)
    return Problem(
        operator=operator,
        jobs=JobTemplate(config.target, config.judge, compiles=config.states.compile),
        cases=_checked(operator, search.cases),
        dtypes=tuple(dtype for dtype in operator.dtypes if dtype in config.dtypes),
        seed=config.seed,
        modelled=modelled,
        weights=_weights(operator, search.cases, search.weights),
        against=search.against or usual,
        diagnose=search.diagnose,
        failures=config.judge.failures,
        target=config.target,
        facts=_facts(target),
    )


def _facts(target: Target) -> dict[str, object]:
    return dict(target.facts())


def _checked(operator: Operator, cases: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    for dtype, indices in cases.items():
        count = operator.case_counts.get(dtype, 0)
        wrong = [index for index in indices if not 0 <= index < count]
        if wrong or not indices:
            what = f"case {wrong[0]}" if wrong else "a case"
            raise ConfigError(
                "timed cases",
                f"{operator.name} has no {what} of {dtype}",
                f"there are 0 to {count - 1}" if count else "",
            )
    if not cases:
        raise ConfigError("timed cases", f"none of {operator.name} was chosen", "name some with --cases DTYPE:INDEX")
    return cases


def _weights(
    operator: Operator, cases: Mapping[str, tuple[int, ...]], weights: Mapping[str, tuple[float, ...]]
) -> dict[str, float]:
    """Return the weights by case; raises ConfigError for those that fit no case, or are no weights."""
    found: dict[str, float] = {}
    for dtype, given in weights.items():
        indices = cases.get(dtype, ())
        if len(given) != len(indices):
            raise ConfigError(
                "search.weights",
                f"{len(given)} of {dtype}, whose timed cases are {len(indices)}",
                "give one for each of search.cases",
            )
        if wrong := [weight for weight in given if not usable(weight)]:
            raise ConfigError("search.weights", f"{wrong[0]} is no weight", "give numbers above 0")
        for index, weight in zip(indices, given, strict=True):
            found[str(CaseId(operator=operator.name, dtype=dtype, index=index))] = weight
    return found


@dataclass(frozen=True)
class TimedCases:
    """The cases that a search times, indices by dtype, and how much each counts; no weights: all count alike."""

    cases: dict[str, tuple[int, ...]]
    weights: dict[str, tuple[float, ...]] = field(default_factory=dict)


def choose_cases(suite: Suite, operator: Operator, dtypes: Iterable[str], seed: int) -> TimedCases:
    """Choose cases to time where nobody has: those that the suite names (`Suite.timed`), else the largest.

    The largest are those of the first dtype that has any, by elements of all tensors: at most `MOST_CASES`, of
    different sizes. Builds the dtype's cases (imports torch).
    Raises ConfigError when no case has an element.
    """
    wanted = set(dtypes)
    judged = [dtype for dtype in operator.dtypes if dtype in wanted]
    named = {dtype: found for dtype, found in suite.timed(operator.name, judged, seed).items() if found}
    if named:
        cases = {dtype: tuple(sorted(found)) for dtype, found in named.items()}
        alike = len({weight for found in named.values() for weight in found.values()}) == 1
        weights = {dtype: tuple(named[dtype][index] for index in indices) for dtype, indices in cases.items()}
        return TimedCases(cases, {} if alike else weights)
    for dtype in judged:
        sizes: dict[int, int] = {}  # elements -> the first case of that size
        for inputs in suite.materialise(operator.name, dtype, seed):
            elements = elements_of((inputs.args, inputs.kwargs))
            if elements and not inputs.raises:
                sizes.setdefault(elements, inputs.case.index)
        if sizes:
            largest = sorted(sizes, reverse=True)[:MOST_CASES]
            return TimedCases({dtype: tuple(sorted(sizes[elements] for elements in largest))})
    raise ConfigError("timed cases", f"{operator.name} has no case with elements to time", "give sizes with --shapes")
