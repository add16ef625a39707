"""What each situation's template is given: one frozen record a situation, checked before anything is rendered."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from bringup.candidate import Candidate, FormatProblem
from bringup.dialect import Dialect
from bringup.operators import DocNode, Operator, PromptWords
from bringup.verdict import Record, Verdict, Violation

Situation = Literal[
    "first",
    "refine",
    "format_error",
    "lint",
    "compile",
    "crash",
    "wrong",
    "raised",
    "timed_out",
    "cheated",
    "again",
    "summarise",
    "system",
    "expand",
    "remember",
    "look_up",
]
SITUATIONS: tuple[Situation, ...] = get_args(Situation)


class TaskContext(Record):
    """The task from scratch: situation `first`."""

    operator: Operator
    docs: tuple[DocNode, ...]
    dialect: Dialect
    target: str  # as the user names it: "vpe:pe64"
    dtypes: tuple[str, ...]
    words: PromptWords = PromptWords()
    examples: bool = True  # show the dialect's worked examples
    patches: bool = False  # later answers may be edits
    # Other chips that the kernels must compile for, and are written for: each with what an author must know of it.
    compile_for: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class RefineContext(TaskContext):
    """An existing candidate to go on from, with the report on it when there is one: situation `refine`."""

    candidate: Candidate
    report: str = ""


class FormatContext(Record):
    """A reply without a module."""

    operator: Operator
    problem: FormatProblem
    module: str = ""  # that edits did not fit
    patches: bool = False


class LintContext(Record):
    """The linter's report; the dialect's lists that the violations are about are shown with it."""

    operator: Operator
    violations: tuple[Violation, ...]
    dialect: Dialect
    patches: bool = False


class VerdictContext(Record):
    """A failing verdict: compile, crash, wrong, raised, timed_out, cheated."""

    operator: Operator
    verdict: Verdict
    debugger: str = ""  # crash: what the target's debugger said
    summary: str = ""  # compile: the summariser's text
    patches: bool = False


class AgainContext(Record):
    """A module that is, word for word, that of the reply before: its report, with that remark."""

    operator: Operator
    report: str
    repeats: int  # at least 1


class SummariseContext(Record):
    """A compiler log for the summariser."""

    operator: Operator
    log: str


class SystemContext(Record):
    """The system prompt."""

    target: str
    patches: bool = False


class Shown(Record):
    """A kernel of a search that a prompt shows whole."""

    name: str  # of its node: "7"
    candidate: Candidate
    fitness: float  # 0: it does not work
    timings: tuple[str, ...] = ()  # a line a timed case
    diagnosis: tuple[str, ...] = ()  # what bounds it, a line each, with figures and lines of its source
    report: str = ""  # of a kernel that does not work: what was wrong


class Tried(Record):
    """What another node of a search came to, in a line."""

    name: str
    came_from: tuple[str, ...] = ()
    asked: str = ""  # the edge: what it was to change
    outcome: str  # "1.32x, bound by memory", "wrong: values differ in ..."


class ExpandContext(TaskContext):
    """A node of a search for faster kernels, whatever is known: situation `expand`. Empty parts are left out."""

    shown: tuple[Shown, ...] = ()  # its parents; none: from scratch
    against: str = ""  # what speed is measured against, in words
    cases: tuple[str, ...] = ()  # calls that are timed
    ancestors: tuple[Tried, ...] = ()
    siblings: tuple[Tried, ...] = ()
    best: float = 0.0  # fitness of the best kernel so far
    directives: str = ""  # of the helper that remembers
    hardware: tuple[str, ...] = ()  # figures of the device, a line each
    knowledge: str = ""  # files, as text


class RememberContext(Record):
    """The helper that remembers: what was tried, what bounds the kernel, what to do next."""

    operator: Operator
    target: str
    shown: tuple[Shown, ...]
    against: str = ""
    ancestors: tuple[Tried, ...] = ()
    siblings: tuple[Tried, ...] = ()
    best: float = 0.0
    hardware: tuple[str, ...] = ()


class LookUpContext(Record):
    """The helper that chooses files of the knowledge base."""

    operator: Operator
    target: str
    index: str  # a line a file
    most: int  # files that it may name
    shown: tuple[Shown, ...] = ()
    directives: str = ""


CONTEXTS: dict[Situation, type[Record]] = {
    "first": TaskContext,
    "refine": RefineContext,
    "format_error": FormatContext,
    "lint": LintContext,
    "compile": VerdictContext,
    "crash": VerdictContext,
    "wrong": VerdictContext,
    "raised": VerdictContext,
    "timed_out": VerdictContext,
    "cheated": VerdictContext,
    "again": AgainContext,
    "summarise": SummariseContext,
    "system": SystemContext,
    "expand": ExpandContext,
    "remember": RememberContext,
    "look_up": LookUpContext,
}
