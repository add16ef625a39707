"""In the device process: the tape of a candidate's call is run in turns with what it is compared with.

Nothing of a candidate's runs here but compiled text. The suite's own reference does, on the same device.
"""

from __future__ import annotations

import base64
import functools
import os
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bringup.device import Fault, Stopwatch, TimedEngine
from bringup.device.execution import noted
from bringup.device.machine import Machine
from bringup.device.prepared import Prepared
from bringup.device.sharing import alone, beside_others
from bringup.device.tape import BadTape, Tape, digest_of, unpack
from bringup.judge._turns import Side, longest, take_turns_cool
from bringup.judge.measuring import COMPILE, EAGER, Timing

if TYPE_CHECKING:
    from bringup.suites import CaseInputs

Turn = Callable[[int], float]


def measure(machine: Machine, request: dict[str, Any], payload: memoryview) -> tuple[dict[str, Any], list[bytes]]:
    """Do a request of the referee's: `tapes` (names and sizes; the first is the candidate's), `references`, `case`,
    `cache` (the user's), `timing`, `memory`, `lock` (of the device, taken while times are), `diagnose`.

    Returns the samples of each side, errors, health of the device before and after; the candidate's results as they are
    after the timed runs, of each copy of the inputs with which they are not the recorded ones; to `diagnose`, facts of
    the candidate's launches and its compiled kernels.
    """
    machine.renew(int(request["memory"]))
    answer: dict[str, Any] = {"samples": {}, "errors": {}, "error": None, "same": False, "sizes": [], "replace": False}
    results: list[list[bytes]] = []
    try:
        results = _Bench(machine, request).run(_tapes(request, payload), answer)
    except (BadTape, Fault) as error:
        answer["error"] = str(error)
        if isinstance(error, Fault) and error.kind == "lost":
            answer["error"] = noted(error, 0)
    except Exception as error:  # no memory for another copy of the inputs, say
        answer["error"] = f"{type(error).__name__}: {error}"[:2000]
    answer["replace"] = machine.engine.broken()
    answer["sizes"] = [[len(part) for part in one] for one in results]
    machine.renew(int(request["memory"]))
    return answer, [part for one in results for part in one]


def _tapes(request: dict[str, Any], payload: memoryview) -> dict[str, Tape]:
    found, at = {}, 0
    for name, size in request["tapes"]:
        found[str(name)] = unpack(payload[at : at + size])
        at += size
    return found


