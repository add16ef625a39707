"""Rehearsals: what a call asks of the device follows from its metadata, whatever was called before, and wherever."""

from __future__ import annotations

import itertools
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bringup.device.transcript import kernels_of
from bringup.judge.guards._base import MUCH, Rerun

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge
    from bringup.judge._outcome import Outcome
    from bringup.judge._rehearsal import RehearsedCall
    from bringup.judge.guards._rerun import Rehearsal, Rerunner

SIGNATURES = 24  # cases that are drawn
REFUSALS = 3  # cases that PyTorch refuses
LINES = 4000  # that all calls may ask for: where each asks for much, there are fewer
LEAST = 60  # of the calls are made, however much each asks for
READ = 16  # lines that a read counts for
OTHERS = 6  # cases of operators that may read, which are judged once more with other values
SIZES, OF = 120, 4  # calls with sizes that nobody has judged are drawn, from so many cases
LARGE, FEW_LINES = 3, 8  # of these, where no case asks for more lines
TWICE = 30  # of these are made once more
SIZED_LINES = 500  # that these may ask for
FRESH = 2  # guests that have called nothing
FIRST_REFUSALS = 8  # refused calls that are first ones
UNSEEN = 1  # of those whose first call is of sizes that nobody has judged
USUAL = 2  # calls of sizes that programs have, or small ones; guests begin with those that have no new kernel
AFTER = 20  # calls that a guest makes after its first one
AGAIN = 0.15  # of the calls are the one before once more, on the same objects
BROKEN = 0.03  # of the calls are refused, or find no memory
ALLOCATIONS = 4  # the last one of which is among those that fail
FIRST, BATCH = 4, 200  # calls that go out at once in the beginning, and at most
SHARE = 0.05  # of the time limit of one call that they may take together
OUT_OF_MEMORY = "raises OutOfMemoryError"  # as a transcript has it
NO_TIME = "the wrapper is so slow that it has used up its time, and the guards' time as well"
_IDLE = re.compile(r"launch \S+ (0x|\d+x0x|\d+x\d+x0 )")  # a launch of no programs
Finding = tuple["Outcome", "CaseJudge"] | None


