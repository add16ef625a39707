"""A second guest of a sealed kernel, which has made other calls: what it asks for must be what a new one has asked for.

A new guest makes one call, the first of its process. The judge has made nearly all of its calls later in theirs, so a
wrapper that does something else in its first call, or in one at the lowest address, could be right there and wrong in
every sealed call. So nothing that is recorded counts before a guest agrees that is neither new nor told the same
addresses, and has made calls of other sizes before it is asked for the first time.
"""

from __future__ import annotations

import contextlib
import functools
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from bringup.device import space
from bringup.judge._rehearsal import Places, laid_out, of_other_sizes, of_small_sizes, of_usual_sizes
from bringup.judge.calling import Caller, CallFailed, Session
from bringup.library._compiled import Kernels
from bringup.library._numbers import first_difference
from bringup.library._recording import Recorder
from bringup.library._steps import Free
from bringup.library._tapes import Tape
from bringup.library.errors import GuestFailed

KEPT = 16  # processes; who has made a call longest ago ends first
IDLE_SECONDS = 20.0  # after which all end
OTHERS = 12  # calls before the first one that counts
OTHERS_SECONDS = 0.3  # that these may take
CONTRADICTED = (
    "in a process that has made other calls it asks for something else than in a new one: it goes by more than the "
    "call's sizes, strides, dtypes and numbers"
)
Change = Callable[[dict[str, Any], random.Random], dict[str, Any] | None]
FIRSTS: tuple[Change, ...] = (of_small_sizes, of_small_sizes, of_usual_sizes, of_other_sizes)


class Contradicted(GuestFailed):
    """Two guests do not do the same in one call."""


