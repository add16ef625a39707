"""What each situation's template is given: one frozen record a situation, checked before anything is rendered."""

from __future__ import annotations

from typing import Literal, get_args

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
}
