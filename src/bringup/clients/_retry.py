"""How every model endpoint is asked: slots, time-out, retries with exponential backoff, no secret in any message."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from bringup.clients._base import Reply, Usage
from bringup.clients._secrets import hide, hide_exactly, hide_in_reply, without_credentials
from bringup.errors import ClientError

log = logging.getLogger("bringup.clients")


@dataclass(frozen=True)
class RetryPolicy:
    """When and how often to ask again. The wait before the n-th retry is drawn from [w/2, w], w = base * 2^(n-1)."""

    retries: int = 6
    base_seconds: float = 1.0
    cap_seconds: float = 60.0  # of w
    retry_after_cap_seconds: float = 600.0  # of what the server asks for

    def wait(self, failures: int, retry_after: float | None) -> float:
        """Return the seconds to wait after `failures` failed tries; never less than the server's Retry-After."""
        # The exponent is bounded since 2.0**1024 overflows.
        full = min(self.cap_seconds, self.base_seconds * 2.0 ** min(failures - 1, 60))
        # Half of the wait is random, so that calls that failed together do not come back together.
        drawn = random.uniform(full / 2, full)
        return max(drawn, min(retry_after or 0.0, self.retry_after_cap_seconds))


class Fault(Exception):
    """One failed try, told without secrets. `error` is raised when it is not to be retried, or after all retries."""

    def __init__(
        self,
        reason: str,
        *,
        retry: bool = True,
        retry_after: float | None = None,
        advice: str = "",
        error: type[ClientError] = ClientError,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry = retry
        self.retry_after = retry_after
        self.advice = advice
        self.error = error
        self.usage = usage  # what the try cost all the same


def _fault(state: RetryCallState) -> Fault:
    """Return the fault of the try that has just failed."""
    assert state.outcome is not None
    fault = state.outcome.exception()
    assert isinstance(fault, Fault)
    return fault


class Endpoint:
    """One model endpoint, with all the calls that this process makes to it.

    A Retry-After holds all of them back, not only the call that was told.
    """

    def __init__(
        self, name: str, url: str, secrets: tuple[str, ...], policy: RetryPolicy, concurrency: int, timeout: float
    ) -> None:
        """Name the endpoint for messages by client `name` and `url`; `timeout` (seconds) bounds one whole try."""
        self.where = hide_exactly(f"{name} {without_credentials(url)}", secrets)
        self.policy = policy
        self.discarded = Usage()  # tokens of tries whose replies could not be used
        self._secrets = secrets
        self._slots = asyncio.Semaphore(concurrency)
        self._timeout = timeout
        self._not_before = 0.0

    async def ask(
        self, what: str, attempt: Callable[[], Awaitable[Reply]], explain: Callable[[Exception], Fault]
    ) -> Reply:
        """Return the reply of the first try that works; `what` names the call in the log.

        `explain` turns an exception of `attempt` into a Fault. Raises ClientError (or the fault's own class) in one
        line. Nothing is chained to it, since a library's exception may hold the request with the key.
        """
        tries = self.policy.retries + 1

        def wait(state: RetryCallState) -> float:
            fault = _fault(state)
            seconds = self.policy.wait(state.attempt_number, fault.retry_after)
            if fault.retry_after:
                self._not_before = max(self._not_before, time.monotonic() + seconds)
            return seconds

        def told(state: RetryCallState) -> None:
            seconds = state.next_action.sleep if state.next_action else 0.0
            number = state.attempt_number + 1
            reason = _fault(state).reason
            log.warning("%s: %s: %s; try %d of %d in %.1f s", self.where, what, reason, number, tries, seconds)

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, Fault) and error.retry),
            stop=stop_after_attempt(tries),
            wait=wait,
            before_sleep=told,
            reraise=True,
        )
        started = time.monotonic()
        try:
            reply: Reply = await retrying(self._try, attempt, explain)
        except Fault as fault:
            last = fault
        else:
            return reply.model_copy(update={"seconds": time.monotonic() - started, "text": self._clean(reply.text)})
        # raised out here, so that the fault, which may hold the request with the key, is not its context
        advice = f"; {last.advice}" if last.advice else ""
        if not last.retry:
            raise last.error(f"{self.where}: {last.reason}{advice}")
        spent = f"{tries} tries in {time.monotonic() - started:.0f} s" if tries > 1 else "1 try"
        raise last.error(f"{self.where}: no usable answer after {spent}: {last.reason}{advice}")

    async def _try(self, attempt: Callable[[], Awaitable[Reply]], explain: Callable[[Exception], Fault]) -> Reply:
        """Try once; raises Fault, of one line and without a secret."""
        async with self._slots:
            while (hold := self._not_before - time.monotonic()) > 0:  # noqa: ASYNC110 (a time to come, no event)
                await asyncio.sleep(hold)
            timeout = asyncio.timeout(self._timeout)
            try:
                async with timeout:
                    return await attempt()
            except Fault as fault:
                found = self._redacted(fault)
            except Exception as error:
                if isinstance(error, TimeoutError) and timeout.expired():
                    found = Fault(f"no whole reply within {self._timeout:g} s", advice="raise client.timeout_seconds")
                else:
                    found = self._redacted(explain(error))
        self._count(found.usage)
        raise found

    def _redacted(self, fault: Fault) -> Fault:
        """Return a copy of `fault`, with no traceback, whose reason is one line of 400 characters without a secret."""
        reason = " ".join(hide(fault.reason[:100_000], self._secrets).split())
        return Fault(
            reason if len(reason) <= 400 else f"{reason[:400]}…",
            retry=fault.retry,
            retry_after=fault.retry_after,
            advice=fault.advice,
            error=fault.error,
            usage=fault.usage,
        )

    def _clean(self, text: str) -> str:
        # A lone surrogate can be sent as a JSON escape, and no file or database takes it.
        return hide_in_reply(text, self._secrets).encode("utf-8", "replace").decode("utf-8")

    def _count(self, usage: Usage | None) -> None:
        if usage is None:
            return
        old = self.discarded
        self.discarded = Usage(
            input_tokens=old.input_tokens + usage.input_tokens,
            output_tokens=old.output_tokens + usage.output_tokens,
            reasoning_tokens=old.reasoning_tokens + usage.reasoning_tokens,
            cached_tokens=old.cached_tokens + usage.cached_tokens,
            estimated=old.estimated or usage.estimated,
        )
