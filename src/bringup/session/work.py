"""What every state of a session needs: storing events, texts, asking a model, heeding a stop. No decisions here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Literal, TypeVar

from bringup.candidate import digest
from bringup.clients import Call, Client, Message, Reply, Usage, estimate_usage, sampling_of
from bringup.config import ClientConfig
from bringup.errors import ClientError
from bringup.operators import Operator
from bringup.prompts import Prompt
from bringup.session.budget import cost_of
from bringup.session.fold import SessionState
from bringup.session.parts import Parts
from bringup.store import (
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    Outcome,
    Role,
    Run,
    RunLog,
    SessionFinished,
    StoredEvent,
    Subject,
)

T = TypeVar("T")


class SessionWork:
    """The steps of a session: prompts, calls, lint, judge, each with its events; `RepairLoop` chooses the next one."""

    def __init__(
        self,
        parts: Parts,
        log: RunLog,
        operator: Operator,
        *,
        earlier: Iterable[StoredEvent] = (),
        texts: Run | None = None,
        refine: str | None = None,
        subject: Subject | None = None,
    ) -> None:
        """Prepare a session; with `earlier` events it goes on where they end, reading texts from `texts`.

        `refine` is the source of a candidate to start from. `subject` says which of the operator's sessions it is (by
        default its own), and of which node.
        """
        self.operator = operator
        self.subject = subject or Subject(operator.name)
        self.state = SessionState()
        self.error: Exception | None = None  # what stopped it
        self.stopped_for = ""  # why, in words
        self._parts = parts
        self._config = parts.config
        self._log = log
        self._refine = refine
        self._run = texts
        self._texts: dict[str, str] = {}
        for stored in earlier:
            self.state.apply(stored.event)

    async def _store(self, *events: Event, texts: Iterable[str] = ()) -> None:
        texts = list(texts)
        await self._log.append(self.subject, events, texts)
        for text in texts:
            self._texts[digest(text)] = text
        for event in events:
            self.state.apply(event)

    async def _text(self, name: str) -> str:
        if name not in self._texts:
            source = self._run.blob if self._run is not None else self._log.blobs.get
            self._texts[name] = await asyncio.to_thread(source, name)
        return self._texts[name]

    def _forget(self) -> None:
        """Drop the texts that the dialog no longer needs: a thousand sessions would keep gigabytes."""
        state = self.state
        needed = {name for _, name in state.messages}
        needed |= {name for name in (state.system, state.candidate) if name}
        self._texts = {name: text for name, text in self._texts.items() if name in needed}

    async def _finish(self, outcome: Outcome, reason: str = "") -> None:
        await self._store(SessionFinished(outcome=outcome, reason=reason, candidate=self.state.candidate))

    async def _stop(self, reason: str, cause: Literal["budget", "error"] = "error") -> None:
        self.stopped_for = one_line(reason)
        await self._store(
            SessionFinished(outcome="stopped", cause=cause, reason=one_line(reason), candidate=self.state.candidate)
        )

    async def _over_budget(self) -> bool:
        reason = self._parts.budget.used_up()
        if reason is not None:
            await self._stop(reason, "budget")
        return reason is not None

    def _call(self, turn: int, role: Role) -> Call:
        return Call(
            run=self._log.run,
            operator=self.operator.name,
            attempt=self.state.attempt,
            turn=turn,
            role=role,
            session=self.subject.session,
            node=self.subject.node,
        )

    async def _store_call(self, call: Call, config: ClientConfig, prompt: Prompt, tokens: int) -> None:
        await self._store(
            CallStarted(
                key=call.key,
                role=call.role,
                client=config.title,
                attempt=call.attempt,
                dialog=self.state.dialog,
                turn=call.turn,
                template=prompt.template,
                template_digest=prompt.template_digest,
                prompt=digest(prompt.text),
                context_tokens=tokens,
            ),
            texts=[prompt.text],
        )
        self._fresh_call = True

    _fresh_call = False  # the pending call was begun by this process, so nobody can hold an answer to it

    async def _ask(self, client: Client, config: ClientConfig, messages: list[Message]) -> Reply | None:
        """Get and store the answer to the pending call; None when the budget forbids to ask."""
        pending = self.state.pending
        assert pending is not None
        call = self._call(pending.turn, pending.role)
        fresh, self._fresh_call = self._fresh_call, False
        if not fresh and (reply := await client.recover(call)) is not None:
            return await self._keep(reply, call, config, messages, recovered=True)
        budget = self._parts.budget
        expected = budget.expected(pending.context_tokens)
        cost = cost_of(expected, config.model or "", self._config.prices)
        held = await self._unless_stopped(budget.hold(expected, cost))
        try:
            if await self._over_budget():
                return None
            self._parts.stop.check()
            try:
                reply = await self._waiting(client, client.complete(messages, sampling_of(config), call))
            except ClientError as error:
                await self._store(
                    CallFailed(key=call.key, role=call.role, attempt=call.attempt, turn=call.turn, error=str(error))
                )
                raise
            return await self._keep(reply, call, config, messages, recovered=False)
        finally:
            budget.release(held)

    async def _keep(
        self, reply: Reply, call: Call, config: ClientConfig, messages: list[Message], *, recovered: bool
    ) -> Reply:
        """Count and store a reply."""
        text = clean(reply.text)
        model = reply.model or config.model or ""
        usage = _usage(reply, messages)
        cost = cost_of(usage, model, self._config.prices)
        if cost is None and config.model:
            cost = cost_of(usage, config.model, self._config.prices)  # providers answer with dated names
        self._parts.budget.spend(usage, cost)
        await self._store(
            CallFinished(
                key=call.key,
                role=call.role,
                attempt=call.attempt,
                turn=call.turn,
                reply=digest(text),
                usage=usage,
                cost=cost,
                model=model,
                finish_reason=reply.finish_reason,
                seconds=reply.seconds,
                recovered=recovered,
            ),
            texts=[text],
        )
        return reply

    async def _waiting(self, client: Client, answer: Coroutine[Any, Any, Reply]) -> Reply:
        """Wait for an answer. On a stop request paid-for answers are still waited for and stored; those that can be
        fetched later (`durable` clients: a mailbox, recordings) are left.
        """
        if not client.durable:
            return await answer
        return await self._unless_stopped(answer)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self._parts.stop.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            self._parts.stop.check()
            return await task
        finally:
            stop.cancel()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def message(role: str, content: str) -> Message:
    """Return one turn of a dialog."""
    return Message.model_validate({"role": role, "content": content})


def _usage(reply: Reply, messages: list[Message]) -> Usage:
    """Return the provider's count, or our estimate: the client that recovers an answer may not know the dialog."""
    if not reply.usage.estimated and (reply.usage.input_tokens or reply.usage.output_tokens):
        return reply.usage
    return estimate_usage(messages, reply.text)


def clean(text: str) -> str:
    """Replace what UTF-8 cannot hold (lone surrogates from a broken stream)."""
    return text.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str) -> str:
    """Return a message in one line: of a traceback the first and the last line tell what happened."""
    lines = [" ".join(line.split()) for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 3:
        lines = [lines[0], "...", lines[-1]]
    return clean(" ".join(lines))[:1000]
