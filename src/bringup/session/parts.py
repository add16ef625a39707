"""What a session is put together from. Protocols, so that tests and other drivers can bring their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from bringup.candidate import Candidate, FormatProblem
from bringup.clients import Client
from bringup.config import ClientConfig, RunConfig
from bringup.judge import JobTemplate, Judge
from bringup.operators import Operator
from bringup.prompts import Prompt
from bringup.session.budget import Budget, Stop
from bringup.verdict import Verdict, Violation


class PromptWriter(Protocol):
    """Renders one prompt a situation."""

    def first(self, operator: Operator) -> Prompt:
        """Return the task from scratch."""
        ...

    def refine(self, operator: Operator, candidate: Candidate, report: Prompt | None = None) -> Prompt:
        """Return the task with an existing candidate to go on from, and the report on it when there is one."""
        ...

    def format_error(self, operator: Operator, problem: FormatProblem, module: str = "") -> Prompt:
        """Return the report on a reply without a module; `module` is the one that the reply's edits did not fit."""
        ...

    def lint(self, operator: Operator, violations: Sequence[Violation]) -> Prompt:
        """Return the linter's report."""
        ...

    def verdict(self, operator: Operator, verdict: Verdict, debugger: str | None, summary: str | None) -> Prompt:
        """Return the report on a failing verdict."""
        ...

    def again(self, operator: Operator, report: Prompt, repeats: int) -> Prompt:
        """Return the report with the remark that the module is the one before, for the `repeats`-th time."""
        ...

    def system(self) -> Prompt:
        """Return the system prompt of every dialog, when the configuration gives none."""
        ...

    def summarise(self, operator: Operator, log: str) -> Prompt:
        """Return the task for the summariser."""
        ...


class Parse(Protocol):
    """Reads a reply."""

    def __call__(self, text: str, base: str | None = None) -> Candidate | FormatProblem:
        """Return the module in a reply, or what is wrong with it; `base` is the module that edits in it are of."""
        ...


Lint = Callable[[Candidate, Operator], Sequence[Violation]]


@dataclass(frozen=True)
class Parts:
    """Everything that the sessions of one run share."""

    config: RunConfig
    client: Client
    judge: Judge
    prompts: PromptWriter
    parse: Parse
    lint: Lint
    budget: Budget
    stop: Stop
    features: frozenset[str]  # of the target: what operators may need
    summariser: Client | None = None
    then: tuple[Client, ...] = ()  # who makes the attempts after the first, as `RunConfig.then` describes them

    @cached_property
    def jobs(self) -> JobTemplate:
        """What the judge jobs of all sessions have in common."""
        return JobTemplate(self.config.target, self.config.judge, compiles=self.config.states.compile)

    def asked(self, attempt: int) -> tuple[Client, ClientConfig]:
        """Return who makes attempt `attempt` (from 1), and its section: the last client makes all further ones."""
        clients = (self.client, *self.then)
        place = min(max(attempt, 1), len(clients)) - 1
        return clients[place], self.config.chain[place]
