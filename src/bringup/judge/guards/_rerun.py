"""What reruns use: call the wrapper again under other circumstances, with other values, and say what came out."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import limited_memory
from bringup.device.machine import TOO_MANY
from bringup.device.transcript import apart, first_difference
from bringup.errors import EnvironmentFault
from bringup.judge import _circumstances, _codec, _grown
from bringup.judge._case import Asked, CaseJudge
from bringup.judge._circumstances import Varied
from bringup.judge._named import Named, named
from bringup.judge._outcome import Outcome, cheated
from bringup.judge._rehearsal import Places, RehearsedCall, Wanted, laid_out
from bringup.judge._size_class import Made, made, same_class, takes_more
from bringup.judge._unwritten import filled_memory
from bringup.judge.guards._base import MUCH
from bringup.suites import get_suite

if TYPE_CHECKING:
    from bringup.judge._judging import Judging
    from bringup.suites import CaseInputs

MOST_MADE = 2 << 30  # bytes that the reference of a call which a guard has made may ask for
MOST_QUOTED = 160  # characters of a command in a message
FIRST_ONES = 1 / 4  # of the calls that guards have made are the first of a guest, as each is in use
EXCUSED = 2  # calls of a verdict that may want too much time or memory, where nobody has asked for their sizes
FULL = "out of device memory"


@dataclass(frozen=True)
class Run:
    """One more call: what it was worth and the tensors it returned."""

    outcome: Outcome
    tensors: tuple[tuple[str, torch.Tensor], ...]
    asked: Asked = field(default_factory=Asked)
    """What it asked the device for."""

    @property
    def transcript(self) -> tuple[str, ...]:
        """All of it as text."""
        return self.asked.transcript


class Rehearsal:
    """One case that can be called again and again for what its wrapper asks the device for; nothing runs."""

    def __init__(
        self, case: CaseJudge, number: int, request: dict[str, Any], wanted: Sequence[Wanted], varied: Varied | None
    ) -> None:
        """`number` is no other's; `varied`: what may be varied, None where nothing is."""
        self.case, self.number, self.request, self._varied = case, number, request, varied
        self.wanted = list(wanted)
        """What it must ask for, by what its reads are answered with; empty where nobody knows, and nobody compares."""
        self.judged = bool(wanted)
        self._bases = case.asked.bases if self.judged else laid_out(request["sizes"])
        self._latest: tuple[list[int], list[int]] | None = None  # addresses and sizes, of the latest usual arguments

    def call(
        self, chance: random.Random, places: Places, *, usual: bool = False, first: bool = False, again: bool = False,
        failing: int = 0,
    ) -> RehearsedCall:  # fmt: skip
        """Return a call with the arguments at drawn addresses, in drawn circumstances unless in the `usual` ones.

        `usual`: a guest finds nothing by which it is not a judged call, or a sealed one; `first`: neither where it is
        the first one. `again`: with the tensors of the call of this case before, if that left them as they were.
        `failing`: the number of an allocation that finds no memory; what it asks for is then nobody's business.
        """
        sizes, bases = list(self.request["sizes"]), self._bases
        varied = None if usual else self._varied
        around = _circumstances.drawn(chance, varied) if varied is not None else {}
        if not usual:
            around |= {"of": self.number, "spare": True}
        if again and self._latest is not None:
            lies, sizes = self._latest
            around = {key: value for key, value in around.items() if key not in _circumstances.OF_TENSORS}
            around["again"] = True
        else:
            if varied is not None:
                sizes = _circumstances.larger(sizes, chance, varied)
            lies = places.first(sizes) if first else places.drawn(sizes, bases, chance)
        if not usual and not around.keys() & set(_circumstances.OF_TENSORS):
            self._latest = lies, sizes
        if failing:
            around["failing"] = failing
        wanted = (
            chance.choice(self.wanted) if self.wanted and not failing else Wanted((), self.case.asked.answers or ())
        )
        return RehearsedCall(self.request, lies, wanted, sizes, around)

    def differs(self, guard: str, wanted: Wanted, told: Sequence[str], words: str) -> Outcome:
        """Return the outcome of a call that asked for other things than it must."""
        found = first_difference(wanted.transcript, told) or ("", "")
        old, new = (line[:MOST_QUOTED] or "nothing more" for line in apart(*found))
        text = f"{words} with the same arguments asks the device for other things: {new}; before: {old}"
        return cheated(guard, text).with_call(self.case)


