"""What helped in a run, as files of a knowledge base: which change made a failing kernel pass, or a slow one fast.

Nothing is interpreted: a file holds what was reported, the difference of the two candidates, and the figures. It is
marked unreviewed until a person says otherwise.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bringup.candidate import digest
from bringup.errors import FormatError
from bringup.files import file_stem, write_atomically
from bringup.knowledge import (
    CONCERNS,
    INDEX,
    FrontMatter,
    Result,
    dump,
    features_of,
    index_page,
    kinds_of,
    platform_of,
    read_folder,
)
from bringup.lessons._measured import Timed, gain, timed_nodes
from bringup.lessons._secrets import Redactor
from bringup.store import Run, StoredCall, session_calls
from bringup.tokens import estimate_tokens

MOST_LINES = 80  # changed lines of a repair; a larger change is another kernel, not a lesson
MIN_GAIN = 1.2  # of a node over its parent
CONTEXT = 2  # unchanged lines around a change
_MOST_TOKENS = 1000  # of a file's body
_REPORT_LINES, _REPORT_WIDTH = 14, 300
_FEATURES = ("tl.", "libdevice.")
_SPEED = tuple(concern for concern in CONCERNS if concern not in ("correctness", "debugging"))
_CONCERNS = {"wrong": ("correctness", "debugging"), "cheated": ("correctness",), "timed_out": ("latency", "debugging")}


@dataclass(frozen=True)
class Lesson:
    """A file to be written: its path below the folder, and its text."""

    path: str
    text: str
    front: FrontMatter


@dataclass(frozen=True)
class Skipped:
    """A change that helped and makes no file, with the reason."""

    operator: str
    reason: str


@dataclass(frozen=True)
class Written:
    """What became of the lessons: paths written, and those that were there already (a person may have read them)."""

    written: tuple[str, ...]
    kept: tuple[str, ...]


def distil(
    run: Run, operators: Iterable[str] = (), *, most_lines: int = MOST_LINES, min_gain: float = MIN_GAIN
) -> Iterator[Lesson | Skipped]:
    """Yield what a run teaches, operator by operator; `operators` narrows it."""
    target = str(run.config().get("target", ""))
    wanted = set(operators)
    for info in run.started.operators:
        if wanted and info.name not in wanted:
            continue
        events = list(run.events(info.name))
        nodes = timed_nodes(events)
        if nodes:
            yield from _speedups(run, info.name, target, nodes, most_lines, min_gain)
        else:
            yield from _repairs(run, info.name, target, session_calls(events), most_lines)


# Coverage -----------------------------------------------------------------------------------------------------------


def _repairs(
    run: Run, operator: str, target: str, calls: Sequence[StoredCall], most_lines: int
) -> Iterator[Lesson | Skipped]:
    before: StoredCall | None = None
    for call in calls:
        if call.role != "generate" or call.candidate is None:
            continue
        if call.judged is not None and call.judged.result == "passed":
            same = before is not None and (before.session, before.attempt) == (call.session, call.attempt)
            if before is not None and same:
                yield _repair(run, operator, target, before, call, most_lines)
            before = None
        else:
            before = call if call.violations or call.judged is not None else None


def _repair(
    run: Run, operator: str, target: str, before: StoredCall, after: StoredCall, most_lines: int
) -> Lesson | Skipped:
    assert before.candidate is not None
    assert after.candidate is not None
    assert after.judged is not None
    old, new = run.blob(before.candidate), run.blob(after.candidate)
    kind, headline, report = _failure(run, before)
    failed, passed = _standing(kind, before), f"passed, {after.judged.cases_passed} of {after.judged.cases_total} cases"
    where = f"run {run.id}, operator {operator}, attempt {after.attempt}, calls {before.turn} and {after.turn}"
    report = "\n".join(part for part in (_line(headline), report) if part)
    return _lesson(
        operator=operator,
        target=target,
        title=f"{operator}: what ended '{headline}'",
        concerns=_CONCERNS.get(kind, ("debugging",)),
        source=where,
        result=Result(operator=operator, target=target, before=failed, after=passed, run=run.id,
                      candidates=(before.candidate, after.candidate)),
        head=[f"**What failed** ({failed}):", _fenced("text", report)],
        old=old,
        new=new,
        most_lines=most_lines,
    )  # fmt: skip


def _failure(run: Run, call: StoredCall) -> tuple[str, str, str]:
    """Return the kind of a failure, its headline, and the lines of its report that matter."""
    if call.violations:
        first = call.violations[0]
        lines = [f"line {v.line}: [{v.rule}] {v.message}" for v in call.violations]
        return "lint", f"{first.message} [{first.rule}]", _cut("\n".join(lines))
    assert call.judged is not None
    verdict = run.verdict(call.judged)
    report = verdict.exception or verdict.log or (verdict.mismatch.message if verdict.mismatch else "")
    report = report if report.strip() != verdict.summary.strip() else ""
    return verdict.kind, verdict.summary, _cut("\n".join(line for line in (verdict.call, report.strip()) if line))


def _standing(kind: str, call: StoredCall) -> str:
    if call.judged is None:
        count = len(call.violations)
        return f"{kind}, {count} violation{'s' if count != 1 else ''}"
    return f"{kind.replace('_', ' ')}, {call.judged.cases_passed} of {call.judged.cases_total} cases passed"


# Search -------------------------------------------------------------------------------------------------------------


def _speedups(
    run: Run, operator: str, target: str, nodes: Sequence[Timed], most_lines: int, min_gain: float
) -> Iterator[Lesson | Skipped]:
    latest = {node.node: node for node in nodes}
    for child in latest.values():
        parents = [latest[name] for name in child.parents if name in latest and latest[name].passed]
        if not child.passed or not parents:
            continue
        parent = min(parents, key=lambda one: one.mean)  # gained over the better one
        gained = gain(parent, child)
        if gained >= min_gain:
            yield _speedup(run, operator, target, parent, child, gained, most_lines)


def _speedup(
    run: Run, operator: str, target: str, parent: Timed, child: Timed, gained: float, most_lines: int
) -> Lesson | Skipped:
    concerns = (parent.bound,) if parent.bound in _SPEED else _SPEED
    cases = len([case for case in child.seconds if case in parent.seconds])
    over = f" (geometric mean of {cases} cases)" if cases > 1 else ""
    before, after = f"{_time(parent.mean)}{over}", f"{_time(child.mean)}{over}"
    head = [f"**Gained**: {gained:.2f}x over its parent, {before} to {after}."]
    diagnosis = _diagnosis(run, parent)
    if diagnosis:
        head.append(f"**Diagnosis before**: {diagnosis}")
    if child.asked:
        head.append(f"**Asked for**: {_line(child.asked)}")
    if child.choice:
        chosen = ", ".join(f"{name} = {value}" for name, value in sorted(child.choice.items()))
        head.append(f"**Chosen** of what the source leaves open: {_line(chosen)}")
    return _lesson(
        operator=operator,
        target=target,
        title=f"{operator}: {gained:.2f}x by node {child.node}{f', was {parent.bound}-bound' if parent.bound else ''}",
        concerns=concerns,
        source=f"run {run.id}, operator {operator}, nodes {parent.node} and {child.node}",
        result=Result(operator=operator, target=target, before=before, after=after, run=run.id,
                      candidates=(parent.candidate, child.candidate)),
        head=head,
        old=run.blob(parent.candidate),
        new=run.blob(child.candidate),
        most_lines=most_lines,
    )  # fmt: skip


def _diagnosis(run: Run, timed: Timed) -> str:
    from bringup.judge.measuring import Measured

    measured = Measured.model_validate_json(run.blob(timed.blob))
    said = [case.diagnosis for case in measured.cases if case.diagnosis is not None]
    return _line(next((one.summary for one in said if one.bound == timed.bound), said[0].summary if said else ""))


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


# Both ---------------------------------------------------------------------------------------------------------------


def _lesson(
    *,
    operator: str,
    target: str,
    title: str,
    concerns: Sequence[str],
    source: str,
    result: Result,
    head: Sequence[str],
    old: str,
    new: str,
    most_lines: int,
) -> Lesson | Skipped:
    redact = Redactor()
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), "before", "after", "", "", CONTEXT))[2:]
    changed = [line for line in lines if line[:1] in "+-"]
    if not changed:
        return Skipped(operator, f"{result.before} to {result.after} without a change of the source")
    if len(changed) > most_lines:
        return Skipped(operator, f"{len(changed)} lines changed, more than {most_lines}: another kernel, not a repair")
    parts = [*head, "**What changed**:", _fenced("diff", "\n".join(lines))]
    parts.append("Seen in one run, for one operator. Check that the cause is the same before relying on it.")
    body = redact("\n\n".join(parts))
    if estimate_tokens(body) > _MOST_TOKENS:
        return Skipped(operator, f"about {estimate_tokens(body):,} tokens, more than {_MOST_TOKENS:,}")
    platform, device = platform_of(target)
    touched = "\n".join(changed)
    front = FrontMatter.model_validate(
        {
            "title": _line(redact(title), 100),
            "platforms": (platform,),
            "devices": (device,) if device else (),
            "concerns": tuple(concerns),
            "specificity": "operator",
            "kinds": kinds_of(operator),
            "operators": (operator,),
            "features": tuple(name for name in features_of(new) if name.startswith(_FEATURES) and name in touched),
            "sources": (source,),
            "evidence": "run",
            "results": (result,),
        }
    )
    name = f"{file_stem(operator)}-{digest(f'{target} {result.candidates}')[:8]}"
    return Lesson(f"distilled/{file_stem(platform)}/{name}.md", dump(front, body), front)


def _fenced(language: str, text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _cut(text: str) -> str:
    lines = [line.rstrip()[:_REPORT_WIDTH] for line in text.strip().splitlines() if line.strip()]
    if len(lines) <= _REPORT_LINES:
        return "\n".join(lines)
    half = _REPORT_LINES // 2
    return "\n".join([*lines[:half], "[...]", *lines[-half:]])


def _line(text: str, most: int = _REPORT_WIDTH) -> str:
    """Return a text on one line that starts no heading and makes no link."""
    joined = " ".join(text.split()).replace("](", "] (")
    return joined if len(joined) <= most else f"{joined[: most - 4].rstrip()} ..."


def write(lessons: Iterable[Lesson], folder: Path) -> Written:
    """Write files below `folder` and bring its index up to date; raises FormatError when the disk refuses.

    A file that is there already stays as it is: a person may have reviewed it.
    """
    written: list[str] = []
    kept: list[str] = []
    try:
        for lesson in lessons:
            path = folder / lesson.path
            if path.exists():
                kept.append(lesson.path)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lesson.text.encode())
            written.append(lesson.path)
        if written:
            write_atomically(folder / INDEX, index_page(read_folder(folder).files).encode())
    except OSError as error:
        raise FormatError(f"{folder}: cannot be written: {error.strerror}; give a writable folder") from error
    return Written(tuple(written), tuple(kept))


def as_data(lesson: Lesson) -> dict[str, Any]:
    """Return a lesson for `--json`."""
    return {"path": lesson.path, **lesson.front.model_dump(mode="json")}
