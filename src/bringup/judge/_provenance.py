"""Who wrote a result: decided from the device process's account of every byte."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from bringup.judge import _codec
from bringup.judge._outcome import Outcome, cheated
from bringup.judge._stays import Output, bits, stays
from bringup.suites import CaseInputs
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED, SPREAD, UPLOADED

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge

GUARD = "provenance"
UPLOADED_RESULT = "bytes of the result were made on the host and copied to the device"
MOVED = "bytes of the result were moved there from an argument by copies; no kernel wrote them"
LEFT = (
    "elements of the result are an argument's as they were, by a copy or for nobody wrote them; the operator leaves "
    "them so for some values and not for others: a kernel must find out which, and write all of the result"
)
UNASKED = (
    "no kernel wrote or found out the whole of the result, and whether PyTorch leaves the rest whatever it is cannot "
    "be asked: the arguments take too much memory, or its own kernel would end the process"
)
PICKED = (
    "a view picks its elements from a larger buffer, or shifts them in it, which is work for a kernel; a result fills "
    "its memory from the beginning, in any order of dimensions"
)
MULTIPLIED = "copies have multiplied what a kernel wrote; it must write the whole result"


def provenance(
    case: CaseJudge, reply: dict[str, Any], writers: list[dict[str, int]], masks: list[memoryview]
) -> Outcome | None:
    """Return what is wrong with where a right answer came from, or None.

    `writers` counts for each output (results, then arguments after the call) the bytes of each code; `masks` mark
    the elements that no kernel wrote, and that are copies of an input or what an argument held: where there are any.
    """
    results = _codec.descriptions(reply["result"])
    described = [*results, *_codec.descriptions(reply["after"])]
    names = [path for path, _ in case.tensors_returned]
    names += [f"{path} after the call" for path, _ in case.tensors]
    values = [tensor for _, tensor in (*case.tensors_returned, *case.tensors_after)]
    for number, (path, by) in enumerate(zip(names[len(results) :], writers[len(results) :], strict=True)):
        # What it held looks like the right result where both are NaN, say.
        if str(INPUT) in by and case.must_write(number):
            return case.wrong(f"{path}: some of it was never written")
    for place, (path, tensor, one, by, mask) in enumerate(zip(names, values, described, writers, masks, strict=True)):
        output = Output("result", place) if place < len(results) else Output("argument", place - len(results))
        if output.kind == "result" and one in described[len(results) :]:
            continue  # an argument, which is looked at as such
        found = _one(case, path, tensor, output, {int(code) for code in by}, mask, one["t"] < case.storages)
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
    case: CaseJudge,
    path: str,
    tensor: torch.Tensor,
    output: Output,
    codes: set[int],
    mask: memoryview,
    on_input: bool,
) -> Outcome | None:
    odd = codes - {LAUNCHED, LAUNCHED | COPIED} - ({INPUT} if on_input else set())
    if 0 in odd:
        text = f"{path}: some of it was never written"
        return case.wrong(text)
    if odd & {UPLOADED, UPLOADED | COPIED}:
        return cheated(GUARD, f"{path}: {UPLOADED_RESULT}")
    if odd & {SPREAD, SPREAD | COPIED} and not case.copies_count:
        return cheated(GUARD, f"{path}: {MULTIPLIED}")
    odd -= {SPREAD, SPREAD | COPIED}
    if not case.copies_count and len(mask):
        elements = torch.frombuffer(bytearray(mask), dtype=torch.uint8).bool()
        arguments = [source for _, source in case.tensors]
        counts = bool(case.operator.reads.nbytes)
        said = left_alone(tensor, elements, arguments, output, case.inputs, counts=counts)
        return cheated(GUARD, f"{path}: {said}") if said else None
    if odd and not case.copies_count:
        return cheated(GUARD, f"{path}: {MOVED}")
    return None


def left_alone(
    tensor: torch.Tensor,
    elements: torch.Tensor,
    arguments: Sequence[torch.Tensor],
    output: Output,
    inputs: CaseInputs | None,
    *,
    counts: bool,
) -> str:
    """Say what is wrong with elements of a result (bool[elements]) that no kernel wrote; "" for nothing.

    They must hold what an argument holds in their places, and PyTorch must leave them so whatever it holds.

    Args:
        tensor: the result, on the host.
        elements: which of its elements.
        arguments: the tensors of the call before it, depth first.
        output: which of the call's outputs it is.
        inputs: the call, of which PyTorch is asked; None where it cannot be.
        counts: whether sizes of its results may hang on what tensors hold.
    """
    mine = bits(tensor)[elements]
    found = [
        number
        for number, source in enumerate(arguments)
        if source.numel() == tensor.numel()
        and source.dtype == tensor.dtype
        and torch.equal(bits(source)[elements], mine)
    ]
    if not found:
        return MOVED
    if inputs is None:
        return UNASKED
    return "" if any(stays(inputs, number, output, elements, counts=counts) for number in found) else LEFT
