"""Recording what a sealed wrapper asks of the device: commands of its stream, each checked, become steps of a tape."""

from __future__ import annotations

import bisect
import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from bringup.device import space
from bringup.device.asked import MOST_COMMANDS, MOST_QUEUED, MOST_TEXT, arguments_of, check_options, request_of
from bringup.device.checks import (
    block_behind,
    check_allocation,
    check_copy,
    check_target,
    check_tensor,
    is_itself,
    item_bytes,
    unpack_copy,
    unpack_upload,
)
from bringup.device.elements import pointed_bytes
from bringup.device.execution import CONSTANT_BYTES
from bringup.device.launchers import Texts
from bringup.device.timing import MOST_MARKS, MOST_TRIALS, TOLD, Choice, Trials, fastest
from bringup.device.wire import ADDRESS, ALLOCATION, LAUNCH, POINTER, Command, Descriptor, Malformed, unpack_descriptor
from bringup.judge.calling import Answer
from bringup.library._clock import Clock, Followed
from bringup.library._compiled import Kernels
from bringup.library._numbers import differing
from bringup.library._room import Room, View
from bringup.library._sealed_call import described
from bringup.library._steps import WORD, Allocate, Alternative, Copy, Free, Launch, Step, Upload, untuned
from bringup.library._tapes import UNREADABLE, Begun, Reading, Returned, Tape, plain, read
from bringup.library.errors import GuestFailed
from bringup.vpe import launch, state

MOST_QUOTED = 32  # constants of a kernel that messages quote
MOST_TRIED_SECONDS = 30.0  # that trials of a call take before nothing is measured any more
LEAST_LIMIT, PER_BYTE = 4 << 30, 16  # bytes that a call may allocate: at least, and for each byte of its arguments


@dataclass(frozen=True)
class _Launcher:
    kernel: Any
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    named: Any
    said: tuple[int, str]
    """Constants in its text, and the text as what it says is counted."""
    tried: dict[str, Any] | None
    """The request for one that was asked for while something was timed: then it is this guest's alone."""
    recast: bool
    """Whether it makes pointers to elements of another size of those that it is given."""

    @property
    def name(self) -> str:
        """Of its function."""
        return str(self.named.name)


