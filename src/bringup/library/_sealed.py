"""Kernels whose Python never runs in this process: a wrapper is called once for each kind of call, in a guest.

The guest is the judge's: sandboxed, without data, forked for this one call from a process that has run nothing of a
candidate's, so that no earlier call and nothing of this process can tell in it. It is given stand-ins: plain tensors of
the sizes, strides and dtypes of the arguments, each on as much memory as it reaches, without gradients, views, names or
hooks, at fixed addresses. What it asks the device for is a tape (`_tapes`), which runs here on the call's own tensors
and is kept for calls of the same kind.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from bringup.device.feeding import Decides, Feeding
from bringup.device.origins import Extent, Origins
from bringup.device.reach import filled, reaches_beyond
from bringup.device.seeds import SEED
from bringup.device.wire import Malformed
from bringup.judge._keeping import deciding, keeps_in_call, stays_in_place, who_decides
from bringup.judge._must_read import UNDECIDED, Sought, must_read
from bringup.judge._processes import JudgeFault
from bringup.judge.calling import CallFailed
from bringup.judge.readings import Readings
from bringup.library import _rules
from bringup.library._call import tensors_in
from bringup.library._hosted import hosted, widened
from bringup.library._numbers import PROVED, TAUGHT, Number, Pattern, Taught, agreement, drawn, successors
from bringup.library._room import Room, View
from bringup.library._sealed_call import Call, Template
from bringup.library._sealer import Reads, Sealer
from bringup.library._steps import weight
from bringup.library._study import NOW, SOON
from bringup.library._tapes import Tape, go_on, weight_of
from bringup.library._trace import Trace
from bringup.library._witness import Contradicted
from bringup.library.errors import GuestFailed
from bringup.library.schemas import WRITES_UNSAID, Schema, operator
from bringup.operators import Keeps

if TYPE_CHECKING:
    from bringup.judge import in_use

KEPT, MOST_WEIGHT = 4096, 1 << 18  # tapes of one kernel, and `weight` of all their steps; beyond all are forgotten


@contextlib.contextmanager
def _sensible() -> Iterator[None]:
    """Take what our own libraries throw at an answer of a guest for what it is: GuestFailed."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, Malformed) as error:
        raise GuestFailed(f"its answer makes no sense: {error}") from None


@dataclass
class _Moving:
    """Calls that differ in their numbers alone."""

    numbers: list[Number]
    """Of the latest one."""


@dataclass
class _Learned:
    """What is known of the calls of one kind: nothing while it is studied, or where they have nothing in common."""

    pattern: Pattern | None = None
    begun: bool = False
    """Whether it is being looked into, or was."""
    proved: int = 0
    """How many of the program's calls have asked a guest, and were as foretold."""
    used: bool = False

    @property
    def known(self) -> Pattern | None:
        """The pattern, once it has been proved."""
        return self.pattern if self.proved >= PROVED else None


