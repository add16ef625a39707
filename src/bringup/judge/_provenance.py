"""Who wrote a result: decided from the device process's account of every byte."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from bringup.judge import _codec
from bringup.judge._outcome import Outcome, cheated
from bringup.vpe.memory import COPIED, INPUT, LAUNCHED, SPREAD, UPLOADED

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge

GUARD = "provenance"
UPLOADED_RESULT = "bytes of the result were made on the host and copied to the device"
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
    the elements that are copies of an input, where there are any.
    """
    results = _codec.descriptions(reply["result"])
    described = [*results, *_codec.descriptions(reply["after"])]
    names = [path for path, _ in case.tensors_returned]
    names += [f"{path} after the call" for path, _ in case.tensors]
    values = [tensor for _, tensor in (*case.tensors_returned, *case.tensors_after)]
    for path, tensor, one, by, mask in zip(names, values, described, writers, masks, strict=True):
        codes = {int(code) for code in by}
        found = _one(case, path, tensor, codes, mask, one["t"] < case.storages)
        if found is not None:
            return found
    # Without bounds on what may be read the operator speaks of memory: gaps of an argument are its result's.
    if case.in_order and case.readable is not None and (odd := picked(results, case.storages)) is not None:
        return cheated(GUARD, f"{names[odd]}: {PICKED}")
    for number, (path, by) in enumerate(zip(names[len(results) :], writers[len(results) :], strict=True)):
        # What it held looks like the right result where both are NaN, say.
        if str(INPUT) in by and case.must_write(number):
            return case.wrong(f"{path}: some of it was never written")
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
    case: CaseJudge, path: str, tensor: torch.Tensor, codes: set[int], mask: memoryview, on_input: bool
) -> Outcome | None:
    accepted = {LAUNCHED, LAUNCHED | COPIED} | ({INPUT} if on_input else set())
    odd = codes - accepted
    if 0 in odd:
        text = f"{path}: some of it was never written"
        return case.wrong(text)
    if odd & {UPLOADED, UPLOADED | COPIED}:
        return cheated(GUARD, f"{path}: {UPLOADED_RESULT}")
    if odd & {SPREAD, SPREAD | COPIED} and not case.copies_count:
        return cheated(GUARD, f"{path}: {MULTIPLIED}")
    odd -= {SPREAD, SPREAD | COPIED}
    if odd and not case.copies_count and not _left_alone(case, tensor, mask):
        return cheated(
            GUARD, f"{path}: bytes of the result were moved there from an input by copies; no kernel wrote them"
        )
    return None


def _left_alone(case: CaseJudge, tensor: torch.Tensor, mask: memoryview) -> bool:
    """Whether all elements that are copies hold what an input holds in the same place."""
    copied = torch.frombuffer(bytearray(mask), dtype=torch.uint8).bool()
    return left_alone(tensor, copied, (source for _, source in case.tensors))


def left_alone(tensor: torch.Tensor, copied: torch.Tensor, arguments: Iterable[torch.Tensor]) -> bool:
    """Whether some elements of a host tensor (`copied`: bool[elements]) hold what an argument holds in their place."""
    mine = _bits(tensor)[copied]
    return any(
        source.numel() == tensor.numel() and source.dtype == tensor.dtype and torch.equal(_bits(source)[copied], mine)
        for source in arguments
    )


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Each element as its bytes."""
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    return flat.view(torch.uint8).reshape(flat.numel(), flat.element_size())
