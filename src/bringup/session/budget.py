"""What a run may spend, and what it was told to stop for. Shared by all sessions of a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from bringup.clients import Usage
from bringup.config import BudgetConfig, Price


class Budget:
    """Tokens, money and wall time spent over all processes of a run. Calls in flight may overshoot the limit."""

    def __init__(self, limits: BudgetConfig) -> None:
        """Start with nothing spent; `earlier` adds what other processes of the run spent."""
        self.limits = limits
        self.tokens = 0
        self.money = 0.0
        self._earlier = 0.0
        self._begun = time.monotonic()

    def earlier(self, tokens: int, money: float, seconds: float) -> None:
        """Add what was spent before this process went on with the run."""
        self.tokens += tokens
        self.money += money
        self._earlier += seconds

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Count one call."""
        self.tokens += usage.input_tokens + usage.output_tokens
        self.money += cost or 0.0

    @property
    def seconds(self) -> float:
        """Wall time of the run, pauses between processes left out."""
        return self._earlier + time.monotonic() - self._begun

    @property
    def seconds_left(self) -> float | None:
        """Wall time left, or None without a limit."""
        return None if self.limits.seconds is None else self.limits.seconds - self.seconds

    def used_up(self) -> str | None:
        """Return which limit is reached, in one line, or None."""
        limits = self.limits
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return f"token budget used up: {self.tokens} of {limits.tokens}"
        if limits.money is not None and self.money >= limits.money:
            return f"money budget used up: {self.money:.4f} of {limits.money}"
        if limits.seconds is not None and self.seconds >= limits.seconds:
            return f"time budget used up: {limits.seconds:g} s"
        return None


def cost_of(usage: Usage, model: str, prices: Mapping[str, Price]) -> float | None:
    """Return what a call cost by the price table, or None for a model that has no price."""
    price = prices.get(model)
    if price is None:
        return None
    cached_price = price.input if price.cached_input is None else price.cached_input
    fresh = max(usage.input_tokens - usage.cached_tokens, 0)
    return (fresh * price.input + usage.cached_tokens * cached_price + usage.output_tokens * price.output) / 1e6


class Stopping(Exception):
    """The run is asked to stop: the session leaves at the next step, with nothing to store."""


class Stop:
    """A request to stop, seen by every session before its next step."""

    def __init__(self) -> None:
        """Start without a request."""
        self.reason: str | None = None
        self.budget = False  # sessions store that a budget stopped them
        self._event = asyncio.Event()

    def request(self, reason: str, budget: bool = False) -> None:
        """Ask all sessions to stop; the first reason stays."""
        if self.reason is None:
            self.reason = reason
            self.budget = budget
        self._event.set()

    def check(self) -> None:
        """Raise Stopping when a stop was requested."""
        if self.reason is not None:
            raise Stopping(self.reason)

    async def wait(self) -> None:
        """Wait for a request."""
        await self._event.wait()