class Rehearsed(Rerun):
    """Some hundred calls that nothing runs for, of drawn cases in any order, at drawn addresses or on known objects.

    A wrapper sees no data. So what it asks for in a call (texts of kernels, grids, arguments, sizes, copies, uploads
    byte by byte, what it returns) follows from the call's metadata, and must be what it asked for when the case passed.
    The same holds after calls that were refused or found no memory, and in a guest that has called nothing before.
    Calls of sizes that nobody has judged must ask for the same there as after all others, and as first ones.
    """

    id = "rehearsed"
    catches = (
        "wrappers that go by the number of the call, earlier calls and errors, addresses and objects that come again, "
        "ids, clocks, chance, the environment"
    )
    misses = (
        "what happens once in a thousand calls, or in one module of fifty that is loaded; tables that overflow after "
        "hundreds of shapes; who counts only calls after a pause; who knows the judge by other signs"
    )
    advice = (
        "do the same for the same sizes, strides, dtypes and numbers in every call; keep nothing between calls but "
        "what follows from these; what `data_ptr()` returns is no number for a launch or a table: pass the tensor"
    )

    def find(self, rerun: Rerunner, cases: Mapping[str, Sequence[CaseJudge]]) -> Finding:
        """Rehearse cases of all dtypes, in turns."""
        chance = rerun.chance(self.id, "", "")
        usable = [case for of_dtype in cases.values() for case in of_dtype if _usable(case)]
        if not usable:
            return None
        drawn = [rerun.rehearsal(case) for case in chance.sample(usable, min(SIGNATURES, len(usable)))]
        refused = [case for case in rerun.refused if _usable(case)]
        drawn += [rerun.rehearsal(case) for case in chance.sample(refused, min(REFUSALS, len(refused)))]
        if rerun.read_bytes:
            for one in drawn[:OTHERS]:
                _learn_other_answers(rerun, one, chance)
        alike = _of_one_kernel(drawn)
        # Views have no kernels to choose among, and may have as many results as a size says.
        large = LARGE if _lines(alike) <= FEW_LINES and rerun.operator.computes else 0
        sized = _of_other_sizes(rerun, alike, large, chance)
        usual = _of_usual_sizes(rerun, alike, chance)
        found = self._rehearse(rerun, drawn, chance) or self._learn(rerun, sized, usual, large, chance)
        if found is not None:
            return found
        known = [*alike, *(one for one in sized if one.wanted)]
        # Of one element, and refused ones: guards that judge make neither.
        alone = [rerun.rehearsal(chance.choice(few)) for of in cases.values() if (few := _of_one_element(of))]
        alone += [rerun.rehearsal(case) for case in chance.sample(refused, min(FIRST_REFUSALS, len(refused)))]
        return self._first_calls(rerun, drawn, known, [one for one in usual if one.wanted], alone, chance)

    def _rehearse(self, rerun: Rerunner, drawn: Sequence[Rehearsal], chance: random.Random) -> Finding:
        """Call in the guest that has made all calls up to now."""
        from bringup.judge._outcome import Outcome
        from bringup.judge._rehearsal import without_a_tensor

        places = rerun.places()
        broken = [made for one in drawn if (made := rerun.rehearsal_of(one, without_a_tensor(one.request)))]
        calls, lines, most, wanted = 0, 0, FIRST, rerun.rehearsals
        one = drawn[0]
        while calls < wanted and (lines < LINES or calls < LEAST):
            if rerun.late():
                return rerun.failed(self.id, "", Outcome("timed_out", NO_TIME), one.case), one.case
            # How many go out at once is a matter of time alone: which calls are made, and where, is not.
            batch: list[tuple[Rehearsal, RehearsedCall]] = []
            before, began = calls, time.monotonic()
            while len(batch) < most and calls < wanted and (lines < LINES or calls < LEAST):
                kind = chance.random()
                if kind < BROKEN and broken:
                    other = chance.choice([*broken, one])
                    batch.append((other, other.call(chance, places, failing=chance.randrange(ALLOCATIONS) + 1)))
                else:
                    again = kind > 1 - AGAIN
                    one = one if again else chance.choice(drawn)
                    batch.append((one, one.call(chance, places, again=again)))
                calls, lines = calls + 1, lines + _cost(one)
            found = self._differs(rerun, batch, f"a call that is rehearsed ({before} before it)")
            if found is not None:
                return found
            each = (time.monotonic() - began) / len(batch)
            most = max(1, min(BATCH, 2 * most, int(rerun.call_seconds * SHARE / each)))
        return None

    def _learn(
        self, rerun: Rerunner, sized: Sequence[Rehearsal], usual: Sequence[Rehearsal], large: int, chance: random.Random
    ) -> Finding:
        """Call what nobody has judged, some of it twice: in growing rows, then the first `large`, `usual` one by one.

        Ended by what takes too much: a new kernel, which takes longer than a hundred calls, and many lines.
        """
        rest, lines = sized[large:], 0
        rows = [rest[2**n - 1 : 2 ** (n + 1) - 1] for n in range(len(rest).bit_length())]
        for part in (rows, [[one] for one in sized[:large]], [[one] for one in usual]):
            made = rerun.kernels_made
            for row in part:
                if rerun.late() or lines > SIZED_LINES or rerun.kernels_made > made:
                    break
                if (found := self._calls(rerun, row, chance, "a call that is rehearsed")) is not None:
                    return found
                lines += sum(map(_cost, row))
        told = [one for one in rest if one.wanted]
        twice = [*(one for one in sized[:large] if one.wanted), *chance.sample(told, min(TWICE, len(told)))]
        return self._calls(rerun, twice, chance, "a call that is rehearsed for the second time")

    def _calls(
        self, rerun: Rerunner, few: Sequence[Rehearsal], chance: random.Random, words: str, *, fresh: bool = False
    ) -> Finding:
        """Call each once; what nobody knows yet is learned. `fresh`: the guest has called nothing before."""
        places = rerun.places()
        for start in range(0, len(few), BATCH):
            batch = [
                (one, one.call(chance, places, usual=True, first=fresh and not number))
                for number, one in enumerate(few[start : start + BATCH], start)
            ]
            if (found := self._differs(rerun, batch, words)) is not None:
                return found
        return None

    def _first_calls(
        self, rerun: Rerunner, drawn: Sequence[Rehearsal], known: Sequence[Rehearsal], usual: Sequence[Rehearsal],
        alone: Sequence[Rehearsal], chance: random.Random,
    ) -> Finding:  # fmt: skip
        """Call in guests that have only loaded the candidate; what is called first is another thing in each.

        Sealed kernels make each call as the first of its process, whatever its sizes; and a witness has made some calls
        of other sizes before, the first one small, or such as programs have. Those that are `alone` are all that their
        guests are asked for.
        """
        unseen = [one for one in known if one not in drawn]
        firsts = [*_unlike(drawn)[:FRESH], *chance.sample(unseen, min(UNSEEN, len(unseen))), *usual]
        others = [*known, *usual]
        for number, first in enumerate([*firsts, *alone]):
            rerun.renew_guest()
            count = 0 if number >= len(firsts) else min(AFTER, len(others)) if number else len(others)
            few = [first, *chance.sample(others, count)]
            if (found := self._calls(rerun, few, chance, "a call in a fresh process", fresh=True)) is not None:
                return found
        return None

    def _differs(self, rerun: Rerunner, batch: Sequence[tuple[Rehearsal, RehearsedCall]], words: str) -> Finding:
        """Make some calls, and return the first that is not as it must be.

        Where nothing is known of a call, what it asks for is what the next ones must. It may raise an error, and take
        too long twice a verdict, but not end its guest or break its stream: the judge would learn nothing more.
        """
        from bringup.judge._rehearsal import Wanted

        told, failed = rerun.rehearse([call for _, call in batch])
        for (one, call), lines in zip(batch, told, strict=False):
            full = OUT_OF_MEMORY in (*lines[-1:], *call.wanted.transcript[-1:])
            if not one.judged and full and max(sum(call.sizes), _broadcast_bytes(call.request)) >= MUCH:
                continue  # sizes that nobody has judged may find memory here and none there
            if call.wanted and lines != call.wanted.transcript:
                return one.differs(self.id, call.wanted, lines, f"{words}{_aside(call)}"), one.case
            if not one.wanted and "failing" not in call.around:
                one.wanted.append(Wanted(lines, call.wanted.answers))
        if failed is None:
            return None
        one, call = batch[min(len(told), len(batch) - 1)]
        if not call.wanted and rerun.excuses(failed, sum(call.sizes)):
            rerun.renew_guest()
            return None
        return rerun.failed(failed.guard or self.id, f"{words}{_aside(call)}: ", failed, one.case), one.case