class _Bench:
    """One case at the clock."""

    def __init__(self, machine: Machine, request: dict[str, Any]) -> None:
        self.machine, self.request = machine, request
        self.timing = Timing.model_validate(request["timing"])
        if not isinstance(machine.engine, TimedEngine):
            raise Fault("launch", "this target's engine has no stopwatch")
        self.engine: TimedEngine = machine.engine
        self.watch: Stopwatch = self.engine.stopwatch()
        self.prepared: list[Prepared] = []

    def run(self, tapes: dict[str, Tape], answer: dict[str, Any]) -> list[list[bytes]]:
        """Measure; returns the candidate's results after the last timed run, of each copy that gives others."""
        try:
            candidate, *_ = tapes
            sides, lock = [], str(self.request.get("lock", ""))
            own: list[Prepared] = []
            for name, tape in tapes.items():
                try:
                    with beside_others(lock):
                        copies = self._copies(tape)
                    own = own or copies  # the candidate's come first
                    sides.append(Side(name, self._turn(copies), required=name == candidate))
                except Fault as fault:
                    if name == candidate:
                        raise
                    answer["errors"][name] = str(fault)
            for name in self.request["references"]:
                try:
                    sides.append(Side(str(name), self._reference(str(name))))
                except Exception as error:
                    answer["errors"][name] = f"{type(error).__name__}: {error}"[:500]
            with alone(lock):
                answer["health"] = take_turns_cool(sides, self.timing, self.watch.health)
            for side in sides:
                answer["samples"][side.name] = side.samples
                if side.error:
                    answer["errors"][side.name] = side.error
            with beside_others(lock):
                results = self._after(own, tapes[candidate], answer)
        finally:
            for one in self.prepared:
                one.close()
        if self.request.get("diagnose", True):
            answer["counters"] = self._counters(tapes[candidate])
            answer["kernels"] = self._kernels(tapes[candidate])
        return results

    # The candidate, and other candidates ---------------------------------------------------------------------

    def _copies(self, tape: Tape) -> list[Prepared]:
        """The tape at several addresses; one copy at least, more while there is memory."""
        found: list[Prepared] = []
        for number in range(self.timing.rotate):
            try:
                known = found[0].written if found else None  # the same call writes the same inputs
                found.append(Prepared(self.machine, tape, int(self.request["memory"]), written=known))
            except Fault as fault:
                if fault.kind != "memory" or not number:
                    raise
                break
        self.prepared += found
        return found

    def _turn(self, copies: Sequence[Prepared]) -> Turn:
        queueing = [0.0]

        def turn(number: int) -> float:
            one = copies[number % len(copies)]
            one.restore()
            seconds, queueing[0] = self.watch.elapsed(one.run, queueing[0], self.timing.flush_cache)
            return seconds

        return turn

    def _counters(self, tape: Tape) -> list[dict[str, Any]]:
        """Each launch by itself: facts of its kernel, and its time where the engine knows it."""
        Prepared(self.machine, tape, int(self.request["memory"]), profile=True).close()
        return self.engine.counters()

    def _kernels(self, tape: Tape) -> list[dict[str, Any]]:
        """The compiled kernels, for who looks at their code."""
        from bringup.device import frames
        from bringup.device.machine import TEXT
        from bringup.targets import dots_of

        found = []
        for request in tape.kernels.values():
            kernel, _ = self.machine.loaded[frames.digest({key: request[key] for key in TEXT})]
            found.append(
                {"name": kernel.name, "shared": kernel.shared,
                 "facts": {**kernel.facts, "dots": dots_of(str(request["text"]))},
                 "binary": base64.b64encode(kernel.binary).decode()}
            )  # fmt: skip
        return found

    def _after(self, copies: Sequence[Prepared], tape: Tape, answer: dict[str, Any]) -> list[list[bytes]]:
        """The results of one more run of each copy, where they are not the recorded ones bit for bit (`same`: none)."""
        found = []
        for one in copies:
            one.restore()
            one.run()
            self.engine.synchronize()
            results = one.results()
            if digest_of(results) != tape.result and results not in found:
                found.append(results)
        answer["same"] = not found
        return found

    # PyTorch -------------------------------------------------------------------------------------------------

    def _reference(self, name: str) -> Turn:
        """The suite's own call on copies of the inputs in the device's memory."""
        import torch

        from bringup.judge import _codec

        device = self.watch.device
        if device is None:
            raise RuntimeError("PyTorch has no kernels for this device")
        warnings.simplefilter("ignore")
        known = self.request["case"]
        # What is known of the installed torch took minutes to find out: the referee knows where it is kept.
        os.environ["XDG_CACHE_HOME"] = str(self.request["cache"])
        inputs = _inputs(known["suite"], known["operator"], known["dtype"], known["seed"], known["index"])
        storages = _codec.Storages()
        text = _codec.encode([tuple(inputs.args), dict(inputs.kwargs)], storages)
        hosts = [_codec.bytes_on(storage, "cpu") for storage in storages.items]

        def called(*args: Any, **kwargs: Any) -> Any:
            return inputs.reference(*args, **kwargs)

        function: Callable[..., Any] = called
        if name == COMPILE:
            import torch._inductor.config as inductor

            inductor.compile_threads = 1  # its pool would outlive the case, and start by importing torch once more
            function = torch.compile(called, dynamic=False)
        elif name != EAGER:
            raise ValueError(f"there is no reference {name}")
        copies = []
        for _ in range(self.timing.rotate):
            places = [host.clone().to(device) for host in hosts]
            copies.append((places, *_codec.decode(text, _on([p.untyped_storage() for p in places]), str(device))))

        def call(number: int) -> Any:
            _, args, kwargs = copies[number % len(copies)]
            with torch.no_grad():
                return function(*args, **kwargs)

        for number in range(len(copies)):
            call(number)
        self.engine.synchronize()
        written = [n for n, host in enumerate(hosts) if not torch.equal(copies[0][0][n].cpu(), host)]
        kept = {n: hosts[n].to(device) for n in written}
        queueing = [0.0]

        def turn(number: int) -> float:
            for n, pristine in kept.items():
                copies[number % len(copies)][0][n].copy_(pristine)
            seconds, queueing[0] = self.watch.elapsed(lambda: call(number), queueing[0], self.timing.flush_cache)
            return seconds

        return turn


def _inputs(suite: str, operator: str, dtype: str, seed: int, index: int) -> CaseInputs:
    """Rebuild one case; the source's own are much cheaper than all."""
    for whole in (False, True):
        for one in _cases(suite, operator, dtype, seed, whole):
            if one.case.index == index:
                return one
    raise LookupError(f"the suite {suite} has no case {index} of {operator} in {dtype}")


@functools.lru_cache(maxsize=2)  # the two kinds of one operator and dtype, whose cases are timed one after another
def _cases(suite: str, operator: str, dtype: str, seed: int, whole: bool) -> Sequence[CaseInputs]:
    """Rebuild cases: those that are cheap, or all."""
    from bringup.suites import get_suite

    source = get_suite(suite)
    return (source.materialise if whole else source.own_cases)(operator, dtype, seed)


def _on(storages: list[Any]) -> Callable[[dict[str, Any]], Any]:
    from bringup.judge import _codec

    return lambda description: _codec.tensor_on(storages, description)


def deadline(timing: Timing, sides: int, compile_seconds: float) -> float:
    """When, by the monotonic clock, a device that has not answered must hang."""
    return time.monotonic() + 60 + compile_seconds + sides * (longest(timing) + timing.seconds + 40)