class Rerunner:
    """The judge's side of reruns for one candidate."""

    def __init__(self, judging: Judging, guard: str, refused: Sequence[CaseJudge] = ()) -> None:
        """Rerun for a guard and a candidate whose cases have passed, some of them as `refused` as PyTorch does."""
        self._judging, self.refused = judging, refused
        self.operator = judging.operator
        self.runs = 0
        self.random = random.Random(judging.job.fresh_seed)
        self._firsts = random.Random(f"{judging.job.fresh_seed} {guard} firsts")
        self._numbers = itertools.count()
        self.explodes = False  # whether a call that was made had a result for which there is no room

    def call(self, case: CaseJudge, mode: dict[str, Any]) -> Run:
        """Call the wrapper on a case in a mode (`order`: a seed)."""
        self.runs += 1
        outcome = self._judging.exchange.call(case, mode)
        return Run(outcome, tuple(case.tensors_returned), self._judging.exchange.latest)

    def rehearsal(self, case: CaseJudge) -> Rehearsal:
        """Return what calls the wrapper on a case without running anything."""
        request, _ = case.request()
        wanted = Wanted(case.asked.transcript, case.asked.answers or ())
        inputs, varied = case.inputs, None
        if not inputs.raises:
            varied = _circumstances.varied(
                inputs.reference,
                (case.args, case.kwargs),
                writes=bool(
                    self.operator.mutates or self.operator.writes or any(map(case.is_out, range(len(case.tensors))))
                ),
                plain="requires_grad" not in " ".join(wanted.transcript),
            )
        return Rehearsal(case, next(self._numbers), request, [wanted], varied)

    def rehearsal_of(self, one: Rehearsal, request: dict[str, Any] | None) -> Rehearsal | None:
        """Return what calls the wrapper like another, for a request that nobody has judged; None for none."""
        return None if request is None else Rehearsal(one.case, next(self._numbers), request, (), None)

    @property
    def kernels_made(self) -> int:
        """How many kernels guests have made in rehearsals up to now."""
        return self._judging.exchange.kernels_made

    def places(self) -> Places:
        """Return where rehearsed calls may lie in the guest that there is."""
        return Places(self._judging.exchange.reached)

    def rehearse(self, calls: Sequence[RehearsedCall]) -> tuple[list[tuple[str, ...]], Outcome | None]:
        """Make such calls, one after the other: what each asked for, and what went wrong behind these."""
        self.runs += len(calls)
        with self._judging.phases("calls"):
            return self._judging.exchange.rehearse(calls)

    @property
    def call_seconds(self) -> float:
        """Seconds that one call may take."""
        return self._judging.job.limits.case_seconds

    @property
    def rehearsals(self) -> int:
        """How many calls of a guest are rehearsed, where each asks for little."""
        return self._judging.job.limits.rehearsals

    def late(self) -> bool:
        """Whether the candidate has had all of its time, and guards have had as much."""
        return time.monotonic() > self._judging.deadline + self._judging.job.limits.candidate_seconds

    def renew_guest(self) -> None:
        """Have the next call made in a guest that has only loaded the candidate."""
        self._judging.exchange.renew_guest()

    def excuses(self, outcome: Outcome, nbytes: int) -> bool:
        """Whether a call of sizes that nobody asks for may want that much time or memory: a few may, not all.

        `nbytes`: of its arguments.
        """
        too_much = FULL in outcome.summary or TOO_MANY in outcome.summary
        if outcome.kind != "timed_out" and (not too_much or nbytes < MUCH):
            return False
        self._judging.excused += 1
        return self._judging.excused <= EXCUSED

    def drawn_first(self) -> None:
        """Have some calls be the first of a guest, as each is in use."""
        if self._firsts.random() < FIRST_ONES:
            self.renew_guest()

    def outcome(self, case: CaseJudge, mode: dict[str, Any]) -> Outcome:
        """Return what such a call is worth."""
        return self.call(case, mode).outcome

    def reseeded(self, case: CaseJudge, count: int, added: int) -> list[CaseJudge]:
        """Draw up to `count` and `added` cases of a case's dtype under the job's other seed.

        The first are such that compute something, if there are any; the others are those that a suite does not rebuild
        without need.
        """
        judging, known = self._judging, case.inputs.case
        with judging.phases("inputs"):
            offered = judging.referee.other_cases(known, self.operator.suite, judging.job)
            drawn = judging.referee.drawn_cases(known, self.operator.suite, judging.job, added)
        self.random.shuffle(offered)
        telling: list[CaseJudge] = []
        others: list[CaseJudge] = []
        for fresh in self._answered(offered):
            (others if fresh.trivial() else telling).append(fresh)
            if len(telling) == count:
                break
        return [*(telling or others[:count]), *self._answered(drawn)]

    def _answered(self, cases: Iterable[CaseInputs]) -> Iterator[CaseJudge]:
        for inputs in cases:
            fresh = self._judging.case(inputs, self._judging.expect_anew)
            if self._answers(fresh):
                yield fresh

    def altered(
        self, case: CaseJudge, alter: Callable[[list[torch.Tensor]], None], *, any_answer: bool = False
    ) -> CaseJudge | None:
        """Return the case with some values changed; None where that is no valid call.

        Also where it has the same answer, unless `any_answer` will do.
        """
        args, kwargs = _codec.clone_tree([tuple(case.args), case.kwargs])
        inputs = _changed(case.inputs, args=args, kwargs=kwargs)
        changed = self._judging.case(inputs, self._judging.expect_anew)
        with contextlib.suppress(Exception):
            alter([tensor for _, tensor in changed.tensors])
            if self._answers(changed) and (any_answer or not changed.same_answer(case)):
                return changed
        return None

    def alike(self, one: CaseJudge, other: CaseJudge) -> bool:
        """Whether two results have the same sizes, and the same numbers and truth values that are no tensors."""
        told = [_codec.encode(case.answer(), _codec.Storages()) for case in (one, other)]
        return bool(told[0] == told[1])

    @property
    def read_bytes(self) -> int:
        """Bytes that a call may read."""
        return self._judging.reads.nbytes

    def chance(self, guard: str, dtype: str, what: str) -> random.Random:
        """Return a generator for one draw: what comes of others changes nothing here."""
        return random.Random(f"{self._judging.job.fresh_seed} {guard} {dtype} {what}")

    def exchanged(
        self, case: CaseJudge, tensors: Mapping[int, torch.Tensor], words: str, **changes: Any
    ) -> CaseJudge | None:
        """Return the case with other tensors, by number, and other keyword arguments; None where PyTorch refuses it."""
        given = iter(self._given(case, tensors))
        args, kwargs = _codec.with_tensors([case.args, case.kwargs], given)
        requires = "out" if "out" in changes else case.inputs.requires
        inputs = _changed(case.inputs, args=args, kwargs={**kwargs, **changes}, title=words, requires=requires)
        made = self._judging.case(inputs, self._judging.expect_anew)
        return made if self._answers(made) else None

    def remade(
        self, case: CaseJudge, tensors: Mapping[int, torch.Tensor], lengths: Mapping[int, int], words: str
    ) -> CaseJudge | None:
        """Return the case with other tensors, by number, and other lengths in its lists; None where PyTorch refuses."""
        given = iter(self._given(case, tensors))
        args, kwargs = _codec.with_tensors([case.args, case.kwargs], given)
        args = tuple(_grown.renumbered(arg, lengths) for arg in args)
        kwargs = {name: _grown.renumbered(value, lengths) for name, value in kwargs.items()}
        made = self._judging.case(
            _changed(case.inputs, args=args, kwargs=kwargs, title=words), self._judging.expect_anew
        )
        return made if self._answers(made) else None

    def _given(self, case: CaseJudge, tensors: Mapping[int, torch.Tensor]) -> list[torch.Tensor]:
        """The case's tensors with others in their place; doubles hold what float32 does where they did before.

        A chip without float64 computes with them in float32, and a bound of half a unit has no room for two roundings.
        """
        found = [tensors.get(number, tensor) for number, (_, tensor) in enumerate(case.tensors)]
        if self.kind(case) != "exact":
            for number, (_, tensor) in enumerate(case.tensors):
                if number in tensors and tensor.dtype == found[number].dtype == torch.float64 and _in_float32(tensor):
                    _to_float32(found[number])
        return found

    def renumbered(self, case: CaseJudge, args: Any, kwargs: Any, words: str) -> CaseJudge | None:
        """Return the case with these arguments, whose tensors are its own; None where PyTorch refuses it."""
        args, kwargs = _codec.clone_tree([tuple(args), dict(kwargs)])
        inputs = replace(case.inputs, args=tuple(args), kwargs=kwargs, title=words)
        if inputs.postprocess_for is not None:
            function = inputs.postprocess_for(inputs.args, kwargs)
            standard = inputs.standard and replace(inputs.standard, functions=function)
            inputs = replace(inputs, postprocess=function, standard=standard)
        made = self._judging.case(inputs, self._judging.expect_anew)
        return made if self._answers(made) else None

    def exact(self, case: CaseJudge) -> bool:
        """Whether an exact reference says what is right, of the result itself, or of each number that is drawn."""
        if "random" in case.inputs.notes:
            return True
        standard = case.inputs.standard
        return standard is not None and standard.rule.kind != "undefined" and case.inputs.postprocess is None

    def kind(self, case: CaseJudge) -> str:
        """The class of the operator, as the table of classes has it."""
        return "" if case.inputs.standard is None else case.inputs.standard.rule.kind

    def of_degree(self, case: CaseJudge) -> bool:
        """Whether an operand says how many steps the reference makes: then none may be large."""
        return case.inputs.standard is not None and case.inputs.standard.rule.degree

    def made(self, case: CaseJudge) -> Made | None:
        """Return the sizes of what the call makes, and how much that is; None where it cannot be said."""
        return made(case.inputs.reference, case.args, case.kwargs)

    def same_class(self, case: CaseJudge, before: Made | None, args: Any, kwargs: Any) -> bool:
        """Whether a call with these arguments has results of the same sizes as the case, and takes not much more work.

        Where the result of a case with tensors is a number or a truth value, it has no size.
        """
        if case.tensors and not _codec.tensors_of(case.answer(), ""):
            return True
        before = self.made(case) if before is None else before
        return before is not None and same_class(before, made(case.inputs.reference, args, kwargs))

    def takes_more(self, case: CaseJudge, args: Any, kwargs: Any) -> bool:
        """Whether a call with these arguments takes more memory than the case, by itself."""
        return takes_more(case.inputs.reference, (case.args, case.kwargs), (args, kwargs))

    def free(self, case: CaseJudge) -> bool:
        """Whether values of the case may be exchanged for others that occur in it, and the answer still be compared.

        The operator must ask for no structure, and have an exact reference; a function of the result that is compared
        in its place may know the old values.
        """
        if not self.exact(case):
            return False
        # What is there for the result may hold anything: NaNs, so that none of them stays unwritten unseen.
        filled = "random" in case.inputs.notes and "self" in self.operator.writes  # the first is
        given = (tensor for n, (_, tensor) in enumerate(case.tensors) if not case.is_out(n) and not (filled and n == 0))
        return _free(self.operator.suite, self.operator.name) and _finite(given)

    def fits(self, case: CaseJudge, *, finite: bool = True) -> bool:
        """Whether the reference is right and the same however arguments lie in memory, on other values; and finite."""
        plain = self._plain(case)
        try:
            limited = "random" in case.inputs.notes or all(
                (limit is not None and not limit.tolerance) or not tensor.is_floating_point()
                for (_, tensor), limit in zip(_codec.tensors_of(case.answer(), ""), case.limits.outputs, strict=True)
            )
            return plain is not None and limited and (not finite or self.finite(case)) and case.agrees(plain)
        except EnvironmentFault:
            raise
        except Exception:  # whatever the reference raises on values that a guard has made
            return False

    def defined(self, case: CaseJudge) -> bool:
        """Whether the reference answers in one way, however arguments lie in memory; by its limits, if it has some."""
        if self.exact(case):
            return self.fits(case, finite=self.finite(case))
        plain = self._plain(case)
        try:
            return plain is not None and case.agrees(plain)
        except EnvironmentFault:
            raise
        except Exception:  # whatever the reference raises on arguments that a guard has made
            return False

    def _plain(self, case: CaseJudge) -> CaseJudge | None:
        """The call on tensors that lie apart, answered where new memory holds other bytes than usual."""
        with filled_memory():
            return self.exchanged(case, {n: _apart(t) for n, (_, t) in enumerate(case.tensors)}, "")

    def finite(self, case: CaseJudge) -> bool:
        """Whether the reference's result is."""
        return _finite(tensor for _, tensor in _codec.tensors_of(case.answer(), ""))

    def told(self, family: str) -> bool:
        """Whether the suite's prompts speak of a family of tests, or PyTorch's own forms say as much."""
        families = _families(self.operator.suite)
        return families is None or family in families or (family == "out" and self.in_place)

    @functools.cached_property
    def in_place(self) -> bool:
        """Whether the operator is an overload at `out=` that does the work of an in-place one: its operand is `out`.

        A library gives a pointwise operator's kernel an operand as `out`, and no other's.
        """
        operator, (packet, _, overload) = self.operator, self.operator.name.partition(".")
        if operator.suite.partition(":")[0] not in ("aten", "aten-audit") or not operator.writes:
            return False
        found = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
        return found is not None and torch.Tag.pointwise in found.tags and hasattr(torch.ops.aten, f"{packet}_")

    def mixes(self) -> bool:
        """Whether the operator is PyTorch's, of whose arguments it is known that numbers and dtypes may be mixed."""
        return self.operator.suite.partition(":")[0] in PYTORCHS and self.told("mixed")

    def data(self, case: CaseJudge) -> list[int]:
        """Return the numbers of the tensors that hold data of the case's dtype, and no indices.

        Integers are data where the argument holds floating-point numbers in another dtype's cases, or the operator
        has none.
        """
        dtype = getattr(torch, case.inputs.case.dtype)
        floats = {name for name in self.operator.dtypes if getattr(torch, name).is_floating_point}
        known = self._judging.dtypes

        def holds_data(path: str) -> bool:
            name = path.removeprefix("argument ").partition("[")[0]
            return dtype.is_floating_point or not floats or bool(floats & known.get(name, set()))

        return [n for n, (path, tensor) in enumerate(case.tensors) if tensor.dtype is dtype and holds_data(path)]

    @property
    def named(self) -> Named:
        """The numbers that the candidate's source names."""
        return named(self._judging.source)

    @property
    def parameters(self) -> frozenset[str]:
        """The names of the wrapper's parameters."""
        return frozenset(self._judging.parameters)

    def _answers(self, case: CaseJudge) -> bool:
        """Whether the reference has an answer, which is the same on every host."""
        if _casts_beyond(case):
            return False
        try:
            with limited_memory(MOST_MADE):  # how large a result becomes shows with the values alone (`combinations`)
                case.answer()
        except EnvironmentFault:
            raise
        except Exception as error:
            self.explodes |= isinstance(error, MemoryError) or "can't allocate memory" in str(error)
            return False
        return bool(self.operator.mutates or self.operator.writes) or not _writes(case)

    def answers(self, run: Run, case: CaseJudge) -> bool:
        """Whether a call returned the right answer of another case, tensor by tensor."""
        return case.accepts(list(run.tensors))

    def first_difference(self, one: Run, other: Run) -> str | None:
        """Say where the bits of two runs differ first."""
        for (path, left), (_, right) in zip(one.tensors, other.tensors, strict=False):
            a, b = (t.detach().clone(memory_format=torch.contiguous_format).reshape(-1) for t in (left, right))
            if a.dtype != b.dtype or a.shape != b.shape:
                return f"{path} has another dtype or shape"
            width = a.element_size()
            bits = (a.view(torch.uint8).reshape(-1, width) != b.view(torch.uint8).reshape(-1, width)).any(1).nonzero()
            if bits.numel():
                index = int(bits[0])
                where = tuple(int(i) for i in torch.unravel_index(torch.tensor(index), left.shape))
                return f"{path}{list(where)} is {a[index].item()!r} once and {b[index].item()!r} then"
        return None

    def wrong(self, guard: str, summary: str, case: CaseJudge) -> Outcome:
        """Return the outcome of a result that cannot be relied on."""
        return Outcome("wrong", summary, guard=guard).with_call(case)

    def found(self, guard: str, case: CaseJudge, *, first: bool = False) -> Outcome | None:
        """Call the wrapper on a case that was drawn, some as the first ones of guests; return what is wrong."""
        if first:
            self.renew_guest()
        else:
            self.drawn_first()
        outcome = self.outcome(case, {})
        if outcome.kind in ("passed", "untested"):
            return None
        return self.failed(outcome.guard or guard, f"{case.inputs.title}: ", outcome, case)

    def failed(self, guard: str, words: str, outcome: Outcome, case: CaseJudge) -> Outcome:
        """Return a failure in a rerun, with the circumstances in its summary."""
        return replace(outcome, guard=guard, summary=words + outcome.summary).with_call(case)


