"""Who wrote a result: decided from the device process's account of every byte."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bringup.judge import _codec
from bringup.judge._outcome import Outcome, cheated
from bringup.operators import Keeps
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED, SPREAD, UPLOADED

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge

GUARD = "provenance"
UPLOADED_RESULT = "bytes of the result were made on the host and copied to the device"
MOVED = "bytes of the result were moved there from an argument by copies; no kernel wrote them"
LEFT = "bytes of an argument that the call is there to write are as they were; a kernel must write all of them"
ALONE = (
    "the operator leaves some elements of an argument as they are, and a kernel must find out which; none was given "
    "this memory together with the call's other tensors, or with what was made of them, or copies have put others there"
)
PICKED = (
    "a view picks its elements from a larger buffer, or shifts them in it, which is work for a kernel; a result fills "
    "its memory from the beginning, in any order of dimensions"
)
MULTIPLIED = "copies have multiplied what a kernel wrote; it must write the whole result"


def provenance(
    case: CaseJudge, reply: dict[str, Any], writers: list[dict[str, int]], given: list[bool]
) -> Outcome | None:
    """Return what is wrong with where a right answer came from, or None.

    `writers` counts for each output (results, then arguments after the call) the bytes of each code; `given` says of
    each whether, of each byte that is an argument's, a kernel was given its memory and what decides on it.
    """
    results = _codec.descriptions(reply["result"])
    described = [*results, *_codec.descriptions(reply["after"])]
    names = [path for path, _ in case.tensors_returned]
    names += [f"{path} after the call" for path, _ in case.tensors]
    for number, (path, by) in enumerate(zip(names[len(results) :], writers[len(results) :], strict=True)):
        # What it held looks like the right result where both are NaN, say.
        if str(INPUT) in by and case.must_write(number):
            return case.wrong(f"{path}: some of it was never written")
    for place, (path, one, by, mine) in enumerate(zip(names, described, writers, given, strict=True)):
        argument = place - len(results) if place >= len(results) else None
        if argument is None and one in described[len(results) :]:
            continue  # an argument, which is looked at as such
        found = _one(case, path, one, {int(code) for code in by}, mine, argument)
        if found is not None:
            return found
    # Without bounds on what may be read the operator speaks of memory: gaps of an argument are its result's.
    if case.in_order and case.readable is not None and (odd := picked(results, case.storages)) is not None:
        return cheated(GUARD, f"{names[odd]}: {PICKED}")
    return None


def picked(results: Sequence[dict[str, Any]], storages: int) -> int | None:
    """Return which result leaves out elements of its own memory first, or begins behind its beginning; None for none.

    Several that share a memory may each begin somewhere in it.

    Args:
        results: as a guest has described them, with the memory that each is on.
        storages: how many of these are the arguments'.
    """
    shared = Counter(one["t"] for one in results)
    for place, one in enumerate(results):
        if one["t"] < storages or 0 in one["shape"]:
            continue
        dims = sorted((stride, size) for size, stride in zip(one["shape"], one["stride"], strict=True) if size > 1)
        reach = list(itertools.accumulate((size for _, size in dims), operator.mul, initial=1))
        dense = all(stride == before for (stride, _), before in zip(dims, reach, strict=False))
        if not dense or (one["offset"] and shared[one["t"]] == 1):
            return place
    return None


def _one(
    case: CaseJudge, path: str, one: dict[str, Any], codes: set[int], given: bool, argument: int | None
) -> Outcome | None:
    on_input = one["t"] < case.storages
    odd = codes - {LAUNCHED, LAUNCHED | COPIED} - ({INPUT} if on_input else set())
    if 0 in odd:
        text = f"{path}: some of it was never written"
        return case.wrong(text)
    if odd & {UPLOADED, UPLOADED | COPIED}:
        return cheated(GUARD, f"{path}: {UPLOADED_RESULT}")
    if case.copies_count:
        return None
    if odd & {SPREAD, SPREAD | COPIED}:
        return cheated(GUARD, f"{path}: {MULTIPLIED}")
    left = argument is not None and INPUT in codes and case.writes(argument)
    if not (left or odd) or case.is_alias(path):
        return None
    keeps = case.keeps
    cast = one["dtype"] not in {str(tensor.dtype).removeprefix("torch.") for _, tensor in case.tensors[:1]}
    said = kept(keeps, given, result=bool(odd), cast=cast)
    return cheated(GUARD, f"{path}: {said}") if said else None


def kept(keeps: Keeps, given: bool, *, result: bool, cast: bool) -> str:
    """Say what is wrong with elements that no kernel wrote, and that are an argument's; "" for nothing.

    Args:
        keeps: what the operator leaves as an argument has it.
        given: whether a kernel was given the memory, and what decides, or there is nothing to be done; and whether each
            is where it was.
        result: whether they were copied there; else they are what an argument held that may be written.
        cast: whether the first argument has another dtype than the tensor that they are in, where they are other
            numbers then.
    """
    if keeps == "copies" and result and not cast and given:
        return ""
    if keeps == "elements" or (keeps == "arguments" and not result):
        return "" if given else ALONE
    return MOVED if result else LEFT
