"""Runs for the tests of lessons: written through the store, event by event, as the engines write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bringup.store as store
from bringup.candidate import FormatProblem, digest
from bringup.clients import Usage
from bringup.config import RunConfig
from bringup.judge.measuring import CaseTiming, Diagnosis, Measured, Times
from bringup.store import (
    AttemptStarted,
    CallFinished,
    CallStarted,
    DialogStarted,
    Judged,
    Linted,
    OperatorInfo,
    Parsed,
    RunFinished,
    RunLog,
    RunStarted,
    SessionFinished,
    SessionStarted,
    Subject,
    create_run,
)
from bringup.verdict import CaseId, Verdict, Violation

SYSTEM = "You write kernels."
CASES = 10

BEFORE = "def wrapper(x):\n    out = x\n    kernel[(1,)](x)\n    return out\n"
AFTER = "def wrapper(x):\n    out = torch.empty_like(x)\n    kernel[(1,)](x)\n    return out\n"
SHORTER = "def wrapper(x):\n    return x\n"


@dataclass(frozen=True)
class Reply:
    """What a model answered, and what became of it: a verdict's kind, lint, format, or unjudged."""

    result: str
    source: str = BEFORE
    summary: str = "3 elements differ, first at (0, 3)"
    passed: int = 4
    wanted: bool = False
    log: str = ""


def judged_events(reply: Reply, texts: list[str], at: dict[str, int]) -> list[Any]:
    """Return what follows a reply."""
    if reply.result == "unjudged":
        return []
    if reply.result == "format":
        return [Parsed(problem=FormatProblem(kind="no_block", explanation="no Python block\nmore"), **at)]
    texts.append(reply.source)
    candidate = digest(reply.source)
    events: list[Any] = [Parsed(candidate=candidate, **at)]
    if reply.result == "lint":
        violation = Violation(rule="torch-function", message="torch.exp is not allowed", line=2)
        return [*events, Linted(candidate=candidate, violations=(violation,), **at)]
    passed = CASES if reply.result == "passed" else reply.passed
    verdict = Verdict.model_validate(
        {"kind": reply.result, "summary": reply.summary, "cases_passed": passed, "cases_total": CASES, "log": reply.log}
    )
    texts += [verdict.model_dump_json(), "more is wanted"]
    return [
        *events,
        Linted(candidate=candidate, **at),
        Judged.model_validate(
            {
                "candidate": candidate,
                "result": reply.result,
                "summary": reply.summary,
                "cases_passed": passed,
                "cases_total": CASES,
                "verdict": digest(verdict.model_dump_json()),
                "wanted": digest("more is wanted") if reply.wanted else None,
                **at,
            }
        ),
    ]


def turn_events(name: str, attempt: int, turn: int, reply: Reply, texts: list[str], text: str = "") -> list[Any]:
    """Return the events of one call."""
    key = f"{name}.a{attempt}.t{turn}"
    answer = text or f"answer {key}\n```python\n{reply.source}```"
    texts += [f"prompt {key}", answer]
    at = {"attempt": attempt, "turn": turn}
    template = "first" if turn == 1 else "wrong"
    begun = CallStarted(
        key=key, dialog=1, template=template, template_digest=digest("t"), prompt=digest(f"prompt {key}"),
        client="scripted:scribe", **at,
    )  # fmt: skip
    usage = Usage(input_tokens=100 * turn, output_tokens=7)
    done = CallFinished(key=key, reply=digest(answer), usage=usage, model="scribe-2026", finish_reason="stop", **at)
    return [begun, done, *judged_events(reply, texts, at)]


