"""Puts a run's neighbours together: client, summariser, judge, prompts, parser and linter, by the configuration."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bringup.clients import Client, make_client
from bringup.config import RunConfig
from bringup.errors import EnvironmentFault
from bringup.judge import Judge, open_judge, unavailable, usual_jobs
from bringup.session import Budget, Parts, PromptWriter, Stop
from bringup.session.parts import Lint, Parse
from bringup.targets import get_target, options_of


@dataclass(frozen=True)
class Services:
    """What all sessions of a run share."""

    client: Client
    judge: Judge
    prompts: PromptWriter
    parse: Parse
    lint: Lint
    features: frozenset[str]
    summariser: Client | None = None
    then: tuple[Client, ...] = ()  # who makes the attempts after the first
    helper: Client | None = None  # who makes the helper calls of a search

    def parts(self, config: RunConfig, budget: Budget, stop: Stop) -> Parts:
        """Return what a session is made from."""
        return Parts(
            config=config,
            client=self.client,
            judge=self.judge,
            prompts=self.prompts,
            parse=self.parse,
            lint=self.lint,
            budget=budget,
            stop=stop,
            features=self.features,
            summariser=self.summariser,
            then=self.then,
        )


@asynccontextmanager
async def assemble(config: RunConfig, run_dir: Path, client: Client | None = None) -> AsyncIterator[Services]:
    """Make everything that the configuration names, and close it again; `client` takes the place of the one named.

    Raises UnknownName, ConfigError, MissingKey or EnvironmentFault before anything is asked or judged.
    """
    from bringup.candidate import parse_reply
    from bringup.linter import lint
    from bringup.prompts import PromptBook
    from bringup.suites import get_suite

    target = get_target(config.target)
    reason = unavailable(config.target, config.judge)
    if reason is not None:
        raise EnvironmentFault(reason)
    dialect = target.dialect()
    suite = get_suite(config.suite_spec)
    wanted = target.compile_for if config.judge.compile_for is None else config.judge.compile_for
    beside = {one: options_of(one) for one in wanted} if config.states.compile else {}
    prompts = PromptBook(dialect, config.target, suite.docs, config.dtypes, suite.words, config.prompts, beside)
    client = client or make_client(config.client, run_dir=run_dir, target=config.target)
    open_parts: list[Client | Judge] = [client]
    try:
        then = []
        for section in config.then:
            then.append(make_client(section, run_dir=run_dir, target=config.target))
            open_parts.append(then[-1])
        summariser = None
        if config.summariser is not None and config.states.summarise:
            summariser = make_client(config.summariser, run_dir=run_dir, target=config.target)
            open_parts.append(summariser)
        helper = None
        if config.search is not None and config.search.helper is not None:
            helper = make_client(config.search.helper, run_dir=run_dir, target=config.target)
            open_parts.append(helper)
        judge = open_judge(config.target, config.judge, jobs=config.jobs or usual_jobs(config.target))
        open_parts.append(judge)
        yield Services(
            client=client,
            judge=judge,
            prompts=prompts,
            parse=parse_reply,
            lint=lambda candidate, operator: lint(candidate, dialect, operator, config.states.lint_rules),
            features=target.features,
            summariser=summariser,
            then=tuple(then),
            helper=helper,
        )
    finally:
        for part in reversed(open_parts):
            with suppress(Exception):  # closing must not hide how the run ended
                await part.close()