def _writes(case: CaseJudge) -> bool:
    """Whether the reference writes arguments that are none to be written: `cov` of one column does."""
    _, args, kwargs = case.expected(case.inputs)
    after = _codec.tensors_of([list(args), dict(kwargs)], "")
    outs = {t.untyped_storage()._cdata for number, (_, t) in enumerate(case.tensors) if case.is_out(number)}
    pairs = zip(case.tensors, after, strict=True)
    kept = [(one, other) for one, other in pairs if one[1].untyped_storage()._cdata not in outs]
    return _bits([one for one, _ in kept]) != _bits([other for _, other in kept])


def _changed(inputs: CaseInputs, **changes: Any) -> CaseInputs:
    """Return a case of other arguments. Where numbers are drawn, these say which."""
    made = replace(inputs, **changes)
    if "random" in made.notes and made.postprocess_for is not None:
        made = replace(made, postprocess=made.postprocess_for(tuple(made.args), made.kwargs))
    return made


PYTORCHS = ("opinfo", "aten", "aten-audit")  # suites of PyTorch's own operators


# A suite is made anew whenever it is asked for, which takes longer than a call.
@functools.lru_cache(maxsize=256)
def _free(suite: str, operator: str) -> bool:
    return get_suite(suite).free(operator)


@functools.lru_cache(maxsize=16)
def _families(suite: str) -> tuple[str, ...] | None:
    return get_suite(suite).words.families


