"""Runs for the report's tests: written through the store, event by event, as the engine writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bringup.candidate import FormatProblem, digest
from bringup.clients import Usage
from bringup.config import RunConfig
from bringup.store import (
    AttemptStarted,
    CallFinished,
    CallStarted,
    DialogStarted,
    Event,
    Judged,
    Linted,
    OperatorInfo,
    Parsed,
    RunFinished,
    RunInterrupted,
    RunLog,
    RunStarted,
    SessionFinished,
    SessionStarted,
    create_run,
)
from bringup.verdict import Verdict, Violation

VERSIONS = {"bringup": "0.1.0", "torch": "2.13.0", "triton": "3.7.1", "python": "3.11.9"}
SUMMARIES = {
    "compile": "kernel kernel_a does not compile for cuda:sm_90: ValueError: Expected dtype ['fp32'] but got fp16",
    "raised": "TypeError: wrapper() got an unexpected keyword argument 'dim'",
    "crashed": "the process was ended by signal SIGSEGV",
    "wrong": "12 of 25 elements differ by more than the tolerance, <b>first</b> at (0, 3)",
    "cheated": "the wrapper ran aten.sum.default on a device tensor",
    "timed_out": "one case took more than 30 s",
    "untested": "the judge could not decide",
}


@dataclass
class Op:
    """One operator: its cases, and what becomes of each reply, one list an attempt."""

    name: str
    category: str = "Elementwise"
    cases: dict[str, int] = field(default_factory=lambda: {"float32": 4, "int64": 2})
    attempts: Sequence[Sequence[str]] = ((),)
    outcome: str | None = None  # None: the session has no end
    reason: str = ""
    rule: str = "torch-function"
    passed: dict[str, int] = field(default_factory=dict)  # of the last failing verdict


async def write_run(
    root: Path,
    run: str,
    ops: Sequence[Op],
    *,
    end: str | None = "finished",
    excluded: dict[str, str] | None = None,
    price: float | None = 3e-6,
    **sections: object,
) -> Path:
    """Write a run; `end` is 'finished', None (killed) or why it was interrupted."""
    config = RunConfig.model_validate({"client": {"name": "scripted", "model": "scribe-1"}, **sections})
    log = create_run(root, run)
    try:
        await log.append(
            None,
            [
                RunStarted(
                    run=run,
                    version="0.1.0",
                    config=config.model_dump(mode="json"),
                    operators=tuple(OperatorInfo(name=o.name, category=o.category, case_counts=o.cases) for o in ops),
                    excluded=excluded or {},
                )
            ],
        )
        for op in ops:
            await _session(log, op, price)
        if end == "finished":
            counts: dict[str, int] = {}
            for op in ops:
                counts[op.outcome or "open"] = counts.get(op.outcome or "open", 0) + 1
            await log.append(None, [RunFinished(outcomes=counts)])
        elif end is not None:
            await log.append(None, [RunInterrupted(reason=end)])
    finally:
        log.close()
    return root / run


async def _session(log: RunLog, op: Op, price: float | None) -> None:
    if op.outcome is None and not any(op.attempts):
        return
    events: list[Event] = [SessionStarted()]
    texts: list[str] = []
    for number, results in enumerate(op.attempts, 1):
        if results:
            events += [AttemptStarted(attempt=number), DialogStarted(attempt=number, dialog=1, reason="attempt")]
        for turn, result in enumerate(results, 1):
            events += _turn(op, number, turn, result, texts, price)
    if op.outcome:
        events.append(SessionFinished.model_validate({"outcome": op.outcome, "reason": op.reason}))
    await log.append(op.name, events, texts)


def _turn(op: Op, attempt: int, turn: int, result: str, texts: list[str], price: float | None) -> list[Event]:
    key = f"{op.name}.a{attempt}.t{turn}"
    source = f"def wrapper(x):\n    return '{key}'\n"
    reply = f"```python\n{source}```"
    texts += [key, reply, source]
    usage = Usage(input_tokens=1000 * turn, output_tokens=400)
    at = {"attempt": attempt, "turn": turn}
    events: list[Event] = [
        CallStarted(key=key, dialog=1, template="first", template_digest=digest("t"), prompt=digest(key), **at),
        CallFinished(
            key=key,
            reply=digest(reply),
            usage=usage,
            cost=None if price is None else price * (usage.input_tokens + usage.output_tokens),
            model="scribe-1-2026",
            seconds=2.5,
            **at,
        ),
    ]
    if result == "unjudged":
        return events
    if result == "format":
        return [*events, Parsed(problem=FormatProblem(kind="no_block", explanation="no Python block\nmore"), **at)]
    candidate = digest(source)
    events.append(Parsed(candidate=candidate, **at))
    if result == "lint":
        violation = Violation(rule=op.rule, message=f"torch.{op.name} is not allowed", line=7)
        return [*events, Linted(candidate=candidate, violations=(violation,), **at)]
    total = sum(op.cases.values())
    passed = op.cases if result == "passed" else op.passed
    summary = f"all {total} cases passed" if result == "passed" else SUMMARIES[result]
    verdict = Verdict.model_validate(
        {
            "kind": result,
            "summary": summary,
            "cases_passed": sum(passed.values()),
            "cases_total": total,
            "passed_by_dtype": passed,
            "environment": {"versions": VERSIONS},
        }
    ).model_dump_json()
    texts.append(verdict)
    judged = Judged(
        candidate=candidate,
        result=result,  # type: ignore[arg-type]
        summary=summary,
        cases_passed=sum(passed.values()),
        cases_total=total,
        passed_by_dtype=passed,
        seconds=0.5,
        verdict=digest(verdict),
        **at,
    )
    return [*events, Linted(candidate=candidate, **at), judged]


def mixed() -> list[Op]:
    """Eight operators, one for every state that an operator can be in, and some repairs."""
    return [
        Op("exp", attempts=(("passed",),), outcome="covered"),
        Op("softmax", "Deep Learning", attempts=(("lint", "wrong", "passed"),), outcome="covered"),
        Op("mm", "Linear Algebra", attempts=(("format", "compile"), ("wrong", "passed")), outcome="covered"),
        Op(
            "sort",
            "Other",
            attempts=(("wrong", "wrong"), ("timed_out", "wrong")),
            outcome="exhausted",
            passed={"float32": 4},
        ),
        Op(
            "gather", "Indexing & Selection", attempts=(("crashed",),), outcome="stopped", reason="token budget used up"
        ),
        Op("cumsum", "Reduction", attempts=(("lint", "unjudged"),)),
        Op("logsigmoid", "Deep Learning"),
        Op("stft", "Other", outcome="not_applicable", reason="complex results"),
    ]


LIMITS = {"attempts": 2, "calls": 2}
