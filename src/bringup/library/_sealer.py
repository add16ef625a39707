"""Guests that make calls of sealed kernels: each is asked once, and another with another past must ask for the same."""

from __future__ import annotations

import functools
import os
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bringup.judge.calling import Caller
from bringup.library._clock import Clock
from bringup.library._compiled import Kernels
from bringup.library._numbers import Number
from bringup.library._recording import Recorder
from bringup.library._room import Room
from bringup.library._sealed_call import Call, Template
from bringup.library._study import SOON, Study
from bringup.library._tape_store import TapeStore, file_of, tapes_folder, tidy
from bringup.library._tapes import Begun, Tape
from bringup.library._witness import Witnesses
from bringup.library.errors import GuestFailed
from bringup.library.schemas import Schema, operator
from bringup.targets import get_target

LOOK_SECONDS = 15.0  # that a guest may take for a call that nobody waits for
TOLD_AFTER = 5.0  # seconds of waiting for guests, once a program
READ_BYTES = 16  # a size or a flag, with room for a second one
READS_ARGUMENTS = ("_local_scalar_dense", "item")  # to read is what these do
MOST_MESSAGE = 2000  # characters of a refusal
LEFT_TO_PYTORCH = "work left to PyTorch"  # how a guest's device begins what it says of an operator that it has not

_REFUSALS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)
}


@dataclass(frozen=True)
class Reads:
    """What a wrapper may read, as in the judge: numbers that its kernels have computed and a result's size hangs on."""

    nbytes: int
    arguments: bool

    @classmethod
    def of(cls, schema: Schema) -> Reads:
        """By ATen's own tags."""
        tags = operator(schema.name).tags
        dynamic = torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags
        return cls(READ_BYTES if dynamic else 0, schema.name.partition(".")[0] in READS_ARGUMENTS)


class Sealer:
    """The guests of one enabled library, and what is kept of what they did."""

    def __init__(self, target: str, *, strict: bool = False) -> None:
        """`target`: `vpe:PROFILE`; `strict`: no number is left open. Processes start with the first call."""
        self._target = target
        self.caller, self.strict = Caller(target), strict
        self.asked = self.repeated = 0
        """How many calls a guest was asked for, and how many a kept tape did."""
        self.foretold = 0
        """How many of these had numbers that no call had before: a pattern has foretold them, and a guest agreed."""
        self.study = Study()
        self.kernels = Kernels(self.caller)
        self.clock = Clock(self.caller.device)
        self.witnesses = Witnesses(self.caller, self.kernels)
        self._tidied = self._told = False
        self._waited = 0.0
        SEALERS.add(self)

    @functools.cached_property
    def copies_count(self) -> bool:
        """Whether copies alone may make a result on this chip."""
        return get_target(self._target).dialect().copies == "move"

    def close(self) -> None:
        """End the processes; tapes stay."""
        self.study.close()
        self.witnesses.close()
        self.clock.close()
        self.caller.close()

    def store(self, source: str, overload: str) -> TapeStore:
        """The tapes of a kernel that other processes have left."""
        caller = self.caller
        return TapeStore(file_of(source, overload, caller.target, caller.toolchain), self.kernels.kept)

    def record(
        self, source: str, call: Call, room: Room, reads: Reads, begun: Begun | None, rules: Callable[[Tape], None]
    ) -> Tape:
        """Have a guest make a call in this room, of which a part may be done; returns its tape.

        Nothing is done, but what was read before, of a call for which `rules` raises. Raises GuestFailed, also where
        another guest makes it otherwise; CallFailed, and what is refused.
        """
        self.asked += 1
        if not self._tidied:
            self._tidied = True
            self.study.want(SOON, tidy)
        began = time.monotonic()
        request = call.template.request(call.numbers)
        recorder = Recorder(
            request["sizes"], request["bases"], room, self.kernels, reads.nbytes, reads.arguments, begun,
            clock=self.clock,
        )  # fmt: skip
        try:
            tape = self._recorded(source, request, recorder)
        finally:
            recorder.close()
        tape = self.witnesses.agreed(source, request, tape)
        rules(tape)
        recorder.finish(tape)  # not before: what no witness agrees with, or no rule allows, does nothing
        self._waited += time.monotonic() - began
        if self._waited > TOLD_AFTER and not self._told:
            self._told = True
            print(
                f"bringup: {self.asked} first calls of kernels have taken {self._waited:.0f} s in guests by now; what "
                f"they did is kept in {tapes_folder()} for later processes, too (BRINGUP_SEALED=0 does without guests)",
                file=sys.stderr,
            )
        return tape

    def rehearse(self, source: str, template: Template, numbers: Sequence[Number]) -> Tape:
        """Return the tape of a call that is not made, with other numbers than calls had; its witness agrees.

        Raises GuestFailed, CallFailed, what is refused.
        """
        request = template.request(numbers)
        recorder = Recorder(request["sizes"], request["bases"], None, self.kernels)
        tape = self._recorded(source, request, recorder, LOOK_SECONDS)
        return self.witnesses.agreed(source, request, tape)

    def _recorded(self, source: str, request: dict[str, Any], recorder: Recorder, seconds: float | None = None) -> Tape:
        reply = self.caller.call(source, request, recorder, seconds)
        if "error" in reply and not recorder.error:
            raise _raised(reply)
        if "result" not in reply:
            raise GuestFailed(recorder.error or str(reply.get("unencodable") or reply.get("error")))
        return recorder.tape(reply, [request["args"], request["kwargs"]])


SEALERS: weakref.WeakSet[Sealer] = weakref.WeakSet()


def _in_child() -> None:
    for sealer in SEALERS:
        sealer.caller.forget()
        sealer.clock = Clock(sealer.caller.device)
        sealer.study = Study()
        sealer.witnesses = Witnesses(sealer.caller, sealer.kernels)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _raised(reply: dict[str, Any]) -> Exception:
    """The error that a wrapper has raised: a refusal of the call's arguments, or a failure."""
    text = str(reply.get("message", reply["error"]))[:MOST_MESSAGE]
    name, family = str(reply.get("raised", "")), str(reply.get("family", ""))
    kind = _REFUSALS.get(name) or _REFUSALS.get(family)
    if kind is not None and reply.get("own") is True and not text.startswith(LEFT_TO_PYTORCH):
        return kind(text)
    return GuestFailed(f"{name or 'the module cannot be loaded'}: {text}")