async def write_coverage(
    root: Path,
    run: str,
    operators: dict[str, Sequence[Sequence[Reply]]],
    outcomes: dict[str, str],
    *,
    finished: bool = True,
    text: str = "",
) -> Path:
    """Write a coverage run: for each operator its attempts, each a list of replies."""
    log = create_run(root, run)
    try:
        await _begin(log, run, list(operators))
        for name, attempts in operators.items():
            texts = [SYSTEM]
            events: list[Any] = [SessionStarted()]
            for number, replies in enumerate(attempts, 1):
                events += [
                    AttemptStarted(attempt=number),
                    DialogStarted(attempt=number, dialog=1, reason="attempt", system=digest(SYSTEM)),
                ]
                for turn, reply in enumerate(replies, 1):
                    events += turn_events(name, number, turn, reply, texts, text)
            if name in outcomes:
                events.append(SessionFinished.model_validate({"outcome": outcomes[name]}))
            await log.append(name, events, texts)
        if finished:
            await log.append(None, [RunFinished(outcomes={})])
    finally:
        log.close()
    return root / run


async def _begin(log: RunLog, run: str, operators: Sequence[str], **sections: Any) -> None:
    config = RunConfig.model_validate({"client": {"name": "scripted", "model": "scribe", "top_p": 0.9}, **sections})
    infos = tuple(OperatorInfo(name=name, category="Elementwise", case_counts={"float32": CASES}) for name in operators)
    await log.append(
        None, [RunStarted(run=run, version="0.2.0", config=config.model_dump(mode="json"), operators=infos)]
    )


@dataclass(frozen=True)
class Node:
    """A node of a search: its parents, its source, its times in microseconds by case index; no times: it failed."""

    parents: tuple[str, ...]
    source: str
    times: tuple[float, ...] = ()
    baseline: float | None = None  # of each case
    model: bool = True  # a model wrote it
    asked: str = ""
    choice: dict[str, Any] | None = None


def measured(node: Node) -> Measured:
    """Return the measurement of a node."""
    kind = "passed" if node.times else "wrong"
    cases = tuple(
        CaseTiming(
            case=CaseId(operator="mm", dtype="float32", index=index),
            device=Times(median=time * 1e-6, low=time * 1e-6, high=time * 1e-6),
            baselines={}
            if node.baseline is None
            else {"eager": Times(median=node.baseline * 1e-6, low=node.baseline * 1e-6, high=node.baseline * 1e-6)},
            diagnosis=Diagnosis(bound="memory", summary="DMA takes 90 % of the time"),
        )
        for index, time in enumerate(node.times)
    )
    verdict = Verdict.model_validate({"kind": kind, "summary": kind, "cases_passed": 1, "cases_total": CASES})
    return Measured(verdict=verdict, cases=cases, clock="model")


async def write_search(root: Path, run: str, nodes: dict[str, Node], *, target: str = "vpe:pe64") -> Path:
    """Write a search over `mm`, each node in a session of its own."""
    log = create_run(root, run)
    try:
        await _begin(log, run, ["mm"], target=target)
        for name, node in nodes.items():
            await _node(log, name, node)
        await log.append(None, [RunFinished(outcomes={})])
    finally:
        log.close()
    return root / run


async def _node(log: RunLog, name: str, node: Node) -> None:
    found = measured(node)
    blob = found.model_dump_json()
    candidate = digest(node.source)
    texts = [SYSTEM, blob, node.source]
    events: list[Any] = [
        store.NodeStarted(
            phase="expand" if node.parents else "start",
            asked=node.asked,
            choice=node.choice or {},
            source=None if node.model else candidate,
        ),
        SessionStarted(),
        AttemptStarted(attempt=1),
        DialogStarted(attempt=1, dialog=1, reason="attempt", system=digest(SYSTEM)),
    ]
    if node.model:
        reply = Reply("passed" if node.times else "wrong", node.source)
        events += turn_events(f"mm.{name}", 1, 1, reply, texts)
    events += [
        store.NodeMeasured(
            candidate=candidate,
            measured=digest(blob),
            result=found.verdict.kind,
            seconds={str(case.case): case.device.median for case in found.cases},
            baselines={
                str(case.case): {n: t.median for n, t in case.baselines.items()}
                for case in found.cases
                if case.baselines
            },
            bound="memory" if node.times else "",
        ),
        SessionFinished(outcome="covered" if node.times else "exhausted", candidate=candidate),
        store.NodeFinished(result="passed" if node.times else "wrong", candidate=candidate),
    ]
    subject = Subject("mm", session=f"mm~{name}", node=name, parents=node.parents)
    await log.append(subject, events, texts)
