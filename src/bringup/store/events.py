"""The events of a run, one class a kind. They are the only truth: every state, table and report is a fold of them.

Texts (prompts, replies, candidates, verdicts, logs) are not in the events but in blobs; a field that is documented as
a blob holds the SHA-256 of its text. A blob is on disk before the event that names it is committed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from bringup.candidate import FormatProblem
from bringup.clients import Usage
from bringup.verdict import CallKind, Record, VerdictKind, Violation

Outcome = Literal["covered", "exhausted", "unanswered", "stopped", "not_applicable"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Role = Literal["generate", "summarise", "remember", "look_up"]
Memory = Literal["none", "parent", "siblings", "both"]
"""What a node of a search is told of others: nothing, its ancestors, other children of its parents, or both."""
Phase = Literal["start", "draft", "expand"]


class OperatorInfo(Record):
    """What a report must know of an operator without its suite: category and cases by dtype."""

    name: str
    category: str
    case_counts: dict[str, int] = Field(default_factory=dict)  # only the dtypes of the run
    cases_added: int = 0  # of them: published audit cases, not of the suite's own source


class RunStarted(Record):
    """First event of every run. `operators` are those asked for and eligible, in scheduling order."""

    kind: Literal["run_started"] = "run_started"
    run: str
    version: str
    config: dict[str, Any]
    operators: tuple[OperatorInfo, ...]
    excluded: dict[str, str] = Field(default_factory=dict)  # asked for by name, but outside the suite's denominator
    parent: str | None = None  # the run whose failures this run tries again
    note: str = ""  # what its user says of it
    pid: int = 0


class RunResumed(Record):
    """Another process went on with the run."""

    kind: Literal["run_resumed"] = "run_resumed"
    pid: int
    config: dict[str, Any] | None = None  # when flags of the resuming command changed it
    operators: tuple[str, ...] | None = None  # those it works on, when not on all that are open


class RunFinished(Record):
    """Every session came to an end that no resumption changes."""

    kind: Literal["run_finished"] = "run_finished"
    outcomes: dict[str, int]


class RunInterrupted(Record):
    """The run stopped before its end; `reason` is one line."""

    kind: Literal["run_interrupted"] = "run_interrupted"
    reason: str


class RunNoted(Record):
    """What its user says of the run from now on."""

    kind: Literal["run_noted"] = "run_noted"
    note: str


class SessionStarted(Record):
    """An operator entered the state machine."""

    kind: Literal["session_started"] = "session_started"
    refine: str | None = None  # candidate blob that the session starts from


class SessionResumed(Record):
    """A stopped or unanswered session goes on in the state in which it stopped."""

    kind: Literal["session_resumed"] = "session_resumed"


class AttemptStarted(Record):
    """Attempt `attempt` (from 1) began; its calls are counted from zero."""

    kind: Literal["attempt_started"] = "attempt_started"
    attempt: int
    after: Literal["calls", "unanswered"] = "calls"  # what ended the one before: no calls left, or nobody answered


class DialogStarted(Record):
    """A fresh conversation: the first of an attempt, or one more because the context was nearly full."""

    kind: Literal["dialog_started"] = "dialog_started"
    attempt: int
    dialog: int  # from 1 within the attempt
    reason: Literal["attempt", "context"]
    candidate: str | None = None  # candidate blob that the first prompt shows
    system: str | None = None  # blob of the system prompt


class CallStarted(Record):
    """A model call is about to be made. `prompt` is the blob of the user message that is new in it."""

    kind: Literal["call_started"] = "call_started"
    key: str
    role: Role = "generate"
    client: str = ""  # who is asked, as `name:model`
    attempt: int
    dialog: int
    turn: int  # from 1 within the attempt
    template: str
    template_digest: str
    prompt: str
    context_tokens: int = 0  # estimate of the whole prompt


class CallFinished(Record):
    """The reply of a model call. `cost` is in the currency of the price table, None without a price."""

    kind: Literal["call_finished"] = "call_finished"
    key: str
    role: Role = "generate"
    attempt: int
    turn: int
    reply: str
    usage: Usage = Usage()
    cost: float | None = None
    model: str = ""
    finish_reason: str = ""
    seconds: float = 0.0
    recovered: bool = False  # the answer to a call that an earlier process had made


class CallFailed(Record):
    """The client gave up on a call; nothing was counted for it."""

    kind: Literal["call_failed"] = "call_failed"
    key: str
    role: Role = "generate"
    attempt: int
    turn: int
    error: str


class Parsed(Record):
    """The reply was read: either a candidate (its blob) or the problem of its format."""

    kind: Literal["parsed"] = "parsed"
    attempt: int
    turn: int
    candidate: str | None = None
    patch: bool = False  # it was made by edits of the one before
    problem: FormatProblem | None = None


class Linted(Record):
    """The linter's findings; none means clean, `skipped` that the state is switched off."""

    kind: Literal["linted"] = "linted"
    attempt: int
    turn: int
    candidate: str
    violations: tuple[Violation, ...] = ()
    skipped: bool = False


class Judged(Record):
    """The judge's decision: the headline here, the whole `Verdict` as JSON in the blob `verdict`."""

    kind: Literal["judged"] = "judged"
    attempt: int
    turn: int
    candidate: str
    result: VerdictKind
    summary: str
    guard: str = ""  # the guard that found it
    cases_passed: int = 0
    cases_total: int = 0
    passed_by_dtype: dict[str, int] = Field(default_factory=dict)
    seconds: float = 0.0
    verdict: str
    wanted: str | None = None  # blob: what the goal still wants of a candidate that passed; None: it is the end


