"""Dialogs of a run as JSON lines with verdicts as rewards, for training models on them.

One line is one conversation. Nothing in it is edited, but that keys are hidden and the home folder is `~`; candidates
are named by the digest of their text as it was stored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import Field

from bringup.candidate import digest
from bringup.errors import FormatError
from bringup.lessons._measured import fitness_of, start_times, timed_nodes
from bringup.lessons._secrets import Redactor
from bringup.session.history import shortened
from bringup.store import Run, SessionFinished, StoredCall, StoredEvent, session_calls
from bringup.verdict import Record

SCHEMA = "bringup.trajectory/1"
Form = Literal["dialogs", "calls"]
REWARDS: dict[str, str] = {
    "verdict/1": "1 if the judge's verdict on the reply's module is 'passed' and nothing more was wanted of it, else 0 "
    "(no module, linter's violations, any other verdict); null if it was not judged",
    "speedup/1": "reference time over candidate time, geometric mean over the timed cases, if the verdict is 'passed', "
    "else 0; reference: the fastest baseline, or the first kernel of the search where the clock is a model's; null if "
    "it was not judged",
}
_FINAL = frozenset({"covered", "exhausted", "not_applicable"})  # ends of a session that no resumption changes


class Step(Record):
    """One reply of the model, and what became of it."""

    message: int  # its place in `messages`
    turn: int
    template: str  # situation of the prompt before it: first, wrong, compile, ...
    candidate: str | None = None  # SHA-256 of the module's text
    result: str | None = None  # a verdict's kind, "format" for a reply without a module; None: not judged
    summary: str = ""
    guard: str = ""
    cases_passed: int = 0
    cases_total: int = 0
    progress: float | None = None  # share of cases passed; 0 for what never ran
    reward: float | None = None
    model: str = ""  # as the provider named it
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class Message(Record):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Trajectory(Record):
    """One conversation: a dialog, or (form `calls`) one model call with the messages as they were sent."""

    id: str
    form: Form
    engine: Literal["coverage", "search"]
    run: str
    operator: str
    session: str
    node: str = ""
    parents: tuple[str, ...] = ()
    attempt: int
    dialog: int
    complete: bool  # False: the dialog may go on when the run is resumed
    suite: str = ""
    target: str = ""
    bringup: str = ""  # version that made the run
    client: str = ""  # who was asked, as `name:model`
    sampling: dict[str, Any] = Field(default_factory=dict)
    messages: tuple[Message, ...]
    steps: tuple[Step, ...]
    reward: float | None  # of the last step
    best_reward: float | None
    reward_name: str
    reward_meaning: str


@dataclass
class Exported:
    """What an export did."""

    written: int = 0
    present: int = 0  # in the file already
    open: int = 0  # dialogs that may go on, left out
    helpers: int = 0  # calls of summarisers and other helpers: they have no reward, and are left out
    hidden: int = 0  # secrets
    cut: bool = False  # the file's last line was half written, and is written again
    rewards: list[float] = field(default_factory=list)


# Reading a run ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Facts:
    """What all trajectories of a run share."""

    run: Run
    config: Mapping[str, Any]
    finished: bool

    @property
    def sampling(self) -> dict[str, Any]:
        """How the client sampled; of a chain of clients, the first one's."""
        client = self.config.get("client") or {}
        names = ("temperature", "top_p", "max_tokens", "reasoning_effort")
        return {name: client[name] for name in names if client.get(name) is not None}

    @property
    def whole_replies(self) -> int:
        """Replies of a dialog that are sent whole."""
        return int((self.config.get("attempts") or {}).get("whole_replies", 3))


def trajectories(
    run: Run, operators: Iterable[str] = (), *, form: Form = "dialogs", unfinished: bool = False, done: Exported
) -> Iterator[Trajectory]:
    """Yield a run's conversations, operator by operator; `done` counts what is left out.

    `unfinished`: also dialogs that may go on when the run is resumed. Holds one operator's dialogs at a time.
    """
    finished = any(stored.event.kind == "run_finished" for stored in run.events())
    facts = _Facts(run, run.config(), finished)
    wanted = set(operators)
    redact = Redactor()
    for info in run.started.operators:
        if not wanted or info.name in wanted:
            yield from _of_operator(facts, info.name, list(run.events(info.name)), form, unfinished, redact, done)
            done.hidden = redact.hidden