def _broadcast_bytes(request: Mapping[str, Any]) -> int:
    """Bytes of what the tensors of a call broadcast to, or more: what may be asked for where arguments are small."""
    import torch

    from bringup.judge import _codec

    known = _codec.descriptions([request["args"], request["kwargs"]])
    sizes = [list(reversed(one["shape"])) for one in known]
    width = max((int(getattr(torch, one["dtype"]).itemsize) for one in known), default=1)
    return width * math.prod(int(max(one)) for one in itertools.zip_longest(*sizes, fillvalue=1))


def _learn_other_answers(rerun: Rerunner, one: Rehearsal, chance: random.Random) -> None:
    """Judge a case with other values: what its reads are answered with then, and what it asks for."""
    import torch

    from bringup.judge._rehearsal import Wanted

    def negative(tensor: Any) -> None:
        tensor.copy_(tensor.logical_not() if tensor.dtype is torch.bool else -tensor)

    def sparse(tensor: Any) -> None:
        if tensor.numel():
            tensor.view(-1)[chance.randrange(tensor.numel())] = 0

    for change in (sparse, negative):

        def alter(tensors: list[Any], change: Any = change) -> None:
            change(tensors[0])

        other = rerun.altered(one.case, alter)
        if other is None:
            continue
        run = rerun.call(other, {})
        asked = run.asked
        if run.outcome.kind == "passed" and asked.answers and list(asked.answers) != list(one.wanted[0].answers):
            one.wanted.append(Wanted(asked.transcript, asked.answers))
            return


