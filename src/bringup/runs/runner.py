"""Many sessions at once: scheduling, budgets, stops, and the beginning and end of a run."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bringup import __version__
from bringup.config import RunConfig
from bringup.errors import (
    BringupError,
    ClientError,
    ClientRefused,
    ConfigError,
    DialogDiverged,
    LeaseLost,
    StoreError,
    Unanswered,
)
from bringup.operators import Operator
from bringup.runs.claims import PAUSE, Claims
from bringup.runs.ids import new_run_id
from bringup.runs.isolation import IsolationWarner
from bringup.runs.plan import Plan, check, make_plan, narrowed, settled
from bringup.runs.result import OPEN, RunResult, count_outcomes, fold_earlier, is_finished
from bringup.runs.services import Services, assemble
from bringup.session import Budget, Session, SessionState, Stop, Stopping, not_applicable
from bringup.store import (
    LEASE_SECONDS,
    CallFinished,
    Judged,
    Run,
    RunFinished,
    RunInterrupted,
    RunLog,
    RunResumed,
    RunStarted,
    SessionFinished,
    SessionStarted,
    SessionSummary,
    StoredEvent,
    create_run,
    open_run,
    resume_run,
)
from bringup.suites import get_suite

WHOLE_RUN = ""  # claimed like a session by who stores the end of the run
IN_A_ROW = 5  # sessions stopped by errors, with nothing achieved in between, after which the whole run stops
Assemble = Callable[[RunConfig, Path], AbstractAsyncContextManager[Services]]
Observer = Callable[[StoredEvent], None]
Notify = Callable[[str], None]


class Runner:
    """Brings the sessions of one run to their ends."""

    def __init__(
        self,
        log: RunLog,
        config: RunConfig,
        plan: Plan,
        earlier: Iterable[StoredEvent] = (),
        notify: Notify | None = None,
    ) -> None:
        """Prepare; with `earlier` events the run goes on where they end. `notify` is told what a watcher must know."""
        self._notify = notify or (lambda line: None)
        self.log = log
        self.config = config
        self.plan = plan
        self.stop = Stop()
        self.budget = Budget(config.budget)
        self.fault: BringupError | None = None
        self._earlier = fold_earlier(earlier)
        self.budget.earlier(self._earlier.tokens, self._earlier.money, self._earlier.seconds)
        self._tasks: list[asyncio.Task[None]] = []
        self._in_a_row = {"client": 0, "judge": 0, "dialogs": 0}
        self._answers = 0  # that this process got
        log.observers.append(self._watch)
        self._at_work: dict[str, asyncio.Task[SessionState]] = {}  # by session
        self._taken_over: set[str] = set()
        self._seen = self._earlier.last_seq  # events of other processes up to this one are known

    async def run(self, services: Services) -> None:
        """Run all sessions until they end or a stop is requested; raises StoreError when nothing can be stored."""
        shared = self.log.coordination.shared
        only = self.plan.only
        parts = services.parts(self.config, self.budget, self.stop)
        with open_run(self.log.folder) as texts:
            await self._mark_not_applicable(services, texts)
            waiting = [
                op for op in self.plan.operators if not self._final(op.name) and (only is None or op.name in only)
            ]
            claims = Claims(self.log, texts, self.stop, waiting, self._earlier.events, self._ended)

            async def work() -> None:
                while self.stop.reason is None and (claimed := await claims.next()) is not None:
                    operator, earlier = claimed
                    session = Session(
                        parts,
                        self.log,
                        operator,
                        earlier=earlier,
                        texts=texts,
                        refine=self.plan.refine.get(operator.name),
                    )
                    try:
                        await self._through(session)
                    except Stopping:
                        return
                    except LeaseLost as error:
                        self._notify(str(error))
                        claims.put_back(operator)
                        continue
                    finally:
                        await claims.release(operator)
                    self._learn(session)

            self._tasks = [asyncio.create_task(work()) for _ in range(min(self.config.sessions, len(waiting)))]
            beside = [asyncio.create_task(self._time_out())]
            if shared:
                self.log.coordination.on_loss = self._loss_told(asyncio.get_running_loop())
                beside.append(asyncio.create_task(self._follow(texts)))
            try:
                await self._all_done()
                if shared:
                    await self._catch_up(texts)
            finally:
                self.log.coordination.on_loss = None
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)
        await self._end()

    async def _through(self, session: Session) -> None:
        """Run a session to its end; raises LeaseLost as soon as it is known that another process took it over."""
        name = session.subject.session
        task = self._at_work[name] = asyncio.create_task(session.run())
        try:
            await task
        except asyncio.CancelledError:
            if name not in self._taken_over:
                raise
            raise LeaseLost(f"run {self.log.run}: session {name}: another process has it now") from None
        finally:
            self._taken_over.discard(name)
            del self._at_work[name]

    def _loss_told(self, loop: asyncio.AbstractEventLoop) -> Callable[[str], None]:
        def lost(session: str) -> None:
            task = self._at_work.get(session)
            if task is not None:
                self._taken_over.add(session)
                task.cancel()

        def told(session: str) -> None:
            loop.call_soon_threadsafe(lost, session)

        return told

    async def _follow(self, texts: Run) -> None:
        """Show the watchers what other processes store of the run, and count what they spend."""
        while True:
            await asyncio.sleep(PAUSE)
            with suppress(StoreError):  # the next write tells of a database that is gone
                await self._catch_up(texts)

    async def _catch_up(self, texts: Run) -> None:
        for stored in await asyncio.to_thread(lambda: list(texts.events(after=self._seen))):
            self._seen = stored.seq
            if stored.worker == self.log.coordination.worker:
                continue
            if isinstance(stored.event, CallFinished):
                usage = stored.event.usage
                self.budget.earlier(usage.input_tokens + usage.output_tokens, stored.event.cost or 0.0, 0.0)
            for observer in self.log.observers:
                if observer != self._watch:
                    observer(stored)

    async def _all_done(self) -> None:
        pending: set[asyncio.Task[None]] = set(self._tasks)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
            failed = [t.exception() for t in done if not t.cancelled() and t.exception() is not None]
            if failed:
                for task in pending:
                    task.cancel()
                await asyncio.gather(*pending, return_exceptions=True)
                raise failed[0]  # type: ignore[misc]  # a StoreError, or a bug of the scheduler

    async def _end(self) -> None:
        with_ends = await asyncio.to_thread(count_outcomes, self.log.folder)
        if self.stop.reason is not None:
            await self.log.append(None, [RunInterrupted(reason=self.stop.reason)])
        elif not with_ends.get("open") and not with_ends.get("stopped"):
            await self._finished(RunFinished(outcomes=with_ends))
        else:
            words = [("stopped", "sessions stopped"), ("open", "operators left out of this part of the run")]
            parts = [f"{with_ends[name]} {text}" for name, text in words if with_ends.get(name)]
            await self.log.append(None, [RunInterrupted(reason=", ".join(parts))])

    async def _finished(self, event: RunFinished) -> None:
        """Store the end of the run: once, also where several processes get there together."""
        coordination = self.log.coordination
        if await asyncio.to_thread(coordination.claim, [WHOLE_RUN]) is None:
            return
        try:
            if not (coordination.shared and await asyncio.to_thread(is_finished, self.log.folder)):
                await self.log.append(None, [event])
        finally:
            await asyncio.to_thread(coordination.release, WHOLE_RUN)

    async def _mark_not_applicable(self, services: Services, texts: Run) -> None:
        """End those that the target cannot judge first, so that the denominators are right from the beginning."""
        for operator in self.plan.operators:
            why = not_applicable(operator, services.features, self.config.dtypes)
            if why is None or self._final(operator.name):
                continue
            claims = Claims(self.log, texts, self.stop, [operator], self._earlier.events, self._ended)
            claimed = await claims.next(wait=False)
            if claimed is None:
                continue
            end = SessionFinished(outcome="not_applicable", reason=why)
            await self.log.append(operator.name, [end] if claimed[1] else [SessionStarted(), end])
            await claims.release(operator)
            self._earlier.events[operator.name] = [
                StoredEvent(run=self.log.run, seq=0, time=0.0, operator=operator.name, event=end)
            ]

    def _final(self, operator: str) -> bool:
        return self._ended(operator, self._earlier.events.get(operator, ()))

    def _ended(self, operator: str, events: Sequence[StoredEvent]) -> bool:
        """Whether the last stored event of the operator's session ends it for good."""
        last = events[-1].event if events else None
        if not isinstance(last, SessionFinished) or last.outcome == "stopped":
            return False
        return last.outcome != "unanswered" or operator not in self.plan.again

    def _watch(self, stored: StoredEvent) -> None:
        event = stored.event
        if isinstance(event, CallFinished):
            self._in_a_row["client"] = self._in_a_row["dialogs"] = 0
            self._answers += 1
        elif isinstance(event, Judged):
            self._in_a_row["judge"] = 0
        elif isinstance(event, SessionFinished) and event.cause == "budget":
            self.stop.request(event.reason, budget=True)

    def _learn(self, session: Session) -> None:
        """Stop the run when its errors say that no session can get anywhere."""
        error = session.error
        if error is None or isinstance(error, DialogDiverged):
            return
        if isinstance(error, Unanswered):
            side = "dialogs"
            if self._answers:  # the endpoint answers, so it is the dialog that it does not like
                return
        else:
            side = "client" if isinstance(error, ClientError) else "judge"
        self._in_a_row[side] += 1
        fault = error if isinstance(error, BringupError) else BringupError(f"{type(error).__name__}: {error}")
        if isinstance(error, ClientRefused):
            self.fault = fault
            self.stop.request(str(error))
        elif self._in_a_row[side] >= IN_A_ROW:
            self.fault = fault
            ended = "got no answer, and no other has got one" if side == "dialogs" else "stopped"
            self.stop.request(f"{self._in_a_row[side]} sessions in a row {ended}, the last with: {error}")

    async def _time_out(self) -> None:
        left = self.budget.seconds_left
        if left is not None:
            await asyncio.sleep(max(left, 0.0))
            self.stop.request(self.budget.used_up() or "time budget used up", budget=True)

    def request_stop(self, reason: str) -> None:
        """Stop cleanly at the first request: answers in flight are stored. At the second, stop at once."""
        if self.stop.reason is None:
            self.stop.request(reason)
            self._notify("stopping: replies in flight are waited for and stored; Ctrl-C again stops at once")
        else:
            for task in self._tasks:
                task.cancel()

    def handle_signals(self) -> Callable[[], None]:
        """Make Ctrl-C and SIGTERM stop the run; returns a function that restores what was before."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.request_stop, f"interrupted by {number.name}")

        def restore() -> None:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

        return restore


async def start(
    config: RunConfig,
    root: Path,
    *,
    plan: Plan | None = None,
    parent: str | None = None,
    name: str | None = None,
    note: str = "",
    store_url: str | None = None,
    blobs_url: str | None = None,
    lease_seconds: float = LEASE_SECONDS,
    assemble: Assemble = assemble,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
    signals: bool = False,
) -> RunResult:
    """Start a new run under `root` and bring it as far as it goes.

    `name` becomes part of the run's id, `note` is kept with it; `store_url`, `blobs_url` and
    `lease_seconds` are `create_run`'s. Raises BringupError before anything is stored when the
    configuration cannot work, StoreError when the store fails.
    """
    config = settled(config)
    plan = plan or make_plan(config, root)
    run = new_run_id(name=name, root=root)
    log = create_run(root, run, url=store_url, blobs=blobs_url, lease_seconds=lease_seconds)
    event = RunStarted(
        run=run,
        version=__version__,
        config=config.model_dump(mode="json"),
        operators=plan.infos(config.dtypes),
        excluded=plan.excluded,
        parent=parent,
        note=note,
        pid=os.getpid(),
    )
    return await _drive(log, config, plan, event, (), assemble, observers, notify, signals)


async def resume(
    folder: Path,
    *,
    changes: Callable[[dict[str, Any]], RunConfig] | None = None,
    ops: Sequence[str] = (),
    skip: Sequence[str] = (),
    operators: Sequence[Operator] | None = None,
    lease_seconds: float = LEASE_SECONDS,
    assemble: Assemble = assemble,
    observers: Sequence[Observer] = (),
    notify: Notify | None = None,
    signals: bool = False,
) -> RunResult:
    """Go on with the run in `folder`: no stored call is made again.

    `changes` gets the stored configuration and returns the one to use. `ops` and `skip` are patterns over the run's
    operators: this process works on those that are chosen, and the others stay as they are. Sessions that ended
    unanswered are asked about again when `ops` names them or when the clients have changed. Raises StoreError when
    another process works on a run that only one can have, ConfigError when its operators are not what they were.
    """
    log = resume_run(folder, lease_seconds)
    try:
        with open_run(folder) as run:
            stored = run.config()
            if stored.get("search"):
                raise ConfigError(f"run {run.id}", "is a search", f"go on with it by bringup tune --resume {run.id}")
            before = RunConfig.model_validate(stored)
            config = settled(changes(dict(stored)) if changes else before)
            check(config)
            started = run.started
            earlier = list(run.events())
            summaries = run.summaries()
        plan = _plan_again(started, config, summaries, operators)
        only = narrowed(plan, started.run, ops, skip)
        plan = replace(
            plan,
            refine=_refine_again(plan, config, folder.parent, summaries),
            only=only,
            again=_asked_again(summaries, only if ops else None, before.chain != config.chain),
        )
    except BaseException:
        log.close()
        raise
    data = config.model_dump(mode="json")
    chosen = None if plan.only is None else tuple(op.name for op in plan.operators if op.name in plan.only)
    event = RunResumed(pid=os.getpid(), config=data if data != stored else None, operators=chosen)
    return await _drive(log, config, plan, event, earlier, assemble, observers, notify, signals)


def _plan_again(
    started: RunStarted,
    config: RunConfig,
    summaries: dict[str, SessionSummary],
    operators: Sequence[Operator] | None,
) -> Plan:
    """Look the operators up again, and see that those not finished still have the cases that they had."""
    suite = None if operators is not None else get_suite(config.suite_spec)
    known = {op.name: op for op in operators or ()}
    found = []
    for info in started.operators:
        operator = known[info.name] if suite is None else suite.operator(info.name)
        counts = {d: n for d, n in operator.case_counts.items() if d in config.dtypes and n}
        if counts != info.case_counts and summaries[info.name].outcome in OPEN:
            raise ConfigError(
                f"run {started.run}",
                f"operator {info.name} has other cases than when the run began ({sum(counts.values())} now, "
                f"{sum(info.case_counts.values())} then): another version of PyTorch or of the suite",
                f"start anew with `bringup run --retry-failed {started.run}`",
            )
        found.append(operator)
    return Plan(operators=tuple(found), excluded=started.excluded)


def _asked_again(summaries: dict[str, SessionSummary], named: frozenset[str] | None, others: bool) -> frozenset[str]:
    """Return the unanswered operators worth another question: all when `others` are asked now, else those named."""
    unanswered = {name for name, summary in summaries.items() if summary.outcome == "unanswered"}
    return frozenset(unanswered if others else unanswered & (named or frozenset()))


def _refine_again(plan: Plan, config: RunConfig, root: Path, summaries: dict[str, SessionSummary]) -> dict[str, str]:
    from bringup.runs.starts import starting_kernels

    fresh = [op for op in plan.operators if not summaries[op.name].started]
    return starting_kernels(config, fresh, root) if fresh else {}


async def _drive(
    log: RunLog,
    config: RunConfig,
    plan: Plan,
    first: RunStarted | RunResumed,
    earlier: Sequence[StoredEvent],
    assemble: Assemble,
    observers: Sequence[Observer],
    notify: Notify | None,
    signals: bool,
) -> RunResult:
    for stored in earlier:
        for observer in observers:
            observer(stored)
    log.observers.extend(observers)
    runner = Runner(log, config, plan, earlier, notify)
    restore = runner.handle_signals() if signals else lambda: None
    assembled = False
    try:
        # the run exists before its clients are made: they may keep files beside it
        await log.append(None, [first])
        async with assemble(config, log.folder) as services:
            assembled = True
            await runner.run(replace(services, judge=IsolationWarner(services.judge, runner._notify)))
    except StoreError:
        raise
    except BringupError as error:
        await log.append(None, [RunInterrupted(reason=str(error))])
        raise
    finally:
        restore()
        log.close()
        if not assembled and isinstance(first, RunStarted) and log.is_local:
            # a key that is missing or a target that is not here: nothing happened, so nothing is left behind
            await asyncio.to_thread(shutil.rmtree, log.folder, ignore_errors=True)
    return await asyncio.to_thread(_result, runner)


def _result(runner: Runner) -> RunResult:
    with open_run(runner.log.folder) as run:
        return RunResult(
            run=run.id,
            folder=runner.log.folder,
            summaries=run.summaries(),
            excluded=run.started.excluded,
            interrupted=runner.stop.reason,
            fault=runner.fault,
        )