def _of_operator(
    facts: _Facts,
    operator: str,
    events: Sequence[StoredEvent],
    form: Form,
    unfinished: bool,
    redact: Redactor,
    done: Exported,
) -> Iterator[Trajectory]:
    ended = {(e.session, e.node) for e in events if isinstance(e.event, SessionFinished) and e.event.outcome in _FINAL}
    parents = {(e.session, e.node): e.parents for e in events if e.node and e.parents}
    nodes = timed_nodes(events)
    start = start_times(nodes)
    speed = {(node.node, node.candidate): fitness_of(node, start) for node in nodes}
    searching = any(stored.node for stored in events)
    calls = session_calls(events)
    done.helpers += sum(call.role != "generate" for call in calls)
    dialogs: dict[tuple[str, str, int, int], list[StoredCall]] = {}
    for call in calls:
        if call.role == "generate":
            dialogs.setdefault((call.session, call.node, call.attempt, call.dialog), []).append(call)
    latest = {(key[0], key[1]): key for key in dialogs}
    for key, found in dialogs.items():
        session, node, attempt, dialog = key
        thread = (session, node)
        complete = facts.finished or thread in ended or latest[thread] != key
        answered = [call for call in found if call.reply is not None]
        if not answered or not (complete or unfinished):
            done.open += 1 if answered else 0
            continue
        steps = [_step(call, node, speed, searching) for call in answered]
        common = {
            "form": form,
            "engine": "search" if searching else "coverage",
            "run": facts.run.id,
            "operator": operator,
            "session": session,
            "node": node,
            "parents": parents.get(thread, ()),
            "attempt": attempt,
            "dialog": dialog,
            "complete": complete,
            "suite": str(facts.config.get("suite", "")),
            "target": str(facts.config.get("target", "")),
            "bringup": facts.run.started.version,
            "client": answered[-1].client,
            "sampling": facts.sampling,
        }
        name = "speedup/1" if searching else "verdict/1"
        common |= {"reward_name": name, "reward_meaning": REWARDS[name]}
        texts = _Texts(facts.run, redact)
        if form == "dialogs":
            yield _whole(common, answered, steps, texts)
        else:
            for call, step in zip(answered, steps, strict=True):
                yield _single(common, call, step, texts, facts.whole_replies)


class _Texts:
    """The texts of a dialog, redacted, each read once."""

    def __init__(self, run: Run, redact: Redactor) -> None:
        self._run, self._redact = run, redact
        self._known: dict[str, str] = {}

    def __call__(self, blob: str) -> str:
        if blob not in self._known:
            self._known[blob] = self._redact(self._run.blob(blob))
        return self._known[blob]


def _whole(common: dict[str, Any], calls: Sequence[StoredCall], steps: Sequence[Step], texts: _Texts) -> Trajectory:
    last = calls[-1]
    assert last.reply is not None
    sent = [Message.model_validate({"role": role, "content": texts(name)}) for role, name in last.messages]
    messages = (*sent, Message(role="assistant", content=texts(last.reply)))
    places = [place for place, message in enumerate(messages) if message.role == "assistant"]
    # the dialog holds an answered call each; those that were answered twice count once
    placed = tuple(
        step.model_copy(update={"message": place})
        for step, place in zip(reversed(steps), reversed(places), strict=False)
    )[::-1]
    return _made(common, messages, placed)


def _single(common: dict[str, Any], call: StoredCall, step: Step, texts: _Texts, whole: int) -> Trajectory:
    assert call.reply is not None
    system = [(role, texts(name)) for role, name in call.messages if role == "system"]
    before = [(role, texts(name)) for role, name in call.messages[:-1] if role != "system"]
    sent = [*system, *shortened(before, whole), ("user", texts(call.prompt))]
    messages = [Message.model_validate({"role": role, "content": text}) for role, text in sent]
    messages.append(Message(role="assistant", content=texts(call.reply)))
    return _made(common, messages, (step.model_copy(update={"message": len(messages) - 1}),))


