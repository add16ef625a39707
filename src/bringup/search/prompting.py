"""What a node's prompt is filled with: parents, lineage, diagnosis, hardware, knowledge. One universal prompt for all.

KernelEvolve's operator: no templates for drafting, repairing or improving, but one, whose parts are there when there
is something to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any

from bringup.candidate import Candidate
from bringup.dialect import Dialect
from bringup.judge.measuring import CaseTiming, Measured, figures_text
from bringup.operators import DocNode, Operator, PromptWords
from bringup.prompts import Prompt, render
from bringup.prompts import Shown as ShownKernel
from bringup.prompts import Tried as TriedNode
from bringup.search.chip import Chip
from bringup.search.graph import Graph, Node
from bringup.search.problem import START, Problem
from bringup.store import Memory, Run
from bringup.targets import peak_tflops

MOST_TRIED = 12
"""Ancestors and siblings of which a prompt tells, the latest."""
MOST_CALLS = 8
MOST_REASON = 100
"""Characters of why a profiler could not be used."""
CHANGE = re.compile(r"^\W*Change:\W*(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Brief:
    """What is known of a node that is to be made."""

    shown: tuple[ShownKernel, ...] = ()
    ancestors: tuple[TriedNode, ...] = ()
    siblings: tuple[TriedNode, ...] = ()
    best: float = 0.0
    bound: str = ""  # of the first parent
    directives: str = ""
    knowledge: str = ""
    cases: tuple[str, ...] = field(default=())
    facts: dict[str, Any] = field(default_factory=dict)  # of the chip


class Briefing:
    """Collects what prompts tell of a graph's nodes. Reads texts from the store: call it in a thread."""

    def __init__(self, problem: Problem, texts: Run, change: Callable[[Node], str], chip: Chip) -> None:
        """`change` returns what the author of a node said to have changed, "" where nobody did."""
        self._chip = chip
        self._problem = problem
        self._texts = texts
        self._change = change

    def brief(self, graph: Graph, parents: Sequence[str], memory: Memory, node: str = "") -> Brief:
        """Return what a node from `parents` is told with this memory mode."""
        nodes = [graph[name] for name in parents]
        found = [self.shown(one, told=memory != "none") for one in nodes]
        ancestors: Iterable[Node] = ()
        siblings: Iterable[Node] = ()
        if nodes and memory in {"parent", "both"}:
            family = {one.id: one for parent in nodes for one in graph.ancestors(parent.id)}
            ancestors = [*nodes, *family.values()]
        if nodes and memory in {"siblings", "both"}:
            siblings = graph.siblings(parents, but=node)
        best = graph.best
        with_times = next((one for one in [*nodes, *graph.valid] if one.measured is not None), None)
        return Brief(
            shown=tuple(found),
            ancestors=self._tried(ancestors),
            siblings=self._tried(siblings),
            best=best.fitness if best is not None and memory != "none" else 0.0,
            bound=nodes[0].measured.bound if nodes and nodes[0].measured is not None else "",
            cases=self._calls(with_times),
            facts=self._chip.facts(graph),
        )

    def shown(self, node: Node, *, told: bool) -> ShownKernel:
        """Return a kernel as a prompt shows it; without `told` its source and score alone."""
        measured = self._measured(node) if told else None
        source = self._texts.blob(node.candidate) if node.candidate else ""
        return ShownKernel(
            name=node.id,
            candidate=Candidate(source=source),
            fitness=node.fitness,
            timings=tuple(_timing(case) for case in measured.cases[:MOST_CALLS]) if measured else (),
            diagnosis=_diagnosis(measured) if measured else (),
            report="" if node.valid or not told or node.finished is None else node.finished.summary,
        )

    def _measured(self, node: Node) -> Measured | None:
        if node.measured is None:
            return None
        return Measured.model_validate_json(self._texts.blob(node.measured.measured))

    def _calls(self, node: Node | None) -> tuple[str, ...]:
        measured = self._measured(node) if node is not None else None
        if measured is None:
            return ()
        return tuple(dict.fromkeys(case.call for case in measured.cases if case.call))[:MOST_CALLS]

    def _tried(self, nodes: Iterable[Node]) -> tuple[TriedNode, ...]:
        latest = sorted(nodes, key=lambda node: node.number)[-MOST_TRIED:]
        return tuple(
            TriedNode(
                name=node.id,
                came_from=node.parents,
                asked=self._change(node) or (node.started.asked if node.started.choice else ""),
                outcome=outcome(node),
            )
            for node in latest
        )


def outcome(node: Node) -> str:
    """Return what came of a node in one line: `1.32x, bound by memory`, `wrong: values differ ...`."""
    if node.open:
        return "under way"
    if node.valid:
        bound = node.measured.bound if node.measured is not None else ""
        return f"{node.fitness:.3g}x{f', bound by {bound}' if bound else ''}"
    assert node.finished is not None
    if node.finished.result == "passed":
        problem = node.measured.problem if node.measured is not None else ""
        return f"right, but not timed{f': {problem}' if problem else ''}"
    summary = node.finished.summary
    return f"{node.finished.result.replace('_', ' ')}{f': {summary}' if summary else ''}"