def _of_other_sizes(rerun: Rerunner, few: Sequence[Rehearsal], large: int, chance: random.Random) -> list[Rehearsal]:
    """Return calls that nobody has judged: with other sizes than some cases have, so many `large` ones first."""
    from bringup.judge._rehearsal import of_other_sizes

    found: dict[str, Rehearsal] = {}
    for number in range(SIZES):
        one = chance.choice(few)
        request: dict[str, Any] | None = one.request
        for _ in range(1 if number < large else chance.randint(1, 3)):
            request = request and of_other_sizes(request, chance, large=number < large)
        made = rerun.rehearsal_of(one, request)
        if made is not None:
            found.setdefault(repr(made.request), made)
    return list(found.values())


def _of_usual_sizes(rerun: Rerunner, few: Sequence[Rehearsal], chance: random.Random) -> list[Rehearsal]:
    """Return calls that nobody has judged, as users make them; one of them is small."""
    from bringup.judge._rehearsal import of_small_sizes, of_usual_sizes

    found = []
    for number in range(USUAL):
        one = chance.choice(few)
        made = rerun.rehearsal_of(one, (of_usual_sizes if number else of_small_sizes)(one.request, chance))
        if made is not None:
            found.append(made)
    return found


def _of_one_element(cases: Sequence[CaseJudge]) -> list[CaseJudge]:
    """Return the cases that have one element in their largest tensor."""
    return [case for case in cases if _usable(case) and max([t.numel() for _, t in case.tensors], default=0) == 1]


def _of_one_kernel(drawn: Sequence[Rehearsal]) -> list[Rehearsal]:
    """Return some cases that need the same kernels, as many as there are up to `OF`, large ones first."""
    groups: defaultdict[frozenset[str], list[Rehearsal]] = defaultdict(list)
    for one in drawn:
        if any(tensor.numel() > 1 for _, tensor in one.case.tensors):
            groups[frozenset(kernels_of(one.wanted[0].transcript))].append(one)
    most = max(groups.values(), key=len, default=drawn)
    return sorted(most, key=lambda one: -max([t.dim() for _, t in one.case.tensors], default=0))[:OF]


def _lines(few: Sequence[Rehearsal]) -> int:
    return max((len(wanted.transcript) for one in few for wanted in one.wanted), default=0)


def _unlike(drawn: Sequence[Rehearsal]) -> list[Rehearsal]:
    """Return the cases in another order: first one that is not contiguous and has many dimensions, then any."""

    def told(one: Rehearsal) -> tuple[int, bool]:
        tensors = [tensor for _, tensor in one.case.tensors]
        return max([tensor.dim() for tensor in tensors], default=0), all(t.is_contiguous() for t in tensors)

    by_rank = sorted(drawn, key=lambda one: (told(one)[1], -told(one)[0]))
    order = [by_rank[0], *drawn]
    return list(dict.fromkeys(order))


def _aside(call: RehearsedCall) -> str:
    """What is unusual about a call, for a message."""
    return f", {call.words}," if call.words else ""


def _cost(one: Rehearsal) -> int:
    """How many lines a call counts for: one that waits for an answer takes longer than one that does not."""
    if not one.wanted:
        return 1
    known = one.wanted[0]
    return 1 + sum(not _IDLE.match(line) for line in known.transcript) + READ * len(known.answers)


def _usable(case: CaseJudge) -> bool:
    return bool(case.asked.transcript) and case.asked.answers is not None