def _made(common: dict[str, Any], messages: Sequence[Message], steps: Sequence[Step]) -> Trajectory:
    place = [common["form"], common["run"], common["session"], common["node"], common["attempt"], common["dialog"]]
    rewards = [step.reward for step in steps if step.reward is not None]
    return Trajectory.model_validate(
        common
        | {
            # with the number of steps: a dialog that went on after an export is another conversation
            "id": digest(json.dumps([*place, steps[-1].turn]))[:24],
            "messages": [message.model_dump() for message in messages],
            "steps": [step.model_dump() for step in steps],
            "reward": steps[-1].reward,
            "best_reward": max(rewards, default=None),
        }
    )


def _step(call: StoredCall, node: str, speed: Mapping[tuple[str, str], float], searching: bool) -> Step:
    judged = call.judged
    result: str | None = None
    summary, progress, reward = "", None, None
    if call.problem is not None:
        result, summary, progress, reward = "format", call.problem.explanation.partition("\n")[0], 0.0, 0.0
    elif call.violations:
        result, summary, progress, reward = "lint", call.violations[0].message, 0.0, 0.0
    elif judged is not None:
        result, summary = judged.result, judged.summary
        progress = judged.cases_passed / judged.cases_total if judged.cases_total else 0.0
        if judged.result == "passed" and searching:
            reward = speed.get((node, call.candidate or ""))
        elif judged.result != "untested":
            reward = float(judged.result == "passed" and judged.wanted is None)
    return Step(
        message=0,
        turn=call.turn,
        template=call.template,
        candidate=call.candidate,
        result=result,
        summary=summary,
        guard=judged.guard if judged else "",
        cases_passed=judged.cases_passed if judged else 0,
        cases_total=judged.cases_total if judged else 0,
        progress=progress,
        reward=reward,
        model=call.model,
        finish_reason=call.finish_reason,
        input_tokens=call.usage.input_tokens,
        output_tokens=call.usage.output_tokens,
    )


# Writing ------------------------------------------------------------------------------------------------------------


def line_of(trajectory: Trajectory) -> str:
    """Return a trajectory as one line of JSON; the first field names the schema."""
    return json.dumps({"schema": SCHEMA, **trajectory.model_dump(mode="json")}, ensure_ascii=False)


def export(found: Iterable[Trajectory], out: Path | IO[str], done: Exported) -> Exported:
    """Write one line each to a file or a stream, at once; raises FormatError.

    A file that is there is gone on with: what it has is not written again, and a last line that was half written is
    replaced. One that holds anything else is refused, unchanged.
    """
    if not isinstance(out, Path):
        for trajectory in found:
            out.write(line_of(trajectory) + "\n")
            _count(done, trajectory)
        return done
    try:
        known, end = _known(out)
        with out.open("r+b" if out.exists() else "wb") as file:
            done.cut = file.seek(0, os.SEEK_END) > end
            file.truncate(end)
            file.seek(end)
            for trajectory in found:
                if trajectory.id in known:
                    done.present += 1
                    continue
                file.write((line_of(trajectory) + "\n").encode())
                file.flush()
                _count(done, trajectory)
    except OSError as error:
        raise FormatError(f"{out}: cannot be written: {error.strerror}") from error
    return done


def _count(done: Exported, trajectory: Trajectory) -> None:
    done.written += 1
    if trajectory.reward is not None:
        done.rewards.append(trajectory.reward)


def _known(path: Path) -> tuple[set[str], int]:
    """Return the ids of a file's whole lines and where they end."""
    known: set[str] = set()
    end = 0
    if not path.exists():
        return known, end
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                if number > 1 or line.startswith(b'{"schema": "bringup.trajectory'[: len(line)]):
                    break  # the process was killed while it wrote this one
                raise FormatError(f"{path}: line 1 is no trajectory of this version; give another file")
            try:
                data = json.loads(line)
                if data["schema"] != SCHEMA:
                    raise ValueError
                known.add(data["id"])
            except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
                raise FormatError(
                    f"{path}: line {number} is no trajectory of this version; give another file"
                ) from error
            end += len(line)
    return known, end
