"""Streams and events for code that expects them. Launches and copies are finished when they return: there is one order.

Events take the host's clock, which is what a launch costs here; the modelled time of the chip is in the launch's
statistics.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from bringup.vpe.device import tensors


class Event:
    """A point in time. `elapsed_time` needs `enable_timing=True` on both events, as on other devices."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("events of vpe belong to one process")
        self.enable_timing = enable_timing
        self._nanoseconds: int | None = None

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self._nanoseconds = time.perf_counter_ns()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`; both must have been recorded."""
        if not (self.enable_timing and end.enable_timing):
            raise ValueError("both events need enable_timing=True")
        if self._nanoseconds is None or end._nanoseconds is None:
            raise ValueError("both events must be recorded before the time between them is taken")
        return (end._nanoseconds - self._nanoseconds) / 1e6

    def query(self) -> bool:
        """True: all work before a recorded event is done."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""


class Stream:
    """The one order of work; every instance is the same."""

    stream_id = 0

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        self.priority = priority

    @property
    def device(self) -> Any:
        """`vpe:0`."""
        return tensors.device()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return 0

    def query(self) -> bool:
        """True: all work is done."""
        return True

    def synchronize(self) -> None:
        """As `torch.vpe.synchronize`."""
        getattr(torch, tensors.NAME).synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one by default, and return it."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Nothing to wait for."""

    def wait_stream(self, stream: Stream) -> None:
        """Nothing to wait for."""


def current_stream(device: Any = None) -> Stream:
    """The stream."""
    return Stream()


def default_stream(device: Any = None) -> Stream:
    """The stream."""
    return Stream()


def set_stream(stream: Stream) -> None:
    """Changes nothing."""


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """`with torch.vpe.stream(s):`; changes nothing."""
    yield
