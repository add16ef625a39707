"""What cost calls: every reply that was not the last word, by what was wrong with it, over one run or many.

A reply that fails costs the next call. Its cause is the problem of its format, the linter's rule, the judge's guard, or
the kind of the verdict; where several rules were broken, each has its share. With every cause goes the section of the
task that speaks of it: where many answers stumble over one section, that is the text to mend.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bringup.candidate import EDIT_KINDS, is_patch
from bringup.store import Judged, Run, StoredCall, open_run, session_calls
from bringup.verdict import Record

Stage = Literal["format", "lint", "compile", "crashed", "raised", "wrong", "cheated", "timed out"]
EXAMPLES = 3  # places kept of each cause
MESSAGE = 160  # characters of a message

# Sections of the task, as templates/_task.jinja heads them.
FORMAT = "Format of the answer"
WRITE = "What to write"
WRAPPER = "What the wrapper may use"
KERNELS = "What kernels may use"
DEVICE = "About this device's Triton"
RIGHT = "When it is right"
TESTS = "What the tests ask"
OPERATOR = "The operator"

RULES_OF: dict[str, str] = {
    WRITE: """
        no-import no-class no-try no-with no-async no-generator no-global decorator required-names wrapper-signature
        requires-kernel shadowing module-state module-alias dynamic-code unknown-name dunder attribute-store
        module-scope-restrictions format
    """,
    WRAPPER: """
        kernel-handle torch-function triton-function tl-scope tensor-method tensor-attribute device-move
        device-argument tensor-operator tensor-value tensor-index module-restrictions forbidden-tensor-methods
        forbidden-function-arguments forbidden-functions
    """,
    KERNELS: "tl-function kernel-method kernel-scope kernel-statement",
}
SECTION_OF_RULE: dict[str, str] = {rule: section for section, rules in RULES_OF.items() for rule in rules.split()}


class Place(Record):
    """One reply that failed."""

    run: str
    operator: str
    attempt: int
    turn: int
    message: str


class Lesson(Record):
    """One cause of calls."""

    stage: Stage
    what: str
    """Kind of format problem, rule, guard, or the family of the case; empty where there is nothing finer."""
    section: str
    """Heading of the task's part that speaks of it."""
    replies: int
    """Replies in which it was found."""
    calls: float
    """Calls that it cost: its share of those replies."""
    tokens: int
    """Tokens of the calls that followed, its share of them."""
    operators: tuple[str, ...]
    places: tuple[Place, ...]


class Edits(Record):
    """How repairs answered."""

    repairs: int = 0
    patches: int = 0
    """Of these, replies with edits."""
    unfit: int = 0
    """Of these, edits that could not be applied."""
    output_tokens: int = 0
    """Written for patches that could."""
    module_tokens: int = 0
    """Written for repairs with a whole module."""


class Lessons(Record):
    """What cost calls in some runs."""

    runs: tuple[str, ...]
    sessions: int
    """Operators that were asked about."""
    calls: int
    failed: int
    """Replies that did not pass."""
    covered_after: dict[int, int]
    """Calls of a session -> sessions that were covered with so many."""
    lessons: tuple[Lesson, ...]
    edits: Edits = Edits()

    def by(self, key: Literal["stage", "section"]) -> dict[str, tuple[float, int]]:
        """Return calls and tokens by stage or by section, the costliest first."""
        calls: defaultdict[str, float] = defaultdict(float)
        tokens: defaultdict[str, int] = defaultdict(int)
        for lesson in self.lessons:
            name = lesson.stage if key == "stage" else lesson.section
            calls[name] += lesson.calls
            tokens[name] += lesson.tokens
        return {name: (round(calls[name], 2), tokens[name]) for name in sorted(calls, key=lambda n: (-calls[n], n))}


@dataclass
class _Sum:
    section: str
    replies: int = 0
    calls: float = 0.0
    tokens: float = 0.0
    operators: set[str] = field(default_factory=set)
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Cause:
    """What was wrong with a reply."""

    stage: Stage
    what: str
    section: str
    message: str