class Diagnosed(Record):
    """Where a failing verdict goes next: to the debugger, to the summariser or straight to the model."""

    kind: Literal["diagnosed"] = "diagnosed"
    attempt: int
    turn: int
    finding: Literal["crash_dump", "long_log", "plain"]


class Debugged(Record):
    """What the debugger said about a crash (blob)."""

    kind: Literal["debugged"] = "debugged"
    attempt: int
    turn: int
    report: str


class Summarised(Record):
    """The summariser's account of a compiler log (blob), or None when it failed and the log is used as it is."""

    kind: Literal["summarised"] = "summarised"
    attempt: int
    turn: int
    summary: str | None = None
    problem: str | None = None


class NodeStarted(Record):
    """A node of a search began; its parents and its id are the event's own, see `Subject`.

    `source` is the blob of its candidate where no model writes one: the kernel that the search starts from, or what a
    policy made of a parent's. `notes` are the policy's own, as it reads them back from the graph.
    """

    kind: Literal["node_started"] = "node_started"
    phase: Phase
    memory: Memory = "none"
    source: str | None = None
    choice: dict[str, Any] = Field(default_factory=dict)  # of what the parent's source leaves open, where that was it
    asked: str = ""  # the edge in words: what the node was to change, or where the kernel comes from
    notes: dict[str, Any] = Field(default_factory=dict)


class NodeMeasured(Record):
    """A node's candidate was judged on the timed cases, and timed where it passed them."""

    kind: Literal["node_measured"] = "node_measured"
    candidate: str
    measured: str  # blob: the whole `Measured` as JSON
    result: VerdictKind
    gate: bool = False  # it passed the whole gate, not only the timed cases
    seconds: dict[str, float] = Field(default_factory=dict)  # by case: median on the device
    baselines: dict[str, dict[str, float]] = Field(default_factory=dict)  # by case and name: median
    doubts: dict[str, float] = Field(default_factory=dict)  # by case: how far its speed-up may be off, relative
    calls: dict[str, CallKind] = Field(default_factory=dict)  # by case: of what kind it is to a library
    weights: dict[str, float] = Field(default_factory=dict)  # by case: how much it counts; {}: all alike
    clock: str = ""
    device: str = ""
    bound: str = ""  # what most of the cases hang on
    problem: str = ""  # why there are no times although the verdict passed


class NodeFinished(Record):
    """A node is done, and counts. `gate` tells whether its candidate passed the whole gate, not only the timed cases.

    It has a fitness only with result `passed`; `no_module` is a reply without a candidate after all repairs.
    """

    kind: Literal["node_finished"] = "node_finished"
    result: VerdictKind | Literal["no_module", "unanswered", "stopped"]
    candidate: str | None = None
    gate: bool = False
    summary: str = ""
    calls: int = 0
    seconds: float = 0.0  # at work on it, by the clock


class SearchEnded(Record):
    """A search came to an end of its own; going on needs wider limits."""

    kind: Literal["search_ended"] = "search_ended"
    cause: Literal["nodes", "time", "stall", "target", "budget", "policy"]
    reason: str


class SessionFinished(Record):
    """The session ended. `candidate` is the covering one, else the latest (blob).

    `stopped` is resumed, `unanswered` (the client answers everybody but this dialog) with another client or by name.
    """

    kind: Literal["session_finished"] = "session_finished"
    outcome: Outcome
    cause: Literal["budget", "error"] | None = None  # why it stopped
    reason: str = ""
    candidate: str | None = None


Event = Annotated[
    RunStarted
    | RunResumed
    | RunFinished
    | RunInterrupted
    | RunNoted
    | SessionStarted
    | SessionResumed
    | AttemptStarted
    | DialogStarted
    | CallStarted
    | CallFinished
    | CallFailed
    | Parsed
    | Linted
    | Judged
    | Diagnosed
    | Debugged
    | Summarised
    | NodeStarted
    | NodeMeasured
    | NodeFinished
    | SearchEnded
    | SessionFinished,
    Field(discriminator="kind"),
]
_CLASSES: dict[str, Any] = {cls.model_fields["kind"].default: cls for cls in get_args(get_args(Event)[0])}
EVENT_KINDS: tuple[str, ...] = tuple(_CLASSES)


def load_event(kind: str, payload: str) -> Event:
    """Read an event of `kind` from its JSON; raises KeyError for an unknown kind, ValidationError for bad data."""
    event: Event = _CLASSES[kind].model_validate_json(payload)
    return event


class StoredEvent(Record):
    """An event in its place: `seq` counts from 1 over the run, `time` is seconds since the epoch.

    `operator` is None for an event of the run itself. The rest says whose it is, see `Subject`; `worker` is the id of
    the process that stored it, "" in runs of version 0.1.
    """

    run: str
    seq: int
    time: float
    operator: str | None
    event: Event
    session: str | None = None  # where it is not given: the operator's own
    node: str = ""
    parents: tuple[str, ...] = ()
    worker: str = ""

    @model_validator(mode="before")
    @classmethod
    def _own_session(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("session") is None and data.get("operator") is not None:
            return {**data, "session": data["operator"]}
        return data
