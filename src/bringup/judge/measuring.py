"""Measure jobs: what a candidate's time is, beside what it is compared with. Records only; no torch.

A time counts only beside a passed verdict on the very cases that were timed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from bringup.candidate import digest
from bringup.config import JudgeLimits
from bringup.judge.job import VERSION, JudgeJob
from bringup.verdict import CallKind, CaseId, Record, Verdict

EAGER, COMPILE = "eager", "compile"
"""Names of the baselines that are PyTorch's own: the reference called eagerly, and through `torch.compile`."""

Bound = Literal["memory", "compute", "special", "latency", "launch", "unknown"]
"""What a call's time hangs on: bytes moved, arithmetic, special functions, too little parallel work to hide waiting,
the cost of launches themselves."""


class Baseline(Record):
    """What a candidate is compared with: PyTorch's own (`eager`, `compile`), or another candidate by its source."""

    name: str
    source: str = ""

    @model_validator(mode="after")
    def _known(self) -> Baseline:
        if not self.source and self.name not in {EAGER, COMPILE}:
            raise ValueError(f"the baseline {self.name} is neither {EAGER} nor {COMPILE}, and has no source")
        return self


class Timing(Record):
    """How times are taken. A device with a modelled clock is asked once: its times do not vary."""

    warm_up_seconds: float = Field(default=0.05, ge=0)
    repeats: int = Field(default=20, ge=3)  # at least, of each side, in turns
    seconds: float = Field(default=1.0, gt=0)  # for the repeats of one case; up to three times that while it is noisy
    width: float = Field(default=0.02, gt=0)  # half of the 95 % interval of the median, relative: narrow enough to stop
    flush_cache: bool = True  # write over the last-level cache before each repeat
    rotate: int = Field(default=3, ge=1)  # copies of the inputs at other addresses, taken in turns


class MeasureJob(Record):
    """Judge a candidate on some cases, and if they pass time each of them, candidate and baselines in turns."""

    version: Literal[1] = VERSION
    kind: Literal["measure"] = "measure"
    judge: JudgeJob  # its cases are those that are timed
    against: tuple[Baseline, ...] = ()
    timing: Timing = Timing()
    diagnose: bool = True  # say what bounds the time

    @property
    def digest(self) -> str:
        """SHA-256 of the whole job: the name of what comes of it."""
        return digest(self.model_dump_json(exclude={"judge": {"drawn"}}))

    @property
    def limits(self) -> JudgeLimits:
        """Those of the judge job."""
        return self.judge.limits

    @property
    def patience(self) -> float:
        """Seconds after which a referee that has not answered must itself be at fault: it keeps its own limits."""
        sides = 1 + len(self.against)
        counts = self.judge.operator.case_counts
        cases = sum(counts.get(d, 0) if chosen is None else len(chosen) for d, chosen in self.judge.cases.items())
        # each at its longest, which is once more after a pause
        timed = 2 * (self.timing.warm_up_seconds + 4 * self.timing.seconds) + self.limits.compile_seconds
        return sides * (self.judge.patience + cases * timed)


class Times(Record):
    """Seconds of one side in one case, over its repeats."""

    median: float = Field(gt=0)
    low: float = Field(gt=0)  # 10th percentile
    high: float = Field(gt=0)  # 90th percentile
    repeats: int = Field(default=1, ge=1)
    # half of the median's 95 % interval, relative; 1: too few repeats to say, 0: a modelled time, which does not vary
    width: float = Field(default=0.0, ge=0, le=1)


class LineCost(Record):
    """A line of a candidate's source that matters, and why."""

    line: int
    text: str
    figures: dict[str, float] = Field(default_factory=dict)  # by name with its unit, its share of the time first

    @property
    def words(self) -> str:
        """The line with its figures, as a person or a model is told."""
        return f"line {self.line}, `{self.text.strip()}`: {figures_text(self.figures)}"


def figures_text(figures: Mapping[str, float]) -> str:
    """Figures by name with its unit, in one line."""
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


class Diagnosis(Record):
    """What bounds a call on the device, the same for every profiler."""

    bound: Bound
    summary: str  # one or two sentences with figures
    share: float | None = None  # of what the device could do at most (roofline), 0 to 1
    figures: dict[str, float] = Field(default_factory=dict)  # by name with its unit: "GB/s", "TFLOP/s", "registers"
    lines: tuple[LineCost, ...] = ()  # the most expensive first
    profilers: tuple[str, ...] = ()  # whose figures these are
    missing: tuple[str, ...] = ()  # profilers that could not be used, each with the reason


