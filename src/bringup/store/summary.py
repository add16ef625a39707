"""Folds events into what tables and reports show: one summary per operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from bringup.clients import Usage
from bringup.store.events import (
    AttemptStarted,
    CallFinished,
    CallStarted,
    Debugged,
    DialogStarted,
    Judged,
    Linted,
    OperatorInfo,
    Outcome,
    Parsed,
    RunStarted,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    StoredEvent,
    Summarised,
)
from bringup.verdict import Record, VerdictKind

TurnResult = Literal[VerdictKind, "format"]  # a reply without a module is 'format': there was nothing to judge


class Turn(Record):
    """One model call that was answered, and what became of its reply."""

    attempt: int
    turn: int
    dialog: int = 1
    result: TurnResult | None = None  # None: the run stopped before the reply was judged
    summary: str = ""
    candidate: str | None = None
    client: str = ""  # who was asked, as `name:model`; empty in runs of older versions
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0  # model time
    judge_seconds: float = 0.0


class SessionSummary(Record):
    """What became of one session, or of one operator: all its sessions together, see `of_operator`.

    `outcome` is None while the session is open or was never started. `verdict` is the kind of the last judged or
    linted candidate, 'untested' when there was none. Tokens and cost include the summariser's; `calls` does not.
    """

    operator: str
    session: str = ""  # its id; of an operator with several, the one that the verdict and the candidate are from
    category: str = ""
    case_counts: dict[str, int] = Field(default_factory=dict)
    outcome: Outcome | None = None
    reason: str = ""
    started: bool = False
    verdict: VerdictKind = "untested"
    verdict_summary: str = ""
    verdict_blob: str | None = None  # the whole verdict of the last judged candidate
    candidate: str | None = None  # the covering candidate, else the latest
    attempts: int = 0
    dialogs: int = 0
    calls: int = 0
    summariser_calls: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    cases_passed: int = 0
    cases_total: int = 0
    passed_by_dtype: dict[str, int] = Field(default_factory=dict)
    turns: tuple[Turn, ...] = ()
    begun_at: float | None = None
    ended_at: float | None = None
    model_seconds: float = 0.0
    judge_seconds: float = 0.0

    @property
    def covered(self) -> bool:
        """Whether every case passed."""
        return self.outcome == "covered"

    @property
    def applicable(self) -> bool:
        """Whether the target can judge the operator."""
        return self.outcome != "not_applicable"

    @property
    def tokens(self) -> int:
        """Input and output tokens of all calls."""
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def state(self) -> str:
        """One word for tables: the outcome, `open` for a session under way, `waiting` for one not begun."""
        return self.outcome or ("open" if self.started else "waiting")

    def without_times(self) -> SessionSummary:
        """Return the same summary with every clock reading at zero, for comparing runs."""
        turns = tuple(turn.model_copy(update={"seconds": 0.0, "judge_seconds": 0.0}) for turn in self.turns)
        return self.model_copy(
            update={"turns": turns, "begun_at": None, "ended_at": None, "model_seconds": 0.0, "judge_seconds": 0.0}
        )


def add_usage(a: Usage, b: Usage) -> Usage:
    """Return the sum of two token counts; it is an estimate when either is."""
    return Usage(
        input_tokens=a.input_tokens + b.input_tokens,
        output_tokens=a.output_tokens + b.output_tokens,
        reasoning_tokens=a.reasoning_tokens + b.reasoning_tokens,
        cached_tokens=a.cached_tokens + b.cached_tokens,
        estimated=a.estimated or b.estimated,
    )


class _Builder:
    """Collects one operator's events; plain attributes, since a frozen record would be copied at every event."""

    def __init__(self, session: str, info: OperatorInfo) -> None:
        self.data: dict[str, object] = {
            "operator": info.name,
            "session": session,
            "category": info.category,
            "case_counts": info.case_counts,
        }
        self.turns: list[dict[str, object]] = []
        self.usage = Usage()
        self.cost: float | None = None
        self.counts = {"attempts": 0, "dialogs": 0, "calls": 0, "summariser_calls": 0}
        self.seconds = {"model_seconds": 0.0, "judge_seconds": 0.0}
        self.dialog = 1
        self.client = ""

    def add(self, stored: StoredEvent) -> None:
        event = stored.event
        data = self.data
        data["ended_at"] = stored.time
        if isinstance(event, SessionStarted):
            data.update(started=True, begun_at=stored.time, candidate=event.refine)
        elif isinstance(event, SessionResumed):
            data.update(outcome=None, reason="")
        elif isinstance(event, AttemptStarted):
            self.counts["attempts"] = event.attempt
        elif isinstance(event, DialogStarted):
            self.counts["dialogs"] += 1
            self.dialog = event.dialog
        elif isinstance(event, CallFinished):
            self._call(event)
        elif isinstance(event, Parsed):
            if event.candidate is None:
                explanation = event.problem.explanation if event.problem else "no module"
                self._result(result="format", summary=explanation.partition("\n")[0])
            else:
                data["candidate"] = event.candidate
                self._result(candidate=event.candidate)
        elif isinstance(event, Linted):
            if event.violations:
                first = event.violations[0]
                more = f" (+{len(event.violations) - 1} more)" if len(event.violations) > 1 else ""
                summary = f"line {first.line}: {first.message}{more}"
                data.update(verdict="lint", verdict_summary=summary)
                self._result(result="lint", summary=summary)
        elif isinstance(event, Judged):
            self._judged(event)
        elif isinstance(event, SessionFinished):
            data.update(outcome=event.outcome, reason=event.reason)
            if event.candidate:
                data["candidate"] = event.candidate
        elif isinstance(event, CallStarted):
            if event.role == "generate":
                self.client = event.client
        elif isinstance(event, Debugged | Summarised):
            pass

    def _call(self, event: CallFinished) -> None:
        self.usage = add_usage(self.usage, event.usage)
        if event.cost is not None:
            self.cost = (self.cost or 0.0) + event.cost
        self.seconds["model_seconds"] += event.seconds
        if event.role != "generate":
            self.counts["summariser_calls"] += 1
            return
        self.counts["calls"] += 1
        self.turns.append(
            {
                "attempt": event.attempt,
                "turn": event.turn,
                "dialog": self.dialog,
                "client": self.client,
                "tokens": event.usage.input_tokens + event.usage.output_tokens,
                "cost": event.cost,
                "seconds": event.seconds,
            }
        )

    def _judged(self, event: Judged) -> None:
        self.seconds["judge_seconds"] += event.seconds
        self.data.update(
            verdict=event.result,
            verdict_summary=event.summary,
            verdict_blob=event.verdict,
            cases_passed=event.cases_passed,
            cases_total=event.cases_total,
            passed_by_dtype=event.passed_by_dtype,
        )
        self._result(result=event.result, summary=event.summary, judge_seconds=event.seconds)

    def _result(self, **fields: object) -> None:
        if self.turns:
            self.turns[-1].update(fields)

    def build(self) -> SessionSummary:
        return SessionSummary.model_validate(
            {
                **self.data,
                **self.counts,
                **self.seconds,
                "usage": self.usage,
                "cost": self.cost,
                "turns": [Turn.model_validate(turn) for turn in self.turns],
            }
        )