def causes_of(call: StoredCall, title: str = "") -> list[Cause]:
    """Return what was wrong with a reply, each cause once; none where it passed or was not judged.

    `title` is what the case that failed is there for, where its suite says so: "layout: input 0 transposed".
    """
    if call.problem is not None:
        return [Cause("format", call.problem.kind, FORMAT, call.problem.explanation)]
    if call.violations:
        rules: dict[str, str] = {}
        for violation in call.violations:
            rules.setdefault(violation.rule, violation.message)
        return [Cause("lint", rule, SECTION_OF_RULE.get(rule, DEVICE), told) for rule, told in rules.items()]
    judged = call.judged
    if judged is None or judged.result in ("passed", "untested", "lint"):
        return []
    return [_of_verdict(judged, title)]


def _of_verdict(judged: Judged, title: str) -> Cause:
    family = title.partition(":")[0].strip() if ":" in title else ""
    told = judged.summary
    if judged.result == "cheated":
        return Cause("cheated", judged.guard, RIGHT, told)
    if judged.result in ("compile", "crashed"):
        return Cause(judged.result, "", DEVICE, told)
    if judged.result == "timed_out":
        return Cause("timed out", family, f"{TESTS}: {family}" if family else RIGHT, told)
    what = judged.guard or family
    section = f"{TESTS}: {family}" if family else RIGHT if judged.guard else OPERATOR
    return Cause("raised" if judged.result == "raised" else "wrong", what, section, told)


def lessons_of(folders: Iterable[Path]) -> Lessons:
    """Read runs, and say what cost calls in them. Raises StoreError."""
    sums: defaultdict[tuple[Stage, str], _Sum] = defaultdict(lambda: _Sum(""))
    names: list[str] = []
    sessions = calls = failed = 0
    covered: Counter[int] = Counter()
    edits: Counter[str] = Counter()
    for folder in folders:
        with open_run(folder) as run:
            names.append(run.id)
            for operator, made in _dialogs(run):
                sessions += 1
                calls += len(made)
                if made[-1].judged is not None and made[-1].judged.result == "passed":
                    covered[len(made)] += 1
                edits.update(_edits(made, run))
                for call, following in zip(made, [*made[1:], None], strict=True):
                    causes = causes_of(call, _title(run, call.judged))
                    failed += bool(causes)
                    for cause in causes:
                        one = sums[cause.stage, cause.what]
                        one.section = cause.section
                        one.replies += 1
                        one.calls += 1 / len(causes)
                        if following is not None:
                            one.tokens += _tokens(following) / len(causes)
                        one.operators.add(operator)
                        if len(one.places) < EXAMPLES:
                            message = re.sub(r"\s+", " ", cause.message)[:MESSAGE]
                            place = Place(
                                run=run.id, operator=operator, attempt=call.attempt, turn=call.turn, message=message
                            )
                            one.places.append(place)
    found = [
        Lesson(
            stage=stage, what=what, section=one.section, replies=one.replies, calls=round(one.calls, 2),
            tokens=round(one.tokens), operators=tuple(sorted(one.operators)), places=tuple(one.places),
        )
        for (stage, what), one in sums.items()
    ]  # fmt: skip
    found.sort(key=lambda lesson: (-lesson.calls, lesson.stage, lesson.what))
    return Lessons(
        runs=tuple(names), sessions=sessions, calls=calls, failed=failed,
        covered_after=dict(sorted(covered.items())), lessons=tuple(found), edits=Edits(**edits),
    )  # fmt: skip


def _dialogs(run: Run) -> Iterator[tuple[str, list[StoredCall]]]:
    """Yield each operator that was asked about, with its answered calls in order."""
    for info in run.started.operators:
        made = [c for c in session_calls(run.events(info.name)) if c.role == "generate" and c.reply is not None]
        if made:
            yield info.name, made


def _title(run: Run, judged: Judged | None) -> str:
    if judged is None or judged.result in ("passed", "untested"):
        return ""
    return run.verdict(judged).title


def _tokens(call: StoredCall) -> int:
    return call.usage.input_tokens + call.usage.output_tokens


def _edits(made: list[StoredCall], run: Run) -> Counter[str]:
    """Count how the repairs of a session answered: replies after the first of a dialog."""
    found: Counter[str] = Counter()
    for call in made:
        if call.template == "first":
            continue
        assert call.reply is not None
        found["repairs"] += 1
        if call.problem is not None and call.problem.kind in EDIT_KINDS:
            found["patches"] += 1
            found["unfit"] += 1
        elif call.candidate is not None and is_patch(run.blob(call.reply)):
            found["patches"] += 1
            found["output_tokens"] += call.usage.output_tokens
        elif call.candidate is not None:
            found["module_tokens"] += call.usage.output_tokens
    return found
