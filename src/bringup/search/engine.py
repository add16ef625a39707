"""The speed engine: workers that take turns at the graph, each making one node at a time.

What is next is decided by the graph alone, under a lease of the graph that one worker of one process holds at a time;
so several processes may work on one graph, and one that was killed leaves nothing but open nodes for others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from bringup.candidate import digest
from bringup.config import RunConfig
from bringup.errors import BringupError, ClientRefused, LeaseLost, StoreError
from bringup.judge.measuring import Measured
from bringup.knowledge import Base, index_lines, retrieve
from bringup.operators import Operator
from bringup.prompts import Prompt
from bringup.runs import Services
from bringup.search.chip import Chip, device_of
from bringup.search.graph import Graph, Node
from bringup.search.helpers import HelperCall, chosen_files, of_helper, of_loop
from bringup.search.node import MeasuringJudge, NodeLoop, measured_event
from bringup.search.policies import Done, Policy, Step, View, Wait
from bringup.search.problem import Problem
from bringup.search.prompting import Brief, Briefing, SearchPrompts, change_of
from bringup.search.serving import leads
from bringup.session import Budget, PromptWriter, Stop, Stopping
from bringup.session.work import one_line
from bringup.store import (
    CallFinished,
    NodeStarted,
    Phase,
    Role,
    Run,
    RunLog,
    SessionFinished,
    StoredEvent,
    Subject,
    session_id,
)
from bringup.tokens import estimate_tokens

Cause = Literal["nodes", "time", "stall", "target", "budget", "policy"]
PAUSE = 0.5
"""Seconds after which a worker that waits looks at the graph again: other processes may have gone on."""
TURN_PAUSE = 0.02
"""Seconds after which the lease of the graph is asked for again."""
IN_A_ROW = 3
"""Nodes stopped by errors, with none finished in between, after which the search stops."""
KNOWLEDGE_FILES = 4
KNOWLEDGE_TOKENS = 3000


@dataclass(frozen=True)
class Ended:
    """Why a search is at its end."""

    cause: Cause
    reason: str


class Search:
    """One process's part in a search. `run` returns why the search ended, None when it was asked to stop."""

    def __init__(
        self,
        log: RunLog,
        texts: Run,
        config: RunConfig,
        problem: Problem,
        policy: Policy,
        services: Services,
        prompts: SearchPrompts,
        knowledge: Base,
        *,
        budget: Budget,
        stop: Stop,
        observers: Sequence[Callable[[StoredEvent], None]] = (),
        notify: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare to work on the graph that `log` and `texts` hold."""
        assert config.search is not None
        self.graph = Graph()
        self.fault: BringupError | None = None
        self._log, self._texts = log, texts
        self._config, self._search = config, config.search
        self._problem, self._policy = problem, policy
        self._prompts, self._knowledge = prompts, knowledge
        self._budget, self._stop = budget, stop
        self._services = services
        self._parts = services.parts(_for_nodes(config), budget, stop)
        self._observers = list(observers)
        self._notify = notify or (lambda line: None)
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._reading = asyncio.Lock()
        self._at_work: dict[str, asyncio.Task[NodeLoop | None]] = {}  # by session
        self._taken_over: set[str] = set()
        self._in_a_row = 0
        self._ended: Ended | None = None
        self._sources: dict[str, str] = {}
        self._chip = Chip(problem, texts)

    @property
    def operator(self) -> Operator:
        """What is searched for."""
        return self._problem.operator

    async def run(self) -> Ended | None:
        """Work until the search is at its end or a stop is requested; raises StoreError when nothing can be stored."""
        self._log.coordination.on_loss = self._loss_told(asyncio.get_running_loop())
        beside = [asyncio.create_task(self._time_out()), asyncio.create_task(self._follow())]
        workers = [asyncio.create_task(self._work()) for _ in range(self._search.workers)]
        try:
            pending: set[asyncio.Task[None]] = set(workers)
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
                for task in done:
                    if not task.cancelled() and (error := task.exception()) is not None:
                        raise error
        finally:
            self._log.coordination.on_loss = None
            for task in (*beside, *workers):
                task.cancel()
            await asyncio.gather(*beside, *workers, return_exceptions=True)
        await self.catch_up()
        reason = self._stop.reason
        if reason is not None and not self._stop.budget:
            return None  # somebody asked for it: the search goes on another time
        if self._ended is None and reason is not None:
            return Ended("time" if reason.startswith("time") else "budget", reason)
        return self._ended  # a worker may have seen the limit before the clock here told of it, or after

    # taking turns

    async def _work(self) -> None:
        while self._stop.reason is None and self._ended is None:
            try:
                node = await self._next()
                if node is None:
                    await self._pause()
                    continue
                await self._through(node)
            except Stopping:
                return
            except LeaseLost as error:
                self._notify(str(error))

    async def _pause(self) -> None:
        """Wait until a node ends here, or for a moment: elsewhere one may have ended."""
        self._changed.clear()
        if self._ended is None and self._stop.reason is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), PAUSE)

    async def _next(self) -> Node | None:
        """Take an open node that nobody works on, or begin one; None when there is nothing to do yet."""
        lease = session_id(self.operator.name, "graph")
        async with self._turn:
            while await self._claim([lease]) is None:
                await asyncio.sleep(TURN_PAUSE)
                if self._stop.reason is not None:
                    return None
            try:
                await self.catch_up()
                return await self._take()
            finally:
                await asyncio.to_thread(self._log.coordination.release, lease)

    async def _take(self) -> Node | None:
        graph = self.graph
        free = [node.session for node in graph.open if self._ready(node) and node.session not in self._at_work]
        if free and (claimed := await self._claim(free)) is not None:
            return next(node for node in graph if node.session == claimed)
        ended = self._end()
        if ended is not None:
            if ended.cause != "nodes" or not graph.open:
                self._ended = ended
            return None
        if any(node.open for node in graph.roots):
            return None
        found = await self._decide()
        if isinstance(found, Done):
            if not graph.open:
                self._ended = Ended("policy", found.reason)
            return None
        if isinstance(found, Wait):
            return None
        step, phase = found
        return await self._begin(step, phase)

    def _ready(self, node: Node) -> bool:
        """The start is timed before all else: it is what others are compared with."""
        first = next(iter(self.graph))
        return node is first or not first.open

    async def _claim(self, sessions: list[str]) -> str | None:
        return await asyncio.to_thread(self._log.coordination.claim, sessions)

    def _end(self) -> Ended | None:
        graph, search = self.graph, self._search
        best = graph.best
        if search.target_speedup is not None and best is not None and best.fitness >= search.target_speedup:
            return Ended("target", f"target reached: {best.fitness:.3g}x of {search.target_speedup:g}x")
        if search.stall is not None and graph.since_best() >= search.stall:
            return Ended("stall", f"no better kernel in {graph.since_best()} nodes")
        if graph.spent >= search.nodes:
            return Ended("nodes", f"all {search.nodes} nodes are made")
        if (reason := self._budget.used_up()) is not None:
            return Ended("time" if reason.startswith("time") else "budget", reason)
        return None

    async def _decide(self) -> tuple[Step, Phase] | Wait | Done:
        graph, search = self.graph, self._search
        if self._policy.asks_model:
            drafts = sum(node.phase == "draft" for node in graph)
            if drafts < search.drafts:
                root = max((n for n in graph.roots if n.valid), key=lambda n: (n.fitness, -n.number), default=None)
                parents = (root.id,) if root is not None else ()
                return Step(parents=parents, memory="none", asked="an independent sample"), "draft"
            if self._stagnates():
                return Step(memory="none", asked="a clean restart", notes={"restart": True}), "expand"
        view = View(
            graph=graph,
            rng=random.Random(f"{self._config.seed}/{graph.spent}"),
            source=self._source,
            seed=self._config.seed,
            target=self._config.target,
            facts=await asyncio.to_thread(self._chip.facts, graph),
        )
        step = await asyncio.to_thread(self._policy.next, view)
        if isinstance(step, Wait) and not graph.open:
            return Done(f"policy {self._search.policy} waits although no node is open")
        return (step, "expand") if isinstance(step, Step) else step

    def _stagnates(self) -> bool:
        """Whether so many nodes have ended without a better one that the next begins with no memory."""
        every = self._search.restart
        if every is None or self.graph.since_best() < every:
            return False
        recent = list(self.graph)[len(self.graph) - every + 1 :]
        return not any(node.notes.get("restart") for node in recent)

    def _source(self, node: Node) -> str:
        name = node.candidate
        if name is None:
            return ""
        if name not in self._sources:
            self._sources[name] = self._texts.blob(name)
        return self._sources[name]

    async def _begin(self, step: Step, phase: Phase) -> Node:
        memory = self._search.memory if step.memory is None else step.memory
        event = NodeStarted(
            phase=phase,
            memory=memory if step.parents else "none",
            source=digest(step.source) if step.source is not None else None,
            choice=dict(step.choice),
            asked=one_line(step.asked) if step.asked else "",
            notes=dict(step.notes),
        )
        # the kernels of a warm start do not count, so that a search has the same names wherever it begins
        subject = subject_of(self.operator.name, str(self.graph.spent + 1), step.parents)
        if await self._claim([subject.session]) is None:
            raise StoreError(
                f"run {self._log.run}: node {subject.node} is not in the graph, and another process has it"
            )
        await self._log.append(subject, [event], [step.source] if step.source is not None else [])
        await self.catch_up()
        return self.graph[subject.node]

    # one node

    async def _through(self, node: Node) -> None:
        """Bring a node to its end; raises LeaseLost as soon as it is known that another process took it over."""
        session = node.session
        task = self._at_work[session] = asyncio.create_task(self._make(node))
        try:
            loop = await task
        except asyncio.CancelledError:
            if session not in self._taken_over:
                raise
            raise LeaseLost(f"run {self._log.run}: node {node.id}: another process has it now") from None
        finally:
            self._taken_over.discard(session)
            del self._at_work[session]
            await asyncio.to_thread(self._log.coordination.release, session)
            self._changed.set()
        if loop is not None:
            self._learn(loop)

    async def _make(self, node: Node) -> NodeLoop | None:
        subject = Subject(self.operator.name, node.session, node.id, node.parents)
        earlier = await asyncio.to_thread(lambda: list(self._texts.events(session=node.session)))
        written = node.started.source is not None  # nobody is asked
        judge = MeasuringJudge(
            self._parts.judge, self._problem, self._start(node), lambda m: self._gate_needed(node, m)
        )
        brief = Brief() if written else await self._brief(node, earlier, subject)
        if brief is None:
            return None
        writer = _Writer(self._parts.prompts, self._prompts, brief)
        parts = replace(self._parts, judge=judge, prompts=writer)
        loop = NodeLoop(
            parts,
            self._log,
            self.operator,
            earlier=of_loop(earlier),
            texts=self._texts,
            refine=self._source(node) if written else None,
            subject=subject,
        )
        loop.judge = judge
        loop.calls = 0 if written else None
        if len(brief.shown) == 1:  # of two it would not be clear which one edits are of
            loop.shown = brief.shown[0].candidate.digest
        loop.remember_measured(earlier)
        await loop.run()
        return loop

    def _start(self, node: Node) -> str | None:
        """The source of the kernel that the search started from, where it works and `node` is another."""
        first = next(iter(self.graph))
        return self._source(first) if first.phase == "start" and first.valid and first is not node else None

    async def _gate_needed(self, node: Node, measured: Measured) -> bool:
        if self._search.gate == "always" or node.phase == "start":
            return True
        await self.catch_up()
        best, found = self.graph.best, measured_event("", "", measured, False, self._problem.weights)
        return best is None or self.graph.fitness_of(found) > best.fitness or leads(self.graph, found)

    def _learn(self, loop: NodeLoop) -> None:
        """Stop when errors say that no node gets anywhere."""
        error = loop.error
        if loop.state.outcome not in {"stopped", "unanswered"} or self._stop.reason is not None:
            self._in_a_row = 0
            return
        self._in_a_row += 1
        fault = error if isinstance(error, BringupError) else None
        if isinstance(error, ClientRefused):
            self.fault = fault
            self._stop.request(str(error))
        elif self._in_a_row >= IN_A_ROW:
            self.fault = fault
            self._stop.request(f"{self._in_a_row} nodes in a row stopped, the last with: {error or loop.stopped_for}")

    # what a node is told

    async def _brief(self, node: Node, earlier: Sequence[StoredEvent], subject: Subject) -> Brief | None:
        """Collect what the node's prompt tells; None when the budget ended the node meanwhile."""
        briefing = Briefing(self._problem, self._texts, self._change, self._chip)
        graph = self.graph
        brief = await asyncio.to_thread(briefing.brief, graph, node.parents, node.memory, node.id)
        if node.memory == "none" or not node.parents:
            return brief
        search = self._search
        if search.remember:
            prompt = await asyncio.to_thread(self._prompts.remember, self.operator, brief)
            answer = await self._help("remember", prompt, earlier, subject)
            if answer is None:
                return None
            brief = replace(brief, directives=answer)
        return await self._with_knowledge(brief, earlier, subject)

    async def _with_knowledge(self, brief: Brief, earlier: Sequence[StoredEvent], subject: Subject) -> Brief | None:
        files = {file.path: file for file in self._knowledge.files}
        if not files:
            return brief
        named: list[str] = []
        if self._search.look_up:
            index = index_lines(files.values())
            prompt = await asyncio.to_thread(self._prompts.look_up, self.operator, brief, index, KNOWLEDGE_FILES)
            answer = await self._help("look_up", prompt, earlier, subject)
            if answer is None:
                return None
            named = chosen_files(answer, list(files), KNOWLEDGE_FILES)
        if named:
            texts: list[str] = []
            for path in named:
                if sum(map(estimate_tokens, texts)) + files[path].tokens <= KNOWLEDGE_TOKENS:
                    texts.append(files[path].text)
            return replace(brief, knowledge="\n\n".join(texts))
        source = brief.shown[0].candidate.source if brief.shown else ""
        found = await asyncio.to_thread(
            retrieve,
            self._knowledge,
            self._config.target,
            device=device_of(brief.facts),
            bound=brief.bound,
            operator=self.operator.name,
            source=source,
            text=brief.directives,
            limit=KNOWLEDGE_FILES,
            tokens=KNOWLEDGE_TOKENS,
        )
        return replace(brief, knowledge=found.text)

    async def _help(self, role: Role, prompt: Prompt, earlier: Sequence[StoredEvent], subject: Subject) -> str | None:
        """Ask a helper; "" where it has no answer, None where the budget ended the node."""
        helper = self._services.helper or self._services.client
        config = self._search.helper or self._config.client
        call = HelperCall(
            self._parts, self._log, self.operator, earlier=of_helper(earlier, role), texts=self._texts, subject=subject
        )
        # the usual system prompt asks for a module: it is for who writes kernels
        answer = await call.ask(prompt, role, helper, config, config.system_prompt or "")
        return None if call.stopped else answer or ""

    def _change(self, node: Node) -> str:
        return change_of(self._texts.blob(node.reply)) if node.reply is not None else ""

    # what others do

    async def catch_up(self) -> None:
        """Read what has been stored since, by anyone."""
        async with self._reading:
            after = self.graph.last_seq
            for stored in await asyncio.to_thread(lambda: list(self._texts.events(after=after))):
                self.graph.add(stored)
                event = stored.event
                if isinstance(event, CallFinished) and stored.worker != self._log.coordination.worker:
                    self._budget.earlier(event.usage.input_tokens + event.usage.output_tokens, event.cost or 0.0, 0.0)
                own = stored.worker == self._log.coordination.worker
                if own and isinstance(event, SessionFinished) and event.cause == "budget":
                    self._stop.request(event.reason, budget=True)
                for observer in self._observers:
                    observer(stored)

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(PAUSE)
            with suppress(StoreError):  # the next write tells of a database that is gone
                await self.catch_up()

    async def _time_out(self) -> None:
        left = self._budget.seconds_left
        if left is not None:
            await asyncio.sleep(max(left, 0.0))
            self._stop.request(self._budget.used_up() or "time budget used up", budget=True)

    def _loss_told(self, loop: asyncio.AbstractEventLoop) -> Callable[[str], None]:
        def lost(session: str) -> None:
            task = self._at_work.get(session)
            if task is not None:
                self._taken_over.add(session)
                task.cancel()

        def told(session: str) -> None:
            loop.call_soon_threadsafe(lost, session)

        return told


class _Writer:
    """The prompts of a node's loop: the universal one in the place of the first, the repair loop's for all others."""

    def __init__(self, base: PromptWriter, search: SearchPrompts, brief: Brief) -> None:
        self._base, self._search, self._brief = base, search, brief

    def first(self, operator: Operator) -> Prompt:
        """Return the universal prompt."""
        return self._search.expand(operator, self._brief)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)


def subject_of(operator: str, node: str, parents: Sequence[str]) -> Subject:
    """Return whose a node's events are: each node has a session of its own, so that it is leased alone."""
    return Subject(operator, session_id(operator, f"n{node}"), node, tuple(parents))


def _for_nodes(config: RunConfig) -> RunConfig:
    """Return the configuration of the repair loops: one attempt a node."""
    assert config.search is not None
    attempts = config.attempts.model_copy(update={"attempts": 1, "calls": config.search.calls})
    return config.model_copy(update={"attempts": attempts, "then": ()})
