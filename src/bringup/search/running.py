"""Begins a search, goes on with one, and brings it to its end."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bringup import __version__
from bringup.clients import Call, Client, Message, Reply, Sampling
from bringup.config import RunConfig
from bringup.errors import BringupError, ClientRefused, ConfigError, StoreError
from bringup.knowledge import Base, load
from bringup.operators import Operator
from bringup.runs import Services, assemble
from bringup.runs.ids import new_run_id
from bringup.runs.isolation import IsolationWarner
from bringup.runs.plan import check, settled
from bringup.runs.result import fold_earlier
from bringup.search.engine import Ended, Search, subject_of
from bringup.search.graph import Graph
from bringup.search.policies import Policy, make_policy
from bringup.search.problem import Problem, choose_cases, make_problem
from bringup.search.prompting import SearchPrompts
from bringup.search.starts import Start, find_starts
from bringup.session import Budget, Stop, not_applicable
from bringup.store import (
    Judged,
    NodeStarted,
    OperatorInfo,
    RunFinished,
    RunInterrupted,
    RunLog,
    RunResumed,
    RunStarted,
    SearchEnded,
    SessionFinished,
    SessionResumed,
    SessionStarted,
    StoredEvent,
    create_run,
    open_run,
    resume_run,
)
from bringup.suites import Suite, get_suite
from bringup.targets import get_target

LEASE_SECONDS = 15.0
"""How long other processes wait for a sign of life before they take a node over."""
WHOLE_SEARCH = ""  # claimed like a node by who stores the end
Observer = Callable[[StoredEvent], None]
Assemble = Callable[[RunConfig, Path], AbstractAsyncContextManager[Services]]


@dataclass(frozen=True)
class Plan:
    """What a search is about, before it is stored."""

    config: RunConfig
    operator: Operator
    problem: Problem
    starts: tuple[Start, ...]


@dataclass(frozen=True)
class SearchResult:
    """How a search stands when a process is done with it."""

    run: str
    folder: Path
    graph: Graph
    config: RunConfig
    ended: Ended | None  # None: interrupted, and can go on
    interrupted: str | None = None
    fault: BringupError | None = None


class Nobody(Client):
    """The client of a search that asks no model."""

    name = "none"

    async def complete(self, messages: Sequence[Message], sampling: Sampling, call: Call) -> Reply:
        """Refuse: nothing should ask."""
        raise ClientRefused("no model is configured for this search; give one with --client")

    async def recover(self, call: Call) -> Reply | None:
        """There is nothing to recover."""
        return None

    async def close(self) -> None:
        """There is nothing to release."""


@asynccontextmanager
async def assembled(config: RunConfig, run_dir: Path) -> AsyncIterator[Services]:
    """Make what the configuration names; without a model where the policy asks none. Raises as `runs.assemble` does."""
    assert config.search is not None
    asks = make_policy(config.search.policy, config.search.options).asks_model
    async with assemble(config, run_dir, client=None if asks else Nobody()) as services:
        yield services


def make_plan(config: RunConfig, root: Path, progress: Callable[[str], None] | None = None) -> Plan:
    """Settle what a search is about: its operator, the cases that are timed, the kernels that it begins with.

    Raises UnknownName, ConfigError and what the suite and the target raise. Builds cases where none are named.
    """
    say = progress or (lambda line: None)
    config = settled(config)
    check(config)
    search = config.search
    assert search is not None
    policy = make_policy(search.policy, search.options)
    if len(config.ops) != 1:
        raise ConfigError("operator", f"a search is for one operator, not {len(config.ops)}", "start one for each")
    suite = get_suite(config.suite_spec)
    operator = suite.operator(config.ops[0])
    if operator.exclusion is not None:
        raise ConfigError(f"operator {operator.name}", f"is not eligible: {operator.exclusion}")
    why = not_applicable(operator, get_target(config.target).features, config.dtypes)
    if why is not None:
        raise ConfigError(f"operator {operator.name}", f"target {config.target} cannot judge it: {why}")
    if not search.cases:
        say(f"choosing cases of {operator.name} to time")
        chosen = choose_cases(suite, operator, config.dtypes, config.seed)
        search = search.model_copy(update={"cases": chosen.cases, "weights": chosen.weights})
        config = config.model_copy(update={"search": search})
    problem = make_problem(config, operator)
    starts = find_starts(config, operator, root)
    if not starts and not policy.asks_model:
        raise ConfigError(
            f"operator {operator.name}",
            f"there is no kernel of it to start from, and policy {policy.name} writes none",
            "give one with --start FILE, or let a model write one: bringup run, or --client",
        )
    return Plan(config=config, operator=operator, problem=problem, starts=tuple(starts))


async def start(
    plan: Plan,
    root: Path,
    *,
    name: str | None = None,
    note: str = "",
    store_url: str | None = None,
    blobs_url: str | None = None,
    lease_seconds: float = LEASE_SECONDS,
    assemble: Assemble = assembled,
    observers: Sequence[Observer] = (),
    notify: Callable[[str], None] | None = None,
    signals: bool = False,
) -> SearchResult:
    """Begin a search under `root` and bring it to its end; raises BringupError before anything is stored."""
    config, operator = plan.config, plan.operator
    run = new_run_id(name=name, root=root)
    log = create_run(
        root, run, url=store_url, blobs=blobs_url, lease_seconds=lease_seconds, several=not (store_url or blobs_url)
    )
    counts = {d: n for d, n in operator.case_counts.items() if d in config.dtypes and n}
    added = sum(n for d, n in operator.added_counts.items() if d in config.dtypes)
    event = RunStarted(
        run=run,
        version=__version__,
        config=config.model_dump(mode="json"),
        operators=(
            OperatorInfo(name=operator.name, category=operator.category, case_counts=counts, cases_added=added),
        ),
        note=note,
        pid=os.getpid(),
    )
    return await _drive(log, plan, event, (), assemble, observers, notify, signals)


async def resume(
    folder: Path,
    *,
    changes: Callable[[dict[str, Any]], RunConfig] | None = None,
    lease_seconds: float = LEASE_SECONDS,
    assemble: Assemble = assembled,
    observers: Sequence[Observer] = (),
    notify: Callable[[str], None] | None = None,
    signals: bool = False,
) -> SearchResult:
    """Go on with the search in `folder`, beside other processes if there are any: no stored call is made again.

    `changes` gets the stored configuration and returns the one to use. Raises ConfigError for a run that is no search.
    """
    with open_run(folder) as run:
        stored = run.config()
        earlier = list(run.events())
    if not stored.get("search"):
        raise ConfigError(f"run {folder.name}", "is no search", "go on with it by bringup run --resume")
    config = settled(changes(dict(stored)) if changes else RunConfig.model_validate(stored))
    check(config)
    operator = get_suite(config.suite_spec).operator(config.ops[0])
    # killed before its first node was stored: it begins as if it were new
    starts = () if Graph.of(earlier).nodes else tuple(find_starts(config, operator, folder.parent))
    plan = Plan(config=config, operator=operator, problem=make_problem(config, operator), starts=starts)
    data = config.model_dump(mode="json")
    log = resume_run(folder, lease_seconds)
    event = RunResumed(pid=os.getpid(), config=data if data != stored else None)
    return await _drive(log, plan, event, earlier, assemble, observers, notify, signals)


async def _drive(
    log: RunLog,
    plan: Plan,
    first: RunStarted | RunResumed,
    earlier: Sequence[StoredEvent],
    assemble: Assemble,
    observers: Sequence[Observer],
    notify: Callable[[str], None] | None,
    signals: bool,
) -> SearchResult:
    config = plan.config
    search_config = config.search
    assert search_config is not None
    stop, budget = Stop(), Budget(config.budget)
    known = fold_earlier(earlier)
    budget.earlier(0, 0.0, known.seconds)  # tokens and money are counted with the events
    restore = _handle_signals(stop, notify) if signals else lambda: None
    made = False
    try:
        policy = make_policy(search_config.policy, search_config.options)
        await log.append(None, [first])
        await _begin(log, plan)
        async with assemble(config, log.folder) as services:
            made = True
            with open_run(log.folder) as texts:
                services = _warning(services, notify)
                search = Search(
                    log, texts, config, plan.problem, policy, services, _prompts(plan), _knowledge(config, policy),
                    budget=budget, stop=stop, observers=observers, notify=notify,
                )  # fmt: skip
                ended = await search.run()
                await _end(log, search, ended, stop)
    except StoreError:
        raise
    except BringupError as error:
        await log.append(None, [RunInterrupted(reason=str(error))])
        raise
    finally:
        restore()
        log.close()
        if not made and isinstance(first, RunStarted) and log.is_local:
            # a key that is missing or a target that is not here: nothing happened, so nothing is left behind
            await asyncio.to_thread(shutil.rmtree, log.folder, ignore_errors=True)
    return SearchResult(
        run=log.run,
        folder=log.folder,
        graph=search.graph,
        config=config,
        ended=ended,
        interrupted=stop.reason,
        fault=search.fault,
    )


async def _begin(log: RunLog, plan: Plan) -> None:
    """Store the kernels that the search begins with as its first nodes; they are judged and timed like all others."""
    for number, start in enumerate(plan.starts):
        subject = subject_of(plan.operator.name, f"w{number}" if number else "0", ())
        event = NodeStarted(phase="start", source=start.digest, asked=start.origin)
        await asyncio.to_thread(log.coordination.claim, [subject.session])
        await log.append(subject, [event], [start.source])
        await asyncio.to_thread(log.coordination.release, subject.session)


async def _end(log: RunLog, search: Search, ended: Ended | None, stop: Stop) -> None:
    """Store how it ended: once, also where several processes get there together."""
    await _publish(log, search)
    if ended is None:
        await log.append(None, [RunInterrupted(reason=stop.reason or "stopped")])
        return
    coordination = log.coordination
    if await asyncio.to_thread(coordination.claim, [WHOLE_SEARCH]) is None:
        return
    try:
        await search.catch_up()
        if search.graph.ended is None:
            counts: dict[str, int] = {}
            for node in search.graph:
                counts[node.result] = counts.get(node.result, 0) + 1
            await log.append(None, [SearchEnded(cause=ended.cause, reason=ended.reason), RunFinished(outcomes=counts)])
            await search.catch_up()
    finally:
        await asyncio.to_thread(coordination.release, WHOLE_SEARCH)


async def _publish(log: RunLog, search: Search) -> None:
    """Store the best node's kernel as that of the operator's own session.

    So it is what a report, the audit, a library or another run takes this run to have.
    """
    operator = search.operator.name
    if await asyncio.to_thread(log.coordination.claim, [operator]) is None:
        return  # another process is about to
    try:
        await search.catch_up()
        best = search.graph.best
        with open_run(log.folder) as run:
            own = [stored.event for stored in run.events(session=operator)]
            if best is None or any(isinstance(e, SessionFinished) and e.candidate == best.candidate for e in own[-1:]):
                return
            passed = [s.event for s in run.events(session=best.session) if isinstance(s.event, Judged)]
        begin = SessionResumed() if own else SessionStarted(refine=best.candidate)
        end = SessionFinished(outcome="covered", candidate=best.candidate, reason=f"node {best.id} of the search")
        await log.append(operator, [begin, passed[-1], end])
        await search.catch_up()
    finally:
        await asyncio.to_thread(log.coordination.release, operator)


def _prompts(plan: Plan) -> SearchPrompts:
    suite: Suite = get_suite(plan.config.suite_spec)
    dialect, patches = get_target(plan.config.target).dialect(), plan.config.prompts.patches
    return SearchPrompts(plan.problem, dialect, suite.docs, suite.words, patches)


def _knowledge(config: RunConfig, policy: Policy) -> Base:
    assert config.search is not None
    return load(config.search.knowledge) if policy.asks_model else Base(())


def _warning(services: Services, notify: Callable[[str], None] | None) -> Services:
    return replace(services, judge=IsolationWarner(services.judge, notify or (lambda line: None)))


def _handle_signals(stop: Stop, notify: Callable[[str], None] | None) -> Callable[[], None]:
    """Make Ctrl-C and SIGTERM stop the search; returns a function that restores what was before."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def request(reason: str) -> None:
        if stop.reason is None:
            stop.request(reason)
            if notify is not None:
                notify("stopping: replies in flight are waited for and stored; Ctrl-C again stops at once")
        elif task is not None:
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, request, f"interrupted by {number.name}")

    def restore() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError):
                loop.remove_signal_handler(number)

    return restore