@dataclass
class Recorder:
    """Takes the commands of one call, and does them when the wrapper has returned, or wants to read. See `Device`.

    Without a room it does nothing: the wrapper reads what another call of the kind has read.
    """

    given: Sequence[int]
    """Bytes of the arguments' regions."""
    bases: Sequence[int]
    """The addresses that the wrapper knows the regions by; 0 for empty ones."""
    room: Room | None
    kernels: Kernels
    reads: int = 0
    """Bytes that it may read of what its kernels have computed."""
    reads_arguments: bool = False
    """Whether also of its arguments."""
    begun: Begun | None = None
    """What was done of the call; this wrapper's steps begin with that."""
    steps: list[Step] = field(default_factory=list)
    error: str = ""
    answers: Sequence[bytes] = ()
    """Without a room: what it reads."""
    clock: Clock | None = None
    """What times launches that are tried, where there is a room."""
    launchers: dict[int, _Launcher] = field(default_factory=dict)
    """Kernels that this guest has been given a number of, in earlier calls too."""

    def __post_init__(self) -> None:
        self._done = 0 if self.begun is None else len(self.begun.steps)
        self.readings: list[Reading] = []
        self._trials = Trials()
        self._choice: int | None = None
        self._tried_seconds = 0.0
        self._asked_bytes = self._sent_bytes = 0  # of requests for kernels, and of other commands
        self._limit = max(LEAST_LIMIT, PER_BYTE * sum(self.given))
        self.sizes = list(self.given)
        self._returned = False
        self._marks: list[int] = []
        self._freed: set[int] = set()
        self._next = space.BASE
        self._sent: list[tuple[Command, bytes]] = []  # as long as nothing is timed
        self._asked: dict[int, str] = {}  # kernels that it has asked for and not launched yet
        self._followed: Followed | None = None
        self._at: list[int] = []
        self._region: dict[int, int] = {}
        for number, (base, size) in enumerate(zip(self.bases, self.sizes, strict=True)):
            if size:
                self._place(base, number)

    def _place(self, base: int, number: int) -> None:
        bisect.insort(self._at, base)
        self._region[base] = number

    def tape(self, reply: dict[str, Any], asked: list[Any]) -> Tape:
        """Return everything that it asks for, with the wrapper's answer; `finish` does it. Raises GuestFailed.

        `asked`: the arguments as the guest was told them.
        """
        if self.error:
            raise GuestFailed(self.error)
        if not self._returned:
            raise GuestFailed("its answer comes before its call is over")
        numbers = []
        for base, nbytes in reply["storages"]:
            number = self._region.get(int(base), -1) if nbytes else -1
            if nbytes and (number < 0 or int(nbytes) > self.sizes[number]):
                raise GuestFailed("the wrapper returns memory that is not the call's")
            numbers.append(number)
        self._choose()
        # What was chosen is kept for the next process, now that nobody sees how long that takes.
        launches = [step for step in self.steps if isinstance(step, Launch)]
        launched = {step.named.key for step in launches}
        launched |= {one.named.key for step in launches for one in step.alternatives}
        for known in self.launchers.values():
            if known.tried is not None and known.named.key in launched:
                self.kernels.compiled(known.tried)
        after = None if reply["after"] == asked else reply["after"]
        left = None if after is None else plain(list(described(after)))  # of other arguments nobody asks
        returned = Returned(plain(reply["result"]), left, numbers)
        # What runs may be what the launches name, or what was chosen.
        said = max(self._said(launches), self._said(step.chosen for step in launches))
        return Tape(tuple(self.steps), returned, tuple(self.sizes), tuple(self.readings), said)

    def finish(self, agreed: Tape) -> None:
        """Do what is left, with no more choice than another guest has agreed to. Raises GuestFailed."""
        self.steps[self._done :] = agreed.steps[self._done :]
        self._catch_up()

    def _catch_up(self) -> None:
        if self.begun is not None:
            before, self.begun = self.begun.steps, None
            if differing(before, self.steps[: len(before)]) != []:
                raise GuestFailed("the wrapper asks for something else when it is called again")
        while self.room is not None and self._done < len(self.steps):
            self._done += 1
            self.steps[self._done - 1].run(self.room)

    def _follow(self, command: Command, body: bytes) -> float | None:
        """Have the clock know of a command: from the first mark on, and then of all that came before."""
        if self.room is None or self.readings:
            return None  # nothing is chosen, or nothing can be tried any more: memory holds data
        if self._followed is not None:
            return self._followed.send(command, body)
        self._sent.append((command, body))
        if command is Command.MARK:
            if self.clock is None:
                raise Malformed("a time, and there is no clock")
            self._followed = self.clock.follow(self.given, self.bases)
            for one in self._sent:
                self._followed.send(*one)
            self._sent.clear()
        return None

    def close(self) -> None:
        """Need no clock any more; safe to call twice."""
        if self._followed is not None:
            self._followed.close()
            self._followed = None

    # Commands --------------------------------------------------------------------------------------------------

    def execute(self, command: Command, body: memoryview) -> Answer | None:
        """Take a command; what is wrong with it is kept, and told when the wrapper has returned."""
        if self._returned and command is not Command.FREE:  # destructors may come late, nothing else
            self.error = self.error or f"it asks for more ({command.name}) after it has returned"
        elif self._returned:
            return None
        try:
            if not self.error:
                return self._execute(command, body)
        except Malformed as error:
            self.error = f"its command {command.name} names {error}"
        except GuestFailed as error:
            self.error = str(error)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        asks = command in (Command.READ, Command.TIME, Command.KERNEL)
        return ({"stopped": self.error, "line": 0}, b"") if asks else None

    def _execute(self, command: Command, body: memoryview) -> Answer | None:
        if command is not Command.KERNEL:  # which has a limit of its own
            self._sent_bytes += len(body)
            if self._sent_bytes > MOST_QUEUED:
                raise Malformed(f"more than {MOST_QUEUED >> 20} MiB of commands")
        if command is not Command.TIME:
            self._follow(command, bytes(body))
        if command is Command.KERNEL:
            return self._kernel(body)
        if command is Command.RETURNED:
            self._returned = True
            if self._marks:
                self.error = "it returns while launches are timed"
            elif self._asked:
                name = next(iter(self._asked.values()))
                self.error = f"it asks for kernel '{name}' and does not launch it in that call"
        elif command is Command.READ:
            return self._read(body)
        elif command is Command.MARK:
            if not self._trials.mark():
                raise Malformed(f"more than {MOST_MARKS} times within each other")
            self._marks.append(len(self.steps))
        elif command is Command.TIME:
            self._time()
            return {"seconds": TOLD}, b""
        elif command is not Command.ALSO:
            if len(self.steps) >= MOST_COMMANDS:
                raise Malformed(f"more than {MOST_COMMANDS} things")
            self._add(command, body)
        return None

    def _add(self, command: Command, body: memoryview) -> None:
        if command is Command.ALLOC:
            base, nbytes = ALLOCATION.unpack(body)
            # In calls that are only rehearsed addresses of earlier ones are given again.
            check_allocation(base, nbytes, space.BASE if self.room is None else self._next)
            if base in self._region:
                raise Malformed("an allocation where there is one")
            self._next = space.after(base, nbytes)
            self._limit -= nbytes
            if self._limit < 0:
                raise Malformed("more memory than a call may have")
            self._place(base, len(self.sizes))
            self.sizes.append(nbytes)
            self.steps.append(Allocate(nbytes))
        elif command is Command.FREE:
            number = self._region.get(ADDRESS.unpack(body)[0], -1)
            if number >= len(self.given) and number not in self._freed:
                if self.sizes[number] >= space.PAGE:
                    self._limit += self.sizes[number]
                self._freed.add(number)
                self.steps.append(Free(number))
        elif self._trials:  # what is tried is the clock's business
            if command is Command.LAUNCH:
                self._trials.launch(body)
            else:
                self._trials.wrote()
        elif command is Command.COPY:
            source, target = unpack_copy(body)
            check_copy(source, self._nbytes(source.base), target, self._nbytes(target.base))
            if 0 not in target.size:
                taken = self._view(target if is_itself(source, target) else source)
                self.steps.append(Copy(taken, self._view(target)))
        elif command is Command.UPLOAD:
            target, at = unpack_upload(body)
            check_target(target, self._nbytes(target.base))
            if 0 not in target.size:
                self.steps.append(Upload(self._view(target), bytearray(body[at:])))
        elif command is Command.LAUNCH:
            made = self._launch(body)
            self._asked.pop(LAUNCH.unpack_from(body)[0], None)
            self.steps.append(self._with_alternatives(made, self._trials.alternatives(body, self.launchers)))

    def _nbytes(self, base: int) -> int:
        """Bytes of what begins at an address; raises Malformed."""
        number = self._region.get(base, -1)
        if number < 0:
            raise Malformed("memory that was never allocated")
        if number in self._freed:
            raise Malformed("memory that is freed")
        return self.sizes[number]

    def _view(self, tensor: Descriptor) -> View:
        """A tensor that was checked."""
        dtype = getattr(torch, tensor.dtype)
        return View(self._region[tensor.base], tensor.address - tensor.base, dtype, tensor.size, tensor.stride)

    def _kernel(self, body: memoryview) -> Answer:
        request = request_of(body)
        check_options(request, len(self.launchers))
        self._asked_bytes += len(body)
        if self._asked_bytes > MOST_TEXT:
            raise Malformed("kernels of more text than a guest may ask for")
        own = {one.named.key for one in self.launchers.values() if one.tried is None}
        tried = bool(self._marks) and self.kernels.key(request) not in own
        made = self.kernels.compiled(request, fresh=tried)
        if isinstance(made, dict):
            return {"refused": made["log"], "short": made.get("short", "")}, b""
        names, kinds = arguments_of(request, made.facts)
        quoted = dict(itertools.islice(request["constants"].items(), MOST_QUOTED))
        named = SimpleNamespace(
            name=made.facts.name, constants=quoted, profile=state.profile(), key=made.key,
            flows=made.facts.facts.get("flows"),
        )  # fmt: skip
        number = len(self.launchers) + 1
        said = int(made.facts.facts.get("constants", 0)), str(made.facts.facts.get("canonical") or request["text"])
        recast = bool(made.facts.facts.get("recast"))
        self.launchers[number] = _Launcher(made.kernel, names, kinds, named, said, request if tried else None, recast)
        if not self._marks:
            self._asked[number] = made.facts.name
        facts = made.facts
        return {"number": number, "name": facts.name, "shared": facts.shared, "facts": facts.facts}, b""

    def _launch(self, body: memoryview) -> Launch:
        number, *grid, _, count = LAUNCH.unpack_from(body)
        launcher = self.launchers.get(number)
        if launcher is None or count != len(launcher.kinds):
            raise Malformed("a kernel that was not compiled, or too few arguments")
        launch.check_kinds(launcher.named.profile, launcher.named.name, launcher.names, launcher.kinds)
        packed = np.zeros(max(count, 1), WORD)
        raw, at = packed.view(np.uint8), LAUNCH.size
        pointers = []
        for position, (name, kind) in enumerate(zip(launcher.names, launcher.kinds, strict=True)):
            if not kind.startswith("*"):
                raw[8 * position : 8 * position + 8] = np.frombuffer(body[at : at + 8], np.uint8)
                at += 8
                continue
            value, base = POINTER.unpack_from(body, at)
            at += POINTER.size
            launch.check_pointer(launcher.named.profile, launcher.named.name, name, value)
            pointers.append((position, name, *self._address(value, base)))
        if at != len(body):
            raise Malformed("arguments that end too early or too late")
        first, second, third = grid
        pointed = tuple(pointed_bytes(kind) for kind in launcher.kinds if kind.startswith("*"))
        return Launch(
            launcher.kernel, (first, second, third), launcher.named, packed, tuple(pointers),
            pointed=pointed, recast=launcher.recast,
        )  # fmt: skip

    def _said(self, ones: Iterable[Launch | Alternative]) -> int:
        """Bytes that the texts of kernels say which run one after the other, each with its first launch."""
        known = {launcher.named.key: launcher.said for launcher in self.launchers.values()}
        texts, said = Texts(), 0
        for key in dict.fromkeys(one.named.key for one in ones):
            constants, text = known[key]
            said += CONSTANT_BYTES * constants + texts.add(key, text)
        return said

    def _with_alternatives(self, made: Launch, choices: list[Choice]) -> Launch:
        """A launch with what a tuner has tried in its place."""
        found = [
            Alternative(known.kernel, one.grid, known.named, one.seconds)
            for one in (choices if not self.readings else ())
            if (known := self.launchers.get(one.kernel)) is not None
        ]
        return replace(made, alternatives=tuple(found))

    def _choose(self) -> None:
        """Decide which alternatives run, once for the call: what is fastest for all that is known of it then."""
        launches = [step for step in self.steps if isinstance(step, Launch)]
        if self._choice is None:
            self._choice = fastest([one.seconds for one in step.alternatives] for step in launches)
        self.steps[self._done :] = [
            replace(step, choice=self._choice) if isinstance(step, Launch) and step.alternatives else step
            for step in self.steps[self._done :]
        ]

    def _address(self, value: int, base: int) -> tuple[int, int]:
        """The region behind a pointer and bytes from its beginning; -1 and the pointer itself for nobody's memory."""
        if base:
            if base not in self._region:
                raise Malformed("memory that was never allocated")
            return self._region[base], value - base
        begin = block_behind(self._at, lambda at: self.sizes[self._region[at]], value)
        return (-1, value) if begin is None else (self._region[begin], value - begin)

    # What cannot wait ------------------------------------------------------------------------------------------

    def _read(self, body: memoryview) -> Answer:
        source, end = unpack_descriptor(body, 0)
        if self._marks:
            raise Malformed("memory while launches are timed")
        if end != len(body):
            raise Malformed("more than one tensor")
        check_tensor(source, self._nbytes(source.base))
        what = self._view(source)
        if self.room is None and len(self.readings) >= len(self.answers):
            raise Malformed("memory that holds nothing")
        nbytes = math.prod(source.size) * item_bytes(source.dtype)
        if not nbytes:  # to read nothing would make all run that waits
            raise Malformed("a tensor without elements, of which nothing can be read")
        self.reads -= nbytes
        if self.reads < 0:
            raise Malformed("more than a call of this operator may read")
        if not self.reads_arguments:
            if what.region < len(self.given):
                raise Malformed("an argument, which it may not read")
            if what.region in self._moved():
                raise Malformed("memory into which copies or the host have brought something, which it may not read")
            if what.region not in self._launched():
                raise Malformed(UNREADABLE)
        # What nobody has agreed to has no choice; nor has what follows, for one number holds for all of a call.
        self.steps[self._done :] = map(untuned, self.steps[self._done :])
        self._catch_up()
        found = self.answers[len(self.readings)] if self.room is None else read(what, self.room)
        self.readings.append(Reading(len(self.steps), what, found))
        return {}, found

    def _moved(self) -> set[int]:
        """Regions into which an argument, or what the host has made, was copied."""
        return self._reached(range(len(self.given)), lambda one: [one.target.region] if isinstance(one, Upload) else ())

    def _launched(self) -> set[int]:
        """Regions that kernels were given, and those into which one of these was copied."""
        return self._reached(
            (), lambda one: [region for _, _, region, _ in one.pointers] if isinstance(one, Launch) else ()
        )

    def _reached(self, first: Iterable[int], by: Callable[[Step], Iterable[int]]) -> set[int]:
        """Regions from the first ones, and from those that steps reach of themselves, on, as copies go."""
        found = set(first)
        for step in self.steps:
            found.update(by(step))
            if isinstance(step, Copy) and step.source.region in found:
                found.add(step.target.region)
        return found

    def _time(self) -> None:
        """End a trial: of it the chip's seconds are known, on inputs that are zeros, where a room and a clock are."""
        if not self._marks:
            raise Malformed("a time that was not begun")
        mark = self._marks.pop()
        try:
            began = time.monotonic()
            seconds = self._follow(Command.TIME, b"") if not self.readings and self._choice is None else None
            self._tried_seconds += time.monotonic() - began
            if self._tried_seconds > MOST_TRIED_SECONDS:
                self._choice = 0  # what the launches name: nothing more is measured
            if not self._trials.end(seconds or 0.0):
                raise Malformed(f"more than {MOST_TRIALS} times")
        finally:
            self.steps[mark:] = [step for step in self.steps[mark:] if isinstance(step, Allocate | Free)]