class SummaryFold:
    """Folds events one by one, for a live view; `build` and `sessions` may be called at any time."""

    def __init__(self) -> None:
        self._infos: dict[str, OperatorInfo] = {}
        self._builders: dict[str, dict[str, _Builder]] = {}  # operator -> session -> what is known of it

    def add(self, stored: StoredEvent) -> None:
        """Take one more event."""
        if isinstance(stored.event, RunStarted):
            for info in stored.event.operators:
                self._infos[info.name] = info
                self._builders[info.name] = {info.name: _Builder(info.name, info)}
        elif stored.operator is not None:
            session = stored.session or stored.operator
            builders = self._builders.setdefault(stored.operator, {})
            if session not in builders:
                info = self._infos.get(stored.operator, OperatorInfo(name=stored.operator, category=""))
                builders[session] = _Builder(session, info)
            builders[session].add(stored)

    def sessions(self) -> dict[str, SessionSummary]:
        """Return one summary per session by its id, the operators in the run's order."""
        return {
            session: builder.build() for builders in self._builders.values() for session, builder in builders.items()
        }

    def build(self) -> dict[str, SessionSummary]:
        """Return one summary per operator, in the run's order."""
        return {
            name: of_operator([builder.build() for builder in builders.values()])
            for name, builders in self._builders.items()
        }


def of_operator(sessions: Sequence[SessionSummary]) -> SessionSummary:
    """Return what became of an operator from what became of its sessions (at least one).

    The operator is covered when one of them covered it, and open as long as none did and one is open. Calls, tokens,
    cost and times are those of all sessions; verdict, cases and candidate those of the session that decides.
    """
    begun = [session for session in sessions if session.started] or list(sessions[:1])
    if len(begun) == 1:
        return begun[0]
    decides = min(begun, key=lambda session: _PRECEDENCE.index(session.outcome))  # the first of equals
    costs = [session.cost for session in begun if session.cost is not None]
    usage = Usage()
    for session in begun:
        usage = add_usage(usage, session.usage)
    return decides.model_copy(
        update={
            "usage": usage,
            "cost": sum(costs) if costs else None,
            "turns": tuple(turn for session in begun for turn in session.turns),
            "begun_at": min((s.begun_at for s in begun if s.begun_at is not None), default=None),
            "ended_at": max((s.ended_at for s in begun if s.ended_at is not None), default=None),
            **{name: sum(getattr(session, name) for session in begun) for name in _SUMMED},
        }
    )


_PRECEDENCE = ("covered", None, "stopped", "unanswered", "exhausted", "not_applicable")
_SUMMED = ("attempts", "dialogs", "calls", "summariser_calls", "model_seconds", "judge_seconds")


def summarise_events(events: Iterable[StoredEvent]) -> dict[str, SessionSummary]:
    """Fold the events of a run into one summary per operator."""
    return _folded(events).build()


def summarise_sessions(events: Iterable[StoredEvent]) -> dict[str, SessionSummary]:
    """Fold the events of a run into one summary per session, by the session's id."""
    return _folded(events).sessions()


def _folded(events: Iterable[StoredEvent]) -> SummaryFold:
    fold = SummaryFold()
    for stored in events:
        fold.add(stored)
    return fold