def _casts_beyond(case: CaseJudge) -> bool:
    """Whether a call names a dtype of whole numbers that does not hold its data: a cast makes anything of them.

    It is what a host's instructions make of it, and differs from one processor to the next.
    """
    named = [one for one in pytree.tree_leaves([case.args, case.kwargs]) if isinstance(one, torch.dtype)]
    whole = [one for one in named if not (one.is_floating_point or one.is_complex or one is torch.bool)]
    most = min((2.0 ** (8 * one.itemsize - one.is_signed) for one in whole), default=math.inf)
    floats = [tensor for _, tensor in case.tensors if tensor.is_floating_point()] if whole else []
    return any(not bool((tensor.double().abs() < most).all()) for tensor in floats)


def _in_float32(tensor: torch.Tensor) -> bool:
    return bool(torch.equal(tensor.float().double().nan_to_num(), tensor.nan_to_num()))


def _to_float32(tensor: torch.Tensor) -> None:
    """Round what a tensor's memory holds, whatever its strides; what is beyond float32 stays."""
    flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    rounded = flat.float().double()
    flat.copy_(torch.where(rounded.isfinite(), rounded, flat))


def _finite(tensors: Iterable[torch.Tensor]) -> bool:
    return all(bool(t.isfinite().all()) for t in tensors if t.is_floating_point() or t.is_complex())


def _bits(tensors: Iterable[tuple[str, torch.Tensor]]) -> bytes:
    flat = (one.detach().clone(memory_format=torch.contiguous_format).reshape(-1) for _, one in tensors)
    return b"".join(one.view(torch.uint8).numpy().tobytes() for one in flat if one.numel())


def _apart(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, contiguous and in memory of their own."""
    return tensor.detach().clone(memory_format=torch.contiguous_format)