class SealedWrapper:
    """Called like the wrapper of a module, which runs elsewhere."""

    def __init__(self, sealer: Sealer, source: str, schema: Schema) -> None:
        self._sealer, self._source, self._draws = sealer, source, schema.random
        given = [p for p in schema.parameters if not (schema.random and p.name == "generator")]
        self._written = {p.name for p in given if p.written} | WRITES_UNSAID.get(
            schema.name.partition(".")[0], frozenset()
        )
        self._places = [p.name in self._written for p in given if not p.keyword_only]
        self._tapes: dict[Any, list[Tape]] = {}  # several where values that it reads decide
        self._weight = 0  # of all of them
        self._moving: dict[Any, _Moving] = {}  # by what calls have but their numbers
        self._learned: dict[Any, _Learned] = {}  # by kind
        self._agreed: dict[Any, None] = {}  # foretold calls for which a guest has been asked
        self._readings = Readings()
        self._reads = Reads.of(schema)
        self._beyond = reaches_beyond(schema.name)
        self._filled = filled(schema.name)
        self._outs = {p.name for p in given if p.written and p.keyword_only}
        self._store = sealer.store(source, schema.name)
        self._overload = schema.name
        self.__signature__ = signature_of(source)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Make a call. Raises what the wrapper raises of arguments, else GuestFailed."""
        seed = kwargs.get("seed") if self._draws else None
        try:
            call = Call(args, kwargs if seed is None else {**kwargs, "seed": SEED})
            values = [value for value, written in zip(args, self._places, strict=False) if written]
            values += [value for name, value in kwargs.items() if name in self._written]
            call.written = list(tensors_in(values))
            if not self._beyond:
                call.show(self._outs, self._filled)
                call.keep()
            return self._call(call, seed)
        except CallFailed as failed:
            raise GuestFailed(str(failed)) from None
        except JudgeFault as fault:
            raise GuestFailed(f"{fault} (sealed=False, or BRINGUP_SEALED=0, runs wrappers in this process)") from None

    def _call(self, call: Call, seed: int | None) -> Any:
        tapes = self._tapes.get(call.key)
        if tapes is None:
            foretold = self._foretold(call) if call.numbers else None
            tapes = self._stored(call) if foretold is None else [foretold]
        # Of what is recorded, or may be since it hangs on what is read, it is kept who writes each byte; and where
        # kernels write over what others have put there.
        rule = _rules.rule_of(self._overload)
        trace = None
        if rule.computes and not self._beyond and not self._sealer.copies_count and not self._settled(call, tapes):
            once = len(tapes) == 1 and not tapes[0].readings
            trace = Trace(call, once=once and tapes[0].copies_once(len(call.regions), call.read_only))
        room = Room(call.regions, call.shown, call.may_write, trace)
        room.reads_arguments = self._reads.arguments
        keeps = keeps_in_call(rule.keeps, self._overload, *call.given)
        decides = who_decides(keeps, empty=call.empty) if trace is not None else None
        if decides is not None or self._reads.nbytes > 0:
            room.feeding = self._feeding(call, room, decides, keeps)
        room.seed = seed
        moving = _rules.Moving(self._overload, len(call.tensors), functools.cache(lambda: self._rearranges(call)))

        def rules(tape: Tape) -> None:
            with _sensible():
                _rules.check(tape, call, trace, moving, draws=seed is not None)

        try:
            done = go_on(tapes, room) if tapes else None
            kept = isinstance(done, Tape)
            tape = (
                done if isinstance(done, Tape)
                else self._sealer.record(self._source, call, room, self._reads, done, rules)
            )  # fmt: skip
        finally:
            room.settle()
        with _sensible():
            result = call.finished(tape, room)
            if not self._reads.arguments:
                self._check_readings(tape, result, call.given)
            if trace is not None:
                moving.check(trace.laid)
                _rules.check_writers(tape, call, room, keeps)
            elif kept:
                _rules.check_written(tape, call, room)
        if kept:
            self._sealer.repeated += 1
        else:
            self._keep(call, tape)
            self._store.keep(call.key, tape)
        return result

    def _feeding(self, call: Call, room: Room, decides: Decides | None, keeps: Keeps) -> Feeding:
        """What is known of a call before it is done."""

        def told(views: Iterable[View]) -> list[tuple[int, Extent]]:
            return [(view.region, view.bytes()) for view in views]

        sought = self._sought(call.given)
        first = call.kept() if decides is not None and stays_in_place(keeps) else None
        sizes = enumerate(region.numel() for region in call.regions)
        return Feeding(
            room.codes_of,
            room.data,
            Origins(sizes, None if first is None else (first.region, first.bytes())),
            decides=decides,
            choosing=told(call.views_of(deciding(call.operands()))) if decides == "data" else (),
            sought=told(call.views_of(() if sought is None else sought.by)),
            operands=told(call.views_of(call.operands())),
            followed=room.trace is not None,
            exact=True,
        )

    def _settled(self, call: Call, tapes: Sequence[Tape]) -> bool:
        """Whether nothing but whether all is written is to be asked of a call, since the rest was, of the first one."""
        if len(tapes) != 1 or tapes[0].readings:
            return False
        keeps = keeps_in_call(_rules.rule_of(self._overload).keeps, self._overload, *call.given)
        kept = call.kept() if keeps == "elements" else None
        if kept is not None and any(view.bytes() != kept.bytes() for view in _rules.left(tapes[0], call)):
            return False
        region = None if kept is None else kept.region
        return tapes[0].settled(len(call.regions), call.read_only, call.changed(), call.data(), keeps, region)

    def _rearranges(self, call: Call) -> bool:
        """Whether a call only moves elements, as the judge asks PyTorch.

        True where too much memory is needed to ask: copies that lay elements down otherwise have no part in it then.
        PyTorch is asked in another dtype where it refuses the call's; where it refuses that, too, so is the call.
        """
        found = self._hosted(call)
        if found is None:
            return True
        refused: Exception | None = None
        for given, named in (found, widened(*found)):
            try:
                asked = self._asked(given, named)
                return asked is None or asked.rearranges()
            except Exception as error:  # whatever PyTorch raises of what the wrapper has taken
                refused = refused or error
        raise RuntimeError(f"PyTorch's own kernel for the CPU refuses the call: {refused}")

    def _hosted(self, call: Call) -> tuple[list[Any], dict[str, Any]] | None:
        """A call's arguments on the host; None where they take too much memory."""
        args, kwargs = call.given
        values = hosted([*args, *kwargs.values()])
        if values is None:
            return None
        return values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True))

    def _asked(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> in_use.Call | None:
        from bringup.judge import in_use

        named = dict(kwargs)
        seed = 0 if named.pop("seed", None) is not None and self._draws else None  # any: what is drawn is not asked
        try:
            return in_use.call_of(self._overload, operator(self._overload), args, named, seed=seed)
        except in_use.Trapped:  # at the smallest whole number; what is asked for is asked with other values anyway
            for tensor in tensors_in([*args, *named.values()]):
                if not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype is not torch.bool:
                    smallest = torch.iinfo(tensor.dtype).min
                    tensor.masked_fill_(tensor == smallest, smallest + 1)
            return in_use.call_of(self._overload, operator(self._overload), args, named, seed=seed)

    def _check_readings(self, tape: Tape, result: Any, arguments: Any) -> None:
        """Raise GuestFailed where the host has read more than sizes of the result and a flag, or less, as the judge."""
        sought = self._sought(arguments)
        if not tape.readings:
            if sought:
                raise GuestFailed(UNDECIDED)
            return
        readings = [(str(one.what.dtype).removeprefix("torch."), one.found) for one in tape.readings]
        sizes = [tensor.shape for tensor in tensors_in([result])]
        truth = result if isinstance(result, bool) else None
        if sought is not None and sought.what == "truth" and truth is None:
            raise GuestFailed(f"its result is a truth value, and the wrapper returns a {type(result).__name__}")
        odd = self._readings.misread(readings, sizes, arguments, truth=truth, sought=sought)
        if odd:
            raise GuestFailed(odd)

    def _sought(self, arguments: Any) -> Sought | None:
        return must_read(self._overload, arguments[0], arguments[1], self._outs) if self._reads.nbytes else None

    def _stored(self, call: Call) -> list[Tape]:
        """What other processes have left."""
        tapes = self._store.tapes(call.key)
        for tape in tapes:
            self._keep(call, tape)
        return tapes

    def _keep(self, call: Call, tape: Tape) -> None:
        mine = sum(map(weight, tape.steps)) + weight_of(tape.answer)
        self._weight += mine
        if len(self._tapes) >= KEPT or self._weight > MOST_WEIGHT:
            self._tapes.clear()
            self._weight = mine
        kept = self._tapes.setdefault(call.key, [])
        if len(kept) >= KEPT:
            kept.clear()
        kept.append(tape)
        if not call.numbers or tape.readings or self._sealer.strict:
            return
        if len(self._moving) >= KEPT or len(self._learned) >= KEPT:
            self._moving.clear()
            self._learned.clear()
        moving = self._moving.get(call.template.key)
        self._moving[call.template.key] = _Moving(call.numbers)
        self._prove(call, tape)
        if moving is not None:
            self._learn(call.template, call.numbers, tape)
            self._look_ahead(call.template, call.numbers, moving.numbers)

    # Numbers ---------------------------------------------------------------------------------------------------

    def _foretold(self, call: Call) -> Tape | None:
        """The tape of a call whose numbers no call had, where it is known; further ones are looked into."""
        moving = self._moving.get(call.template.key)
        learned = self._learned.get(call.kind) if moving is not None else None
        if moving is None or learned is None or learned.known is None:
            return None
        try:
            tape = learned.known.filled(call.numbers)
        except (OverflowError, struct.error):  # no number of the narrow format that the wrapper has made of it
            return None
        if not self._agrees(call, tape):
            learned.pattern, learned.begun = None, True  # for good: it decides by these numbers
            self._store.drop_pattern(call.kind)
            return None
        self._sealer.foretold += 1
        if not learned.used:
            learned.used = True
            self._look_ahead(call.template, call.numbers, moving.numbers)
        moving.numbers = call.numbers
        return tape

    def _agrees(self, call: Call, foretold: Tape) -> bool:
        """Whether the kernel's witness does what a pattern has; asked before anything is done, once for a call.

        It takes two to three milliseconds, a new guest sixty.
        """
        if call.key in self._agreed:
            return True
        try:
            self._sealer.witnesses.agreed(self._source, call.template.request(call.numbers), foretold)
        except (Contradicted, CallFailed):  # who ends, or gives no answer, has not agreed
            return False
        self._agreed[call.key] = None
        if len(self._agreed) > KEPT:
            self._agreed.pop(next(iter(self._agreed)))
        return True

    def _prove(self, call: Call, tape: Tape) -> None:
        """Compare what a guest has done with what a pattern foretells that is not proved yet."""
        learned = self._learned.get(call.kind)
        if learned is None or learned.pattern is None or learned.known is not None:
            return
        if not learned.pattern.foretells(call.numbers, tape):
            learned.pattern = None  # and stays so: nothing has come of it
            return
        learned.proved += 1
        if learned.known is not None:
            self._store.keep_pattern(call.kind, learned.known)

    def _learn(self, template: Template, numbers: list[Number], tape: Tape | None = None) -> None:
        """Find out, beside the calls, what those of this kind have in common; `tape`: of a call with these numbers."""
        kind = template.kind(numbers)
        learned = self._learned.get(kind)
        if learned is None:
            kept = self._store.pattern(kind)
            proved = PROVED if kept is not None else 0
            self._learned[kind] = learned = _Learned(kept, self._store.was_wrong(kind), proved)
        elif tape is None:
            return
        if learned.pattern is not None or learned.begun:
            return

        def study() -> None:
            if learned.begun:  # a call has come to it, and has had it done first
                return
            learned.begun = True
            wanted = TAUGHT - (tape is not None)
            others = drawn(numbers, lambda proposed: template.kind(proposed) == kind, wanted)
            if len(others) < wanted:
                return
            taught: list[Taught] = [] if tape is None else [(numbers, tape)]
            taught += [(other, self._sealer.rehearse(self._source, template, other)) for other in others]
            # What one call has chosen is no pattern: what the launches name runs.
            learned.pattern = agreement([(known, one.plain()) for known, one in taught])

        self._sealer.study.want(SOON if tape is None else NOW, study)

    def _look_ahead(self, template: Template, numbers: list[Number], before: list[Number]) -> None:
        for following in successors(numbers, before):
            self._learn(template, following)


def signature_of(source: str) -> inspect.Signature:
    """The parameters of a module's `wrapper`, which is not executed; raises GuestFailed. A default is `...` here."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GuestFailed(f"its module is not read as Python: {error}") from None
    found = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "wrapper"]
    if not found:
        raise GuestFailed("its module has no function `wrapper`")
    given, kinds = found[-1].args, inspect.Parameter
    required = len(given.posonlyargs) + len(given.args) - len(given.defaults)
    by_place: list[tuple[ast.arg, Any]] = [(one, kinds.POSITIONAL_ONLY) for one in given.posonlyargs]
    by_place += [(one, kinds.POSITIONAL_OR_KEYWORD) for one in given.args]
    parameters = [
        kinds(one.arg, kind, default=kinds.empty if place < required else ...)
        for place, (one, kind) in enumerate(by_place)
    ]
    parameters += [kinds(given.vararg.arg, kinds.VAR_POSITIONAL)] if given.vararg else []
    parameters += [
        kinds(one.arg, kinds.KEYWORD_ONLY, default=kinds.empty if default is None else ...)
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    parameters += [kinds(given.kwarg.arg, kinds.VAR_KEYWORD)] if given.kwarg else []
    return inspect.Signature(parameters)
