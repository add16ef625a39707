"""One function a purpose, and `PromptBook`: all of them for one target, as a session uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bringup.candidate import Candidate, FormatProblem
from bringup.config import PromptsConfig
from bringup.dialect import Dialect
from bringup.operators import DocNode, Operator, PromptWords
from bringup.prompts._contexts import Situation
from bringup.prompts._render import Prompt, PromptError, render
from bringup.verdict import Verdict, VerdictKind, Violation

# Which situation a failing verdict is.
SITUATION_OF: dict[VerdictKind, Situation] = {
    "compile": "compile",
    "crashed": "crash",
    "wrong": "wrong",
    "raised": "raised",
    "timed_out": "timed_out",
    "cheated": "cheated",
}


def first_prompt(
    operator: Operator,
    docs: Sequence[DocNode],
    dialect: Dialect,
    *,
    target: str,
    dtypes: Sequence[str] | None = None,
    words: PromptWords | None = None,
    examples: bool = True,
    patches: bool = False,
    compile_for: Mapping[str, tuple[str, ...]] | None = None,
) -> Prompt:
    """Return the task from scratch. `dtypes` defaults to the operator's own, `words` to those of public operators.

    `patches` says that later answers may be edits. `compile_for` names other chips that the kernels are compiled for,
    with sentences about each.
    """
    return render(
        "first",
        operator=operator,
        docs=tuple(docs),
        dialect=dialect,
        target=target,
        dtypes=_dtypes(operator, dtypes),
        words=words or PromptWords(),
        examples=examples,
        patches=patches,
        compile_for=dict(compile_for or {}),
    )


def refine_prompt(
    operator: Operator,
    docs: Sequence[DocNode],
    dialect: Dialect,
    candidate: Candidate,
    *,
    target: str,
    dtypes: Sequence[str] | None = None,
    words: PromptWords | None = None,
    report: Prompt | None = None,
    examples: bool = True,
    patches: bool = False,
    compile_for: Mapping[str, tuple[str, ...]] | None = None,
) -> Prompt:
    """Return the task with a candidate to go on from, and the report on it (a feedback prompt) when there is one."""
    return render(
        "refine",
        operator=operator,
        docs=tuple(docs),
        dialect=dialect,
        target=target,
        dtypes=_dtypes(operator, dtypes),
        words=words or PromptWords(),
        examples=examples,
        patches=patches,
        compile_for=dict(compile_for or {}),
        candidate=candidate,
        report=report.text if report else "",
    )


def feedback_prompt(
    operator: Operator,
    found: Verdict | FormatProblem | Sequence[Violation],
    dialect: Dialect,
    *,
    debugger: str | None = None,
    summary: str | None = None,
    module: str = "",
    patches: bool = False,
) -> Prompt:
    """Return the report on a reply: a format problem, the linter's violations, or a failing verdict.

    `module` is the one that edits did not fit; `patches` says that the answer may be edits.

    Raises PromptError for a verdict that is no failure (passed, untested).
    """
    if isinstance(found, FormatProblem):
        return render("format_error", operator=operator, problem=found, module=module, patches=patches)
    if not isinstance(found, Verdict):
        return render("lint", operator=operator, violations=tuple(found), dialect=dialect, patches=patches)
    if found.kind == "lint":
        return render("lint", operator=operator, violations=found.violations, dialect=dialect, patches=patches)
    situation = SITUATION_OF.get(found.kind)
    if situation is None:
        raise PromptError(f"a verdict of kind '{found.kind}' needs no prompt")
    return render(
        situation, operator=operator, verdict=found, debugger=debugger or "", summary=summary or "", patches=patches
    )


def again_prompt(operator: Operator, report: Prompt, repeats: int) -> Prompt:
    """Return a report on a module that is word for word the one before, with that remark; `repeats` is at least 1."""
    return render("again", operator=operator, report=report.text, repeats=repeats)


def summarise_prompt(operator: Operator, log: str) -> Prompt:
    """Return the task for the summariser."""
    return render("summarise", operator=operator, log=log)


def system_prompt(target: str, patches: bool = False) -> Prompt:
    """Return the system prompt for a target."""
    return render("system", target=target, patches=patches)


def _dtypes(operator: Operator, dtypes: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(d for d in operator.dtypes if dtypes is None or d in dtypes)


class PromptBook:
    """All prompts of one target, by situation: what a session needs."""

    def __init__(
        self,
        dialect: Dialect,
        target: str,
        docs: Callable[[str], Sequence[DocNode]],
        dtypes: Sequence[str] | None = None,
        words: PromptWords | None = None,
        config: PromptsConfig | None = None,
        compile_for: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """`docs` returns an operator's docstring and those that it refers to: a suite's; `words` are its words.

        `compile_for`: other chips that the kernels are compiled for, with sentences about each.
        """
        self._compile_for = dict(compile_for or {})
        self._dialect = dialect
        self._target = target
        self._docs = docs
        self._dtypes = None if dtypes is None else tuple(dtypes)
        self._words = words
        self._config = config or PromptsConfig()

    def _documents(self, operator: Operator) -> Sequence[DocNode]:
        """The docstrings shown: an operator's own comes first."""
        if self._config.documentation == "none":
            return ()
        found = self._docs(operator.name)
        return found if self._config.documentation == "graph" else found[:1]

    def first(self, operator: Operator) -> Prompt:
        """Return the task from scratch."""
        return first_prompt(
            operator,
            self._documents(operator),
            self._dialect,
            target=self._target,
            dtypes=self._dtypes,
            words=self._words,
            examples=self._config.examples,
            patches=self._config.patches,
            compile_for=self._compile_for,
        )

    def refine(self, operator: Operator, candidate: Candidate, report: Prompt | None = None) -> Prompt:
        """Return the task with an existing candidate to go on from."""
        return refine_prompt(
            operator,
            self._documents(operator),
            self._dialect,
            candidate,
            target=self._target,
            dtypes=self._dtypes,
            words=self._words,
            report=report,
            examples=self._config.examples,
            patches=self._config.patches,
            compile_for=self._compile_for,
        )

    def format_error(self, operator: Operator, problem: FormatProblem, module: str = "") -> Prompt:
        """Return the report on a reply without a module; `module` is the one that the reply's edits did not fit."""
        return feedback_prompt(operator, problem, self._dialect, module=module, patches=self._config.patches)

    def lint(self, operator: Operator, violations: Sequence[Violation]) -> Prompt:
        """Return the linter's report."""
        return feedback_prompt(operator, tuple(violations), self._dialect, patches=self._config.patches)

    def verdict(
        self, operator: Operator, verdict: Verdict, debugger: str | None = None, summary: str | None = None
    ) -> Prompt:
        """Return the report on a failing verdict."""
        return feedback_prompt(
            operator, verdict, self._dialect, debugger=debugger, summary=summary, patches=self._config.patches
        )

    def again(self, operator: Operator, report: Prompt, repeats: int) -> Prompt:
        """Return the report on a repeated module, which says so."""
        return again_prompt(operator, report, repeats)

    def summarise(self, operator: Operator, log: str) -> Prompt:
        """Return the task for the summariser."""
        return summarise_prompt(operator, log)

    def system(self) -> Prompt:
        """Return the system prompt."""
        return system_prompt(self._target, self._config.patches)