class CaseTiming(Record):
    """One timed case. `device` is the candidate's time on the device, `host` what its wrapper takes on the host."""

    case: CaseId
    call: str = ""  # as text: wrapper(Tensor[f32, 3x4], dim=1)
    called: CallKind | None = None  # None: no tensor is among the arguments
    device: Times
    host: Times | None = None
    baselines: dict[str, Times] = Field(default_factory=dict)
    whole_call: bool = False  # timed with its wrapper: what it launches hangs on values
    notes: tuple[str, ...] = ()  # what makes the figures doubtful: throttling, noise, a baseline that failed
    diagnosis: Diagnosis | None = None

    def speedup(self, against: str | None = None) -> float | None:
        """Time of a baseline (by default of the fastest) over the candidate's; None where there is none."""
        return fitness({str(self.case): self.device.median}, references([self], against)) or None

    @property
    def doubt(self) -> float:
        """By how much, relative, the speed-up over the fastest baseline may be another."""
        fastest = min(self.baselines.values(), key=lambda times: times.median, default=None)
        return math.hypot(self.device.width, fastest.width if fastest is not None else 0.0)


class Measured(Record):
    """What came of a measure job. `cases` is empty unless the verdict passed."""

    verdict: Verdict
    cases: tuple[CaseTiming, ...] = ()
    clock: Literal["device", "model"] = "device"  # whose time: a clock's, or a model of a chip
    device: str = ""  # name of the device, with its clocks where they are known
    facts: dict[str, Any] = Field(default_factory=dict)  # of a device with a clock: what its target says, where it is
    seconds: float = 0.0  # that judging and timing took
    notes: tuple[str, ...] = ()  # what a reader of the times must know: cases that were judged and not timed
    error: str | None = None  # why nothing could be timed although the verdict passed

    def speedup(self, against: str | None = None) -> float:
        """`fitness` over a baseline (by default over the fastest of each case); 0 for what did not pass."""
        if not self.verdict.passed or self.error:
            return 0.0
        seconds = {str(case.case): case.device.median for case in self.cases}
        return fitness(seconds, references(self.cases, against))


def call_kind(args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallKind | None:
    """Return of what kind a call with these arguments is, as a library chooses variants; None without a tensor."""
    tensors = list(_tensors((*args, *kwargs.values())))
    if not tensors:
        return None
    return CallKind(
        dtype=str(tensors[0].dtype).removeprefix("torch."),
        rank=int(tensors[0].dim()),
        elements=max(int(tensor.numel()) for tensor in tensors),
    )


def _tensors(value: Any) -> Iterable[Any]:
    if callable(getattr(value, "numel", None)):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)


def references(cases: Iterable[CaseTiming], against: str | None = None) -> dict[str, float]:
    """Return the seconds of a baseline (by default of the fastest) by case; cases that have none are left out."""
    found: dict[str, float] = {}
    for case in cases:
        medians = [times.median for name, times in case.baselines.items() if against in (None, name)]
        if medians:
            found[str(case.case)] = min(medians)
    return found


def usable(seconds: float) -> bool:
    """Whether a time can be divided by: finite and above zero."""
    return math.isfinite(seconds) and seconds > 0


def fitness(
    seconds: Mapping[str, float], references: Mapping[str, float], weights: Mapping[str, float] | None = None
) -> float:
    """Return reference time over own time, the geometric mean over the cases that have both; 0 without any.

    `weights` say how much cases count; those that it lacks count 1. A time of a candidate that cannot be divided by
    makes all of them doubtful: 0. A case without a reference (its baseline failed; a call of an empty tensor asks
    nothing of the device) says nothing of the candidate.
    """
    if not all(map(usable, seconds.values())):
        return 0.0
    ratios = {case: references[case] / own for case, own in seconds.items() if usable(references.get(case, 0.0))}
    if not ratios:
        return 0.0
    if not weights:
        return statistics.geometric_mean(ratios.values())
    logs = [math.log(ratio) for ratio in ratios.values()]
    return math.exp(statistics.fmean(logs, [weights.get(case, 1.0) for case in ratios]))
