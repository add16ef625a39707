"""The repair loop: generate, lint, judge, diagnose, and back, until the goal of the engine above is reached.

What it does next is decided by the session's state alone, so that it goes on after an interruption where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Literal, Protocol

from bringup.candidate import EDIT_KINDS, Candidate, FormatProblem, digest, is_patch
from bringup.clients import Message
from bringup.errors import ClientError, ContextExceeded, Unanswered
from bringup.prompts import Prompt
from bringup.session.fold import Feedback
from bringup.session.history import Turn, shortened
from bringup.session.table import State
from bringup.session.work import SessionWork, clean, message
from bringup.store import (
    AttemptStarted,
    Debugged,
    Diagnosed,
    DialogStarted,
    Judged,
    Linted,
    Parsed,
    SessionStarted,
    Summarised,
)
from bringup.tokens import estimate_tokens
from bringup.verdict import Verdict

LONG_LOG = 4000  # characters of a compiler log above which the summariser is asked, about 1,000 tokens


class Goal(Protocol):
    """What the engine above wants of the loop."""

    async def wanted(self, candidate: Candidate, verdict: Verdict, *, start: bool) -> str | None:
        """Return what is still wanted of a candidate that passed every case, as the model is told; None: nothing.

        `start`: it is the kernel that the session began with, and no call has been made.
        """
        ...


class Coverage:
    """The goal of coverage: a candidate that passes every case, whoever wrote it."""

    async def wanted(self, candidate: Candidate, verdict: Verdict, *, start: bool) -> str | None:
        """Nothing more is wanted."""
        return None


class End(Enum):
    """Why the loop has returned."""

    REACHED = "reached"  # the latest candidate is what the goal wants
    CALLS_USED = "calls used"  # of this attempt
    NO_ANSWER = "no answer"  # the client does not answer this dialog: `unanswered` has the error
    STOPPED = "stopped"  # for the budget, or because the candidate could not be judged; stored already


class RepairLoop(SessionWork):
    """The loop over one attempt's calls. The engine above begins attempts, and says what its goal is."""

    goal: Goal = Coverage()
    calls: int | None = None  # model calls of an attempt; None: as many as the configuration says
    unanswered: Unanswered | None = None
    shown: str | None = None  # blob: the module that the task itself shows, which the first answer's edits are of

    async def repair(self) -> End:
        """Go on until an end; a nearly full context leads to a new dialog. Raises Stopping on request, StoreError.

        An attempt must have begun: `begin_attempt`.
        """
        steps: dict[State, Callable[[], Awaitable[End | None]]] = {
            State.GENERATE: self._generate,
            State.LINT: self._lint,
            State.JUDGE: self._judge,
            State.DIAGNOSE: self._diagnose,
            State.DEBUG: self._debug,
            State.SUMMARISE: self._summarise,
        }
        while not self.state.ended:
            self._parts.stop.check()
            end = await steps[self.state.at]()
            if end is not None:
                return end
        return End.REACHED if self.state.at is State.COVERED else End.STOPPED

    # sessions, attempts and dialogs

    async def begin_session(self, source: str | None) -> None:
        """Begin, from a kernel or from nothing."""
        event = SessionStarted(refine=digest(source) if source else None)
        await self._store(event, texts=[source] if source else [])

    async def begin_attempt(self, candidate: str | None, after: Literal["calls", "unanswered"] = "calls") -> None:
        """Begin the next attempt, from scratch or from a candidate, named by its digest."""
        attempt = self.state.attempt + 1
        dialog, texts = self._dialog(attempt, 1, "attempt", candidate)
        await self._store(AttemptStarted(attempt=attempt, after=after), dialog, texts=texts)

    async def _new_dialog(self) -> None:
        state = self.state
        event, texts = self._dialog(state.attempt, state.dialog + 1, "context", state.candidate)
        await self._store(event, texts=texts)

    def _dialog(
        self, attempt: int, dialog: int, reason: Literal["attempt", "context"], candidate: str | None
    ) -> tuple[DialogStarted, list[str]]:
        system = self._parts.asked(attempt)[1].system_prompt  # "": none at all
        if system is None:
            system = self._parts.prompts.system().text
        event = DialogStarted(
            attempt=attempt,
            dialog=dialog,
            reason=reason,
            candidate=candidate,
            system=digest(system) if system else None,
        )
        return event, [system] if system else []

    # generate

    async def _generate(self) -> End | None:
        state = self.state
        if state.reply is None:
            self._forget()
        limits = self._config.attempts
        if state.pending is None and state.reply is None:
            if state.turn >= (limits.calls if self.calls is None else self.calls):
                return End.CALLS_USED
            if await self._over_budget():
                return None
            prompt = await self._next_prompt()
            tokens = await self._context_tokens(prompt)
            if state.messages and tokens > limits.context_tokens * (1 - limits.context_reserve):
                await self._new_dialog()
                return None
            call = self._call(state.turn + 1, "generate")
            await self._store_call(call, self._parts.asked(state.attempt)[1], prompt, tokens)
        if state.reply is None:
            assert state.pending is not None
            system = [Message(role="system", content=await self._text(state.system))] if state.system else []
            history = [message(role, text) for role, text in await self._history()]
            last = message("user", await self._text(state.pending.prompt))
            try:
                reply = await self._ask(*self._parts.asked(state.attempt), [*system, *history, last])
            except Unanswered as error:
                if isinstance(error, ContextExceeded) and state.messages:
                    # the model holds less than the configuration says: go on as when the context is nearly full
                    await self._new_dialog()
                    return None
                self.unanswered = error
                return End.NO_ANSWER
            if reply is None:
                return None
        assert state.reply is not None
        await self._parse(await self._text(state.reply.reply))
        return None

    async def _next_prompt(self) -> Prompt:
        """Render what to say now: the task in a fresh dialog, else what became of the last reply."""
        state, prompts, operator = self.state, self._parts.prompts, self.operator
        if state.messages:
            report = await self._report(state.feedback)
            return prompts.again(operator, report, state.repeats) if state.repeats else report
        # in a thread: the first look at a suite's docstrings may take seconds
        if state.dialog_candidate is None:
            return await asyncio.to_thread(prompts.first, operator)
        candidate = Candidate(source=await self._text(state.dialog_candidate))
        # a dialog that was broken off in the middle takes the last report along; a kernel to refine, its first one
        feedback = state.feedback
        if feedback is None and state.dialog_candidate == state.refine:
            feedback = state.refine_feedback
            if feedback is not None and _of_another_contract(feedback):
                feedback = None  # its first lines say so
        known = await self._report(feedback) if feedback is not None else None
        if known is not None and not known.text:  # a goal that wants more, and has nothing to say of it
            known = None
        return await asyncio.to_thread(prompts.refine, operator, candidate, known)

    async def _report(self, feedback: Feedback | None) -> Prompt:
        """Render what became of a candidate or a reply."""
        prompts, operator = self._parts.prompts, self.operator
        assert feedback is not None
        if feedback.problem is not None:
            # where edits did not fit the module, the model sees it whole again
            shown = self.state.module if feedback.problem.kind in EDIT_KINDS else None
            module = await self._text(shown) if shown else ""
            return prompts.format_error(operator, feedback.problem, module)
        if feedback.judged is None:
            return prompts.lint(operator, feedback.violations)
        if feedback.wanted is not None:
            text = await self._text(feedback.wanted)
            return Prompt(text=text, template="goal", template_digest=digest(text))
        verdict = Verdict.model_validate_json(await self._text(feedback.judged.verdict))
        debugger = await self._text(feedback.debugged) if feedback.debugged else None
        if verdict.kind == "crashed" and debugger is None:
            verdict = verdict.model_copy(update={"log": ""})  # the debugger is switched off: its output is in the log
        summary = await self._text(feedback.summary) if feedback.summary else None
        return prompts.verdict(operator, verdict, debugger, summary)

    async def _context_tokens(self, prompt: Prompt) -> int:
        """Estimate the tokens of the dialog with `prompt`: the provider's count where it gave one."""
        state = self.state
        new = estimate_tokens(prompt.text)
        replies = sum(role == "assistant" for role, _ in state.messages)
        if state.context_tokens and replies <= self._config.attempts.whole_replies:
            return state.context_tokens + new
        texts = [text for _, text in await self._history()] + ([await self._text(state.system)] if state.system else [])
        return new + sum(map(estimate_tokens, texts))

    async def _history(self) -> list[Turn]:
        """Return the dialog so far as it is sent again."""
        turns = [(role, await self._text(name)) for role, name in self.state.messages]
        return shortened(turns, self._config.attempts.whole_replies)

    async def _parse(self, text: str) -> None:
        state = self.state
        base = (state.module or self.shown) if self._config.prompts.patches else None
        result = self._parts.parse(text, await self._text(base) if base else None)
        if isinstance(result, FormatProblem):
            await self._store(Parsed(attempt=state.attempt, turn=state.turn, problem=result))
        else:
            await self._store(
                Parsed(
                    attempt=state.attempt,
                    turn=state.turn,
                    candidate=result.digest,
                    patch=base is not None and is_patch(text),
                ),
                texts=[result.source],
            )

    # lint and judge

    async def _candidate(self) -> Candidate:
        assert self.state.candidate is not None
        return Candidate(source=await self._text(self.state.candidate))

    async def _lint(self) -> None:
        state = self.state
        candidate = await self._candidate()
        on = self._config.states.lint
        violations = tuple(self._parts.lint(candidate, self.operator)) if on else ()
        await self._store(
            Linted(
                attempt=state.attempt,
                turn=state.turn,
                candidate=candidate.digest,
                violations=violations,
                skipped=not on,
            )
        )

    async def _judge(self) -> None:
        state = self.state
        candidate = await self._candidate()
        # judging again costs nothing but time, so a stop request does not wait for it
        config, parts = self._config, self._parts
        job = parts.jobs.job(
            candidate, self.operator, dtypes=config.dtypes, seed=config.seed, failures=config.judge.failures
        )
        verdict = await self._unless_stopped(parts.judge.judge(job))
        # a Ctrl-C reaches the workers too, and a worker that it ended is no verdict on the candidate
        self._parts.stop.check()
        text = clean(verdict.model_dump_json())
        wanted = None
        if verdict.passed:
            # what the goal says is stored with the verdict: a session that goes on later does not ask it again
            asked = self.goal.wanted(candidate, verdict, start=not state.turn)
            wanted = await self._unless_stopped(asked)
            self._parts.stop.check()
        await self._store(
            Judged(
                attempt=state.attempt,
                turn=state.turn,
                candidate=candidate.digest,
                result=verdict.kind,
                summary=clean(verdict.summary),
                guard=verdict.guard,
                cases_passed=verdict.cases_passed,
                cases_total=verdict.cases_total,
                passed_by_dtype=verdict.passed_by_dtype,
                seconds=verdict.seconds,
                verdict=digest(text),
                wanted=None if wanted is None else digest(clean(wanted)),
            ),
            texts=[text] if wanted is None else [text, clean(wanted)],
        )
        if verdict.kind == "untested":
            await self._stop(f"the candidate could not be judged: {verdict.summary}")

    # diagnose, debug, summarise

    async def _failing(self) -> Verdict:
        feedback = self.state.feedback
        assert feedback is not None
        assert feedback.judged is not None
        return Verdict.model_validate_json(await self._text(feedback.judged.verdict))

    async def _diagnose(self) -> None:
        state, states = self.state, self._config.states
        verdict = await self._failing()
        finding: Literal["crash_dump", "long_log", "plain"] = "plain"
        if verdict.kind == "crashed" and verdict.log and states.debug:
            finding = "crash_dump"
        elif (
            verdict.kind == "compile"
            and len(verdict.log) > LONG_LOG
            and states.summarise
            and self._parts.summariser is not None
        ):
            finding = "long_log"
        await self._store(Diagnosed(attempt=state.attempt, turn=state.turn, finding=finding))

    async def _debug(self) -> None:
        # the worker that crashed has written the debugger's output into the verdict: the process is gone by now
        verdict = await self._failing()
        report = clean(verdict.log)
        await self._store(
            Debugged(attempt=self.state.attempt, turn=self.state.turn, report=digest(report)), texts=[report]
        )

    async def _summarise(self) -> None:
        state, client = self.state, self._parts.summariser
        config = self._config.summariser or self._config.client
        if client is None:  # resumed without the summariser
            await self._summarised(None, "no summariser is configured")
            return
        if state.pending is None and state.reply is None:
            if await self._over_budget():
                return
            prompt = self._parts.prompts.summarise(self.operator, (await self._failing()).log)
            call = self._call(state.turn, "summarise")
            await self._store_call(call, config, prompt, estimate_tokens(prompt.text))
        if state.reply is None:
            assert state.pending is not None
            messages = [message("user", await self._text(state.pending.prompt))]
            if config.system_prompt:
                messages.insert(0, message("system", config.system_prompt))
            try:
                if await self._ask(client, config, messages) is None:
                    return
            except ClientError as error:
                await self._summarised(None, str(error))  # the log itself will do
                return
        assert state.reply is not None
        await self._summarised(state.reply.reply, None)

    async def _summarised(self, summary: str | None, problem: str | None) -> None:
        await self._store(
            Summarised(attempt=self.state.attempt, turn=self.state.turn, summary=summary, problem=problem)
        )


def _of_another_contract(feedback: Feedback) -> bool:
    """Whether all that is known of a kernel is that its wrapper takes other arguments."""
    return bool(feedback.violations) and all(found.rule == "wrapper-signature" for found in feedback.violations)
