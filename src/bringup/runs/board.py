"""What a watcher of a run sees: a fold of events into counts, phases and recent news. No drawing here."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field

from bringup.store import (
    AttemptStarted,
    CallFailed,
    CallFinished,
    CallStarted,
    Diagnosed,
    Judged,
    Linted,
    Parsed,
    RunStarted,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    StoredEvent,
)

PHASES = ("waiting", "model", "summariser", "lint", "judge", "between steps")
OUTCOME_WORDS = ("covered", "exhausted", "unanswered", "stopped", "not applicable")


@dataclass
class _Session:
    name: str = ""
    phase: str = "waiting"
    attempt: int = 0
    calls: int = 0  # of all attempts
    turn: int = 0  # of this attempt
    begun: float = 0.0


@dataclass
class Board:
    """Counts over all operators of a run."""

    sessions: dict[str, _Session] = field(default_factory=dict)  # by id; most operators have one
    calls: int = 0
    summariser_calls: int = 0
    tokens: int = 0
    estimated: bool = False
    cost: float | None = None
    judged: Counter[str] = field(default_factory=Counter)
    news: deque[str] = field(default_factory=lambda: deque(maxlen=8))
    last_line: str | None = None  # news of the last event, for logs
    finished_here: int = 0  # sessions that this process brought to an end
    begun: float = field(default_factory=time.monotonic)
    live: bool = False  # False while earlier events are folded

    def add(self, stored: StoredEvent) -> None:
        """Take one event."""
        self.last_line = None
        event, name = stored.event, stored.operator
        if isinstance(event, RunStarted):
            self.sessions = {info.name: _Session(info.name) for info in event.operators}
        if name is None:
            return
        operator = self.sessions.setdefault(stored.session or name, _Session(name))
        if isinstance(event, SessionStarted | SessionResumed):
            operator.phase = "between steps"
            operator.begun = stored.time
        elif isinstance(event, AttemptStarted):
            operator.attempt = event.attempt
        elif isinstance(event, CallStarted):
            operator.phase = "model" if event.role == "generate" else "summariser"
        elif isinstance(event, CallFinished):
            self._call(operator, event)
        elif isinstance(event, CallFailed):
            operator.phase = "between steps"
            self._tell(f"{name}: call failed: {event.error}")
        elif isinstance(event, Parsed):
            operator.phase = "lint" if event.candidate else "between steps"
            if not event.candidate:
                self._tell(f"{name}: reply {self._place(operator)} has no module")
        elif isinstance(event, Linted):
            operator.phase = "between steps" if event.violations else "judge"
            if event.violations:
                more = f" and {len(event.violations) - 1} more" if len(event.violations) > 1 else ""
                self._tell(f"{name}: lint {self._place(operator)}: {event.violations[0].message}{more}")
        elif isinstance(event, Judged):
            operator.phase = "between steps"
            self.judged[event.result] += 1
            if event.result != "passed":
                self._tell(f"{name}: {event.result} {self._place(operator)}: {event.summary}")
        elif isinstance(event, Diagnosed):
            operator.phase = "between steps"
        elif isinstance(event, SessionFinished):
            self._finished(name, operator, event)

    def _call(self, operator: _Session, event: CallFinished) -> None:
        operator.phase = "between steps"
        self.tokens += event.usage.input_tokens + event.usage.output_tokens
        self.estimated = self.estimated or event.usage.estimated
        if event.cost is not None:
            self.cost = (self.cost or 0.0) + event.cost
        if event.role != "generate":
            self.summariser_calls += 1
        else:
            self.calls += 1
            operator.calls += 1
            operator.turn = event.turn

    def _finished(self, name: str, operator: _Session, event: SessionFinished) -> None:
        operator.phase = event.outcome.replace("_", " ")
        if self.live and event.outcome != "not_applicable":
            self.finished_here += 1
        if event.outcome == "covered":
            calls = f"{operator.calls} call{'s' if operator.calls != 1 else ''}"
            self._tell(f"{name}: covered after {calls}")
        elif event.outcome != "not_applicable":
            self._tell(f"{name}: {operator.phase}: {event.reason}")

    def _place(self, operator: _Session) -> str:
        attempt = f"attempt {operator.attempt}, " if operator.attempt > 1 else ""
        return f"({attempt}call {operator.turn})"

    def _tell(self, line: str) -> None:
        line = " ".join(line.split())
        self.last_line = line if len(line) <= 200 else f"{line[:199]}…"
        self.news.append(self.last_line)

    def phases(self) -> dict[str, int]:
        """Return how many sessions are in each phase or outcome, in the order of PHASES and OUTCOME_WORDS."""
        counts = Counter(session.phase for session in self.sessions.values())
        return {name: counts[name] for name in (*PHASES, *OUTCOME_WORDS) if counts[name]}

    @property
    def covered(self) -> int:
        """Operators covered so far."""
        return len({session.name for session in self.sessions.values() if session.phase == "covered"})

    @property
    def applicable(self) -> int:
        """Operators that the target can judge."""
        return len({session.name for session in self.sessions.values() if session.phase != "not applicable"})

    def seconds_left(self) -> float | None:
        """Estimate the time left from the pace of this process so far; None before the first session has ended."""
        ended = sum(session.phase in OUTCOME_WORDS for session in self.sessions.values())
        remaining = len(self.sessions) - ended
        if self.sessions and not remaining:
            return 0.0
        if not self.finished_here:
            return None
        return (time.monotonic() - self.begun) / self.finished_here * remaining