class Witnesses:
    """One guest for each of the kernels that new calls were recorded of lately."""

    def __init__(self, caller: Caller, kernels: Kernels) -> None:
        self._caller, self._kernels = caller, kernels
        self._kept: OrderedDict[str, _Witness] = OrderedDict()
        self._lock = threading.RLock()  # for the list alone: a guest that does not answer holds up its own kernel
        self._used = 0.0
        self._timer: threading.Timer | None = None

    def agreed(self, source: str, request: dict[str, Any], tape: Tape, seconds: float | None = None) -> Tape:
        """Return the tape of a call as far as a guest that has made other calls has done the same.

        What a tuner has tried it must have tried, too, in this call; else what the launches name runs.

        Args:
            source: of the kernel.
            request: of the call.
            tape: what another guest has asked for, or is foretold.
            seconds: what each call of the guest may take.

        Raises Contradicted, CallFailed, JudgeFault.
        """
        for last in (False, True):
            with self._of(source) as witness:
                try:
                    again = witness.again(request, tape, seconds)
                except CallFailed:  # it has made other calls: this one need not be what ended it
                    self._drop(source, witness)
                    if last:
                        raise
                    continue
                if again is None and not last:  # a guest that has made many calls may have used up its addresses
                    self._drop(source, witness)
                    continue
            other = "it fails" if again is None else first_difference(_without_frees(tape), _without_frees(again))
            if again is None or other:
                raise Contradicted(f"{CONTRADICTED} ({other})")
            return tape if tape.tried() == again.tried() else tape.plain()
        raise AssertionError("unreachable")

    @contextlib.contextmanager
    def _of(self, source: str) -> Iterator[_Witness]:
        """A kernel's witness, for this thread alone."""
        while True:
            with self._lock:
                self._used = time.monotonic()
                if source not in self._kept:
                    self._make_room()
                    begin = functools.partial(self._caller.session, source)
                    self._kept[source] = _Witness(begin, self._kernels)
                    if self._timer is None:
                        self._wait(IDLE_SECONDS)
                self._kept.move_to_end(source)
                witness = self._kept[source]
            with witness.lock:
                if self._kept.get(source) is witness:  # else it was closed meanwhile
                    yield witness
                    return

    def _make_room(self) -> None:
        """End those that have made a call longest ago, until there are few enough; those at work stay."""
        for source, witness in list(self._kept.items()):
            if len(self._kept) < KEPT:
                return
            self._end(source, witness)

    def _end(self, source: str, witness: _Witness) -> bool:
        """End a witness, unless it is at work."""
        if not witness.lock.acquire(blocking=False):
            return False
        try:
            self._drop(source, witness)
        finally:
            witness.lock.release()
        return True

    def _drop(self, source: str, witness: _Witness) -> None:
        with self._lock:
            if self._kept.get(source) is witness:
                del self._kept[source]
        witness.close()

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        """End all that nobody has asked for a while."""
        with self._lock:
            left = self._used + IDLE_SECONDS - time.monotonic()
            if self._timer is None:
                return
            if left > 0:
                self._wait(left)
            elif not self._end_all():
                self._wait(IDLE_SECONDS)
            else:
                self._timer = None

    def _end_all(self) -> bool:
        ended = [self._end(source, witness) for source, witness in list(self._kept.items())]
        return all(ended)

    def close(self) -> None:
        """End all processes, those at work too; a later call starts them again."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            for source, witness in list(self._kept.items()):
                self._drop(source, witness)


class _Witness:
    """A guest that goes on, and the kernels that it knows by number."""

    def __init__(self, begin: Callable[[Recorder], Session], kernels: Kernels) -> None:
        self._begin, self._kernels = begin, kernels
        self.lock = threading.Lock()
        self._seconds: float | None = None
        self._session: Session | None = None
        self._launchers: dict[int, Any] = {}
        self._chance = random.Random()
        self._places = Places(space.MIDDLE)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def again(self, request: dict[str, Any], tape: Tape, seconds: float | None = None) -> Tape | None:
        """What it does in the call, with the answers that the tape has read; None where it fails."""
        self._seconds = seconds
        if self._session is None:
            self._others(request)
        request, recorder, reply = self._call(request, tape)
        try:
            return recorder.tape(reply, [request["args"], request["kwargs"]]) if "result" in reply else None
        except GuestFailed:
            return None

    def _others(self, request: dict[str, Any]) -> None:
        """Make calls of other sizes, of which nobody asks what comes; of the same ones where these end the process.

        What the first ones are is drawn, and where all lie, as in the judge: there must be nothing by which a wrapper
        knows that it is a witness. So it must not be right in the judge, and wrong here and in a first call.
        """
        end, apart = time.monotonic() + OTHERS_SECONDS, _apart(request)
        first = self._chance.choice(FIRSTS)
        try:
            for number in range(OTHERS):
                if number > 1 and time.monotonic() > end:
                    return
                other = of_other_sizes(apart, self._chance) if number else first(apart, self._chance)
                self._call(_laid_out(other) if other else request, None)
        except CallFailed as failed:
            if not failed.late:
                raise  # who ends its process in other calls has not agreed with anybody
            self.close()
            self._session = None
            self._launchers.clear()
            self._call(request, None)

    def _call(self, request: dict[str, Any], tape: Tape | None) -> tuple[dict[str, Any], Recorder, dict[str, Any]]:
        if self._session is None:
            self._places = Places(space.MIDDLE)
        sizes, bases = request["sizes"], request["bases"]
        if tape is None:
            first = self._session is None
            lies = self._places.first(sizes) if first else self._places.drawn(sizes, bases, self._chance)
        else:
            lies = self._places.later(sizes, bases, self._chance)
        request = {**request, "bases": lies}
        answers = [] if tape is None else [reading.found for reading in tape.readings]
        nbytes = sum(map(len, answers))
        recorder = Recorder(
            request["sizes"], request["bases"], None, self._kernels, nbytes, reads_arguments=bool(nbytes),
            answers=answers, launchers=self._launchers,
        )  # fmt: skip
        if self._session is None:
            self._session = self._begin(recorder)
        return request, recorder, self._session.call(request, recorder, self._seconds)


def _apart(request: dict[str, Any]) -> dict[str, Any]:
    """The request with each tensor in a region of its own, as many bytes as it had, from whose beginning it begins."""
    sizes: list[int] = []

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [moved(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "t" not in value:
            return {key: moved(item) if key in ("tuple", "dict") else item for key, item in value.items()}
        sizes.append(request["sizes"][value["t"]])
        return {**value, "t": len(sizes) - 1}

    args, kwargs = moved(request["args"]), moved(request["kwargs"])
    return _laid_out({**request, "args": args, "kwargs": kwargs, "sizes": sizes})


def _laid_out(request: dict[str, Any]) -> dict[str, Any]:
    """The request with its arguments where those of a first call lie."""
    return {**request, "bases": laid_out(request["sizes"])}


def _without_frees(tape: Tape) -> Tape:
    """When memory is given back is the interpreter's business."""
    kept = [not isinstance(step, Free) for step in tape.steps]
    readings = tuple(replace(one, after=sum(kept[: one.after])) for one in tape.readings)
    return replace(tape, steps=tuple(step for step, stays in zip(tape.steps, kept, strict=True) if stays),
                   readings=readings)  # fmt: skip