def change_of(reply: str) -> str:
    """Return what a reply says it changes: its line `Change: ...`, else ""."""
    found = CHANGE.search(reply)
    return found.group(1).strip() if found else ""


def _timing(case: CaseTiming) -> str:
    beside = ", ".join(f"{name} {_seconds(times.median)}" for name, times in sorted(case.baselines.items()))
    host = f", wrapper on the host {_seconds(case.host.median)}" if case.host is not None else ""
    return f"{case.call or case.case}: {_seconds(case.device.median)}{host}{f' ({beside})' if beside else ''}"


def _diagnosis(measured: Measured) -> tuple[str, ...]:
    """Return the diagnosis of the slowest case in full, and one line for each case with another bound."""
    known = [case for case in measured.cases if case.diagnosis is not None]
    if not known:
        return ()
    slowest = max(known, key=lambda case: case.device.median)
    main = slowest.diagnosis
    assert main is not None
    lines = [f"bound by {main.bound}: {main.summary}"]
    if main.share is not None:
        lines.append(f"{main.share:.0%} of what the device could do at most there")
    if main.figures:
        lines.append(figures_text(main.figures))
    lines += [one.words for one in main.lines[:5]]
    if main.missing:
        reasons = [shorten(one, MOST_REASON, placeholder=" ...") for one in main.missing]
        lines.append(f"not known are the figures of what could not be used: {'; '.join(reasons)}")
    for case in known:
        other = case.diagnosis
        if other is not None and other.bound != main.bound:
            lines.append(f"{case.call or case.case}: bound by {other.bound}: {other.summary}")
    return tuple(lines[:12])


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns"


def hardware_lines(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return a chip's figures as lines: what its target tells of itself, a section a line."""
    lines = []
    plain = {name: value for name, value in facts.items() if not isinstance(value, dict | list | tuple)}
    if plain:
        lines.append(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in plain.items()))
    for name, value in facts.items():
        if isinstance(value, dict) and name in {"grid", "memory", "cost", "limits"}:
            inner = ", ".join(f"{key.replace('_', ' ')} {_plain(one)}" for key, one in value.items() if one is not None)
            lines.append(f"{name}: {inner}")
    if peaks := peak_tflops(facts):
        lines.append(f"peak TFLOP/s by what is multiplied: {', '.join(f'{n} {one:.4g}' for n, one in peaks.items())}")
    return tuple(lines)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key} {one}" for key, one in value.items()) + ")"
    return str(value)


class SearchPrompts:
    """The prompts of a search beside those of the repair loop."""

    def __init__(
        self,
        problem: Problem,
        dialect: Dialect,
        docs: Callable[[str], Sequence[DocNode]],
        words: PromptWords | None = None,
        patches: bool = False,
    ) -> None:
        """`docs` returns an operator's docstrings; `words` are its suite's; `patches`: repairs may be edits."""
        self._problem = problem
        self._patches = patches
        self._dialect = dialect
        self._docs = docs
        self._words = words or PromptWords()

    @property
    def against(self) -> str:
        """What speed is measured against, in words."""
        names = {"eager": "PyTorch's own operator", "compile": "torch.compile's", START: "the kernel of the start"}
        words = [names.get(name, name) for name in self._problem.against]
        return f"the fastest of {', '.join(words)}" if len(words) > 1 else words[0] if words else ""

    def expand(self, operator: Operator, brief: Brief) -> Prompt:
        """Return the universal prompt."""
        return render(
            "expand",
            operator=operator,
            docs=tuple(self._docs(operator.name)),
            dialect=self._dialect,
            target=self._problem.target,
            dtypes=self._problem.dtypes,
            words=self._words,
            patches=self._patches,
            shown=brief.shown,
            against=self.against,
            cases=brief.cases,
            ancestors=brief.ancestors,
            siblings=brief.siblings,
            best=brief.best,
            directives=brief.directives,
            hardware=hardware_lines(brief.facts),
            knowledge=brief.knowledge,
        )

    def remember(self, operator: Operator, brief: Brief) -> Prompt:
        """Return the task of the helper that remembers."""
        return render(
            "remember",
            operator=operator,
            target=self._problem.target,
            shown=brief.shown,
            against=self.against,
            ancestors=brief.ancestors,
            siblings=brief.siblings,
            best=brief.best,
            hardware=hardware_lines(brief.facts),
        )

    def look_up(self, operator: Operator, brief: Brief, index: str, most: int) -> Prompt:
        """Return the task of the helper that chooses files."""
        return render(
            "look_up",
            operator=operator,
            target=self._problem.target,
            index=index,
            most=most,
            shown=brief.shown,
            directives=brief.directives,
        )
