"""A session's state as a fold of its events. The live loop and a resumed one go through the same `apply`."""

from __future__ import annotations

from dataclasses import dataclass, field

from bringup.candidate import FormatProblem
from bringup.session.table import ENDS, On, Row, State, transition
from bringup.store import (
    AttemptStarted,
    CallFailed,
    CallFinished,
    CallStarted,
    Debugged,
    Diagnosed,
    DialogStarted,
    Event,
    Judged,
    Linted,
    Parsed,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    Summarised,
)
from bringup.verdict import Violation

_PAIR = 2  # a prompt and its reply: with more there has been a reply before
_FINDINGS = {"crash_dump": On.CRASH_DUMP, "long_log": On.LONG_LOG, "plain": On.PLAIN}


@dataclass
class Feedback:
    """What the next prompt of the dialog must tell; exactly one of the first three is set."""

    problem: FormatProblem | None = None  # the reply's format
    violations: tuple[Violation, ...] = ()
    judged: Judged | None = None
    debugged: str | None = None  # blob
    summary: str | None = None  # blob
    wanted: str | None = None  # blob: the candidate passed, and the goal wants more


@dataclass
class SessionState:
    """Everything that decides what a session does next. Texts are blobs' digests."""

    at: State = State.START
    started: bool = False
    refine: str | None = None  # the kernel that the session starts from; it is judged before the first call
    refine_feedback: Feedback | None = None  # what became of that kernel
    attempt: int = 0
    dialog: int = 0
    turn: int = 0  # calls answered in this attempt; 0: the kernel to refine
    messages: list[tuple[str, str]] = field(default_factory=list)  # (user | assistant, blob) of this dialog
    dialog_candidate: str | None = None  # what the first prompt of this dialog shows
    module: str | None = None  # the latest of this dialog, which the model has before it: edits are of this one
    system: str | None = None
    context_tokens: int = 0  # of the dialog up to and with the last reply
    pending: CallStarted | None = None  # begun, no reply stored
    reply: CallFinished | None = None  # stored, not yet parsed
    candidate: str | None = None  # the latest
    repeats: int = 0  # how often in a row a reply has had the module of the one before it
    feedback: Feedback | None = None
    outcome: str | None = None
    before: State = State.START  # where it stopped
    trail: list[Row] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether the session is at an end; a stopped one can be resumed."""
        return self.at in ENDS

    def _go(self, *conditions: On) -> None:
        for on in conditions:
            row = transition(self.at, on)
            self.trail.append(row)
            if row.to is State.BEFORE:
                self.at = self.before
            else:
                if row.to is State.STOPPED:
                    self.before = self.at
                self.at = row.to

    def apply(self, event: Event) -> None:
        """Take one event; raises NotInTable when the table does not allow it here."""
        if isinstance(event, CallStarted):
            self.pending = event
        elif isinstance(event, CallFinished):
            self._finished(event)
        elif isinstance(event, CallFailed):
            self.pending = None
        elif isinstance(event, Parsed):
            self._parsed(event)
        elif isinstance(event, Linted):
            if event.violations:
                self.feedback = Feedback(violations=event.violations)
                self._go(On.VIOLATIONS)
            else:
                self._go(On.LINT_OFF if event.skipped else On.CLEAN)
        elif isinstance(event, Judged):
            self._judged(event)
        elif isinstance(event, Diagnosed):
            self._go(_FINDINGS[event.finding])
        elif isinstance(event, Debugged):
            self._told().debugged = event.report
            self._go(On.DEBUGGED)
        elif isinstance(event, Summarised):
            self.reply = None
            self._told().summary = event.summary
            self._go(On.SUMMARISED)
        else:
            self._apply_frame(event)

    def _apply_frame(self, event: Event) -> None:
        if isinstance(event, SessionStarted):
            self.started = True
            self.refine = self.candidate = event.refine
        elif isinstance(event, AttemptStarted):
            if self.attempt:
                self._go(On.NO_ANSWER if event.after == "unanswered" else On.CALLS_USED, On.ATTEMPTS_LEFT)
            self.attempt = event.attempt
            self.dialog = self.turn = 0
            self.feedback = None
        elif isinstance(event, DialogStarted):
            self._dialog(event)
        elif isinstance(event, SessionResumed):
            self.outcome = None
            self._go(On.ASKED_AGAIN if self.at is State.UNANSWERED else On.RESUMED)
        elif isinstance(event, SessionFinished):
            self._end(event)

    def _finished(self, event: CallFinished) -> None:
        prompt = self.pending.prompt if self.pending else None
        self.pending = None
        self.reply = event
        if event.role == "generate":
            if self.refine and self.attempt == 1 and not self.turn:
                self.refine_feedback = self.feedback
            self.turn = event.turn
            if prompt is not None:
                self.messages.append(("user", prompt))
            self.messages.append(("assistant", event.reply))
            # reasoning is not sent back, so it does not fill the dialog
            used = event.usage.input_tokens + event.usage.output_tokens - event.usage.reasoning_tokens
            self.context_tokens = 0 if event.usage.estimated else used

    def _parsed(self, event: Parsed) -> None:
        self.reply = None
        if event.candidate is None:
            self.feedback = Feedback(problem=event.problem)
            self._go(On.NO_MODULE)
        else:
            self.repeats = self.repeats + 1 if event.candidate == self.candidate and len(self.messages) > _PAIR else 0
            self.candidate = self.module = event.candidate
            self.feedback = None
            self._go(On.PARSED)

    def _judged(self, event: Judged) -> None:
        if event.result == "passed":
            if event.wanted is not None:
                self.feedback = Feedback(judged=event, wanted=event.wanted)
            self._go(On.ALL_PASS if event.wanted is None else On.MORE_WANTED)
        elif event.result != "untested":  # untested: nothing is known, it is judged again after a resumption
            self.feedback = Feedback(judged=event)
            self._go(On.FAILURE)

    def _told(self) -> Feedback:
        if self.feedback is None:
            self.feedback = Feedback()
        return self.feedback

    def _dialog(self, event: DialogStarted) -> None:
        if self.at is State.START:
            self._go(On.KERNEL_TO_REFINE if event.candidate else On.NOTHING_KNOWN)
        elif event.reason == "context":
            self._go(On.CONTEXT_FULL, On.DIALOG_STARTED)
        self.dialog = event.dialog
        self.dialog_candidate = self.module = event.candidate
        self.system = event.system
        self.messages = []
        self.context_tokens = 0

    def _end(self, event: SessionFinished) -> None:
        self.outcome = event.outcome
        if event.outcome == "not_applicable":
            self._go(On.NOT_ON_TARGET)
        elif event.outcome == "exhausted":
            self._go(On.CALLS_USED, On.NO_ATTEMPT_LEFT)
        elif event.outcome == "unanswered":
            self.before = self.at
            self._go(On.NO_ANSWER, On.NOBODY_LEFT)
        elif event.outcome == "stopped":
            self._go(On.BUDGET_USED if event.cause == "budget" else On.UNEXPECTED_ERROR)
        # covered: the judged event before it has taken the session there
