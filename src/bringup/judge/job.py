"""A judge job: everything that a verdict on a candidate hangs on, in one record that another process can judge."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from pydantic import Field, field_validator

from bringup.candidate import Candidate, digest
from bringup.config import JudgeConfig, JudgeLimits
from bringup.errors import ConfigError
from bringup.judge._contents import SuiteRef, TargetRef, suite_ref, target_ref
from bringup.judge.guards import IDS, guards_but
from bringup.operators import Operator
from bringup.targets import get_target, gpu_target
from bringup.verdict import Record

VERSION: Final = 1  # of the records; a job of another one is refused
Progress = Callable[[str, str], None]
"""Called with each case and its outcome as they come."""


class Report(Record):
    """What a verdict is to say beside the first failure."""

    keep_going: bool = False  # judge every case, not only up to the first failure
    failures: int = Field(default=1, ge=1)  # different failures to look for before giving a candidate up
    profile: bool = False  # the target's counters of each launch


class JudgeJob(Record):
    """One candidate, what it is judged by, and under which conditions.

    Jobs with equal digests get equal verdicts, as far as versions of PyTorch, Triton and bringup are the same.
    """

    version: Literal[1] = VERSION
    kind: Literal["judge"] = "judge"
    candidate: Candidate
    operator: Operator
    suite: SuiteRef  # where the operator's cases come from
    target: TargetRef
    cases: dict[str, tuple[int, ...] | None]  # by dtype the indices of the cases; None: all of them
    seed: int = 0  # of the cases
    fresh_seed: int = Field(ge=0)  # of the guards that draw; never `seed`
    drawn: bool = False  # whether nobody asked for this one, and another will do
    guards: tuple[str, ...] = IDS
    limits: JudgeLimits = JudgeLimits()
    compile_for: tuple[str, ...] = ()  # toolchains that must also compile every kernel
    report: Report = Report()

    @field_validator("guards")
    @classmethod
    def _known_guards(cls, guards: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [guard for guard in guards if guard not in IDS]:
            raise ValueError(f"there is no guard {unknown[0]} (another version of bringup?)")
        return guards

    @field_validator("compile_for")
    @classmethod
    def _known_toolchains(cls, specs: tuple[str, ...]) -> tuple[str, ...]:
        for spec in specs:
            gpu_target(spec)  # raises ValueError
        return specs

    def drawn_anew(self) -> JudgeJob:
        """The same under another seed of the guards, where nobody asked for this one."""
        return self.model_copy(update={"fresh_seed": _drawn(self.seed)}) if self.drawn else self

    @property
    def digest(self) -> str:
        """SHA-256 of the whole job: the name of its verdict."""
        return digest(self.model_dump_json(exclude={"drawn"}))  # by whom its seed was chosen is no part of it

    @property
    def patience(self) -> float:
        """Seconds after which a referee that has not answered must itself be at fault: it keeps its own limits."""
        return patience(self.limits)

    def takes(self, dtype: str, index: int) -> bool:
        """Whether the case is among those asked for."""
        wanted = self.cases.get(dtype, ())
        return wanted is None or index in wanted


class ReplayJob(Record):
    """A tape to run in the device process, without the candidate that it was recorded from."""

    version: Literal[1] = VERSION
    kind: Literal["replay"] = "replay"
    tape: str  # file of the machine that the executor works on
    times: int = Field(default=1, ge=1)
    order: int | None = None  # seed for the order of programs; None: the usual one
    limits: JudgeLimits = JudgeLimits()

    @property
    def patience(self) -> float:
        """As of a judge job."""
        return patience(self.limits)


class Replayed(Record):
    """What came of a tape. `error` says why nothing did."""

    seconds: tuple[float, ...] = ()  # of each run on the device
    same: bool = False  # whether the results are the recorded ones, bit for bit
    repeats: bool = False  # whether they are those of each other
    account: dict[str, Any] = Field(default_factory=dict)  # what the run has asked of the device
    counters: tuple[dict[str, Any], ...] = ()  # the target's, of each launch of the last run
    about: dict[str, Any] = Field(default_factory=dict)  # what the tape says of itself
    error: str | None = None


def patience(limits: JudgeLimits) -> float:
    """Seconds that judging one candidate takes at most, and some more."""
    return limits.candidate_seconds + 20 * limits.compile_seconds + 60


class JobTemplate:
    """What the jobs of one target and one configuration have in common."""

    def __init__(self, target: str, config: JudgeConfig | None = None, *, compiles: bool = True) -> None:
        """Describe them. Without `compiles` no further toolchain compiles the kernels.

        Raises UnknownName for a target or guard that is not known, ConfigError for a profile or toolchain.
        """
        self.config = config or JudgeConfig()
        self.target = target_ref(target)
        self.guards = guards_but(self.config.without_guards)
        wanted = get_target(target).compile_for if self.config.compile_for is None else self.config.compile_for
        self.compile_for = tuple(wanted) if compiles else ()
        for spec in self.compile_for:
            try:
                gpu_target(spec)
            except ValueError as error:
                raise ConfigError("judge.compile_for", str(error)) from None

    def job(
        self,
        candidate: Candidate,
        operator: Operator,
        *,
        dtypes: Iterable[str] | None = None,
        cases: Iterable[int] | Mapping[str, tuple[int, ...] | None] | None = None,
        seed: int = 0,
        fresh_seed: int | None = None,
        keep_going: bool = False,
        failures: int = 1,
        profile: bool = False,
        without_guards: Iterable[str] = (),
        limits: JudgeLimits | None = None,
    ) -> JudgeJob:
        """Return the job of judging `candidate` on the operator's cases of `dtypes` (by default all).

        Args:
            candidate: what is judged.
            operator: what it must do.
            dtypes: of the cases; those that the operator has no case in say nothing.
            cases: indices in every one of the dtypes, or indices by dtype, which `dtypes` then does not limit.
            seed: of the cases.
            fresh_seed: of the guards that draw, to judge as before; by default the configuration's, or drawn now.
            keep_going: whether every case is judged, as the configuration may say already.
            failures: different failures that the verdict tells of.
            profile: whether the target's counters are reported.
            without_guards: guards left out beside those of the configuration. Raises UnknownName.
            limits: instead of the configuration's.
        """
        if not isinstance(cases, Mapping):
            indices = tuple(cases or ()) or None
            # One question has one digest, whichever dtypes were named beside those that the operator has cases in.
            asked = set(operator.dtypes if dtypes is None else dtypes)
            cases = {dtype: indices for dtype in operator.dtypes if dtype in asked}
        return JudgeJob(
            candidate=candidate,
            operator=operator,
            suite=suite_ref(operator.suite),
            target=self.target,
            cases=dict(cases),
            seed=seed,
            fresh_seed=self._fresh_seed(fresh_seed, seed),
            drawn=fresh_seed is None and self.config.fresh_seed is None,
            guards=tuple(guard for guard in guards_but(without_guards) if guard in self.guards),
            limits=limits or self.config.limits,
            compile_for=self.compile_for,
            report=Report(keep_going=keep_going or self.config.keep_going, failures=failures, profile=profile),
        )

    def _fresh_seed(self, wanted: int | None, seed: int) -> int:
        """A seed that no candidate can know, unless one is wanted; never the seed of the cases themselves."""
        chosen = self.config.fresh_seed if wanted is None else wanted
        return _drawn(seed) if chosen is None else chosen if chosen != seed else chosen + 1


def _drawn(seed: int) -> int:
    chosen = secrets.randbelow(1 << 31)
    return chosen if chosen != seed else chosen + 1
