"""In the guest: calls that nothing runs for, in rows. What is drawn for them is the referee's (`_rehearsal`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from bringup.device.handles import Handles
from bringup.judge import _circumstances, _codec

Answer = Callable[[Callable[[], Any], list[Any], list[Any]], dict[str, Any]]
"""(function, arguments, their storages) -> what came of calling it."""
OLD = 4  # tensors of each dtype that other calls may be given


@dataclass(frozen=True)
class _Kept:
    """The arguments of a call, as it has left them: as they were."""

    bases: list[int]
    sizes: list[int]
    storages: list[Any]
    arguments: list[Any]


class Rehearsing:
    """The rehearsals of one guest."""

    def __init__(self, handles: Handles, device: str, answer: Answer) -> None:
        """Begin; nothing is made before the first call."""
        self._handles, self._device, self._answer = handles, device, answer
        self._cases: dict[int, dict[str, Any]] = {}
        self._room: _circumstances.Room | None = None
        self._kept: dict[int, _Kept] = {}
        self._old: defaultdict[Any, list[Any]] = defaultdict(list)  # tensors of earlier calls, by dtype

    def answer(self, wrapper: Any, request: dict[str, Any]) -> dict[str, Any]:
        """Call the wrapper for each of some calls; `cases`: what the calls of a number have in common."""
        self._cases.update({int(number): case for number, case in request["cases"].items()})
        if self._room is None:
            self._room = _circumstances.Room()
        answers = [self._call(wrapper, *one) for one in request["calls"]]
        stream = self._handles.stream
        assert stream is not None
        stream.flush()  # all at once: each message may wake the device's process
        return {"calls": answers}

    def _call(
        self, wrapper: Any, number: int, bases: list[int], sizes: list[int], around: dict[str, Any]
    ) -> dict[str, Any]:
        assert self._room is not None
        self._room.make(around.get("ids", 0))
        self._handles.rehearse(again="recycle" in around, failing=around.get("failing", 0))
        kept = self._kept.pop(number, None)
        if "again" in around and kept is not None and (kept.bases, kept.sizes) == (bases, sizes):
            storages, (args, kwargs) = kept.storages, kept.arguments
        else:
            self._retire(kept)
            storages = [self._handles.input(*pair) for pair in zip(bases, sizes, strict=True)]
            old = self._old if "objects" in around else {}
            args, kwargs = arguments(self._cases[number], storages, self._device, around, old)
        called = _circumstances.called(around, lambda: wrapper(*args, **kwargs))
        answer = self._answer(called, [args, kwargs], storages)
        asked = [self._cases[number]["args"], self._cases[number]["kwargs"]]
        as_before = answer.get("after") == asked and [storage.nbytes() for storage in storages] == sizes
        if as_before and not around.keys() & set(_circumstances.OF_TENSORS):
            self._kept[number] = _Kept(bases, sizes, storages, [args, kwargs])
        return answer

    def _retire(self, kept: _Kept | None) -> None:
        """Let other calls have the tensors of one that is over."""
        if kept is not None:
            for _, tensor in _codec.tensors_of(kept.arguments, ""):
                known = self._old[tensor.dtype]
                if all(tensor is not other for other in known):
                    known.append(tensor)
                    del known[:-OLD]


def arguments(
    request: dict[str, Any], storages: list[Any], device: str, around: Mapping[str, Any],
    old: Mapping[Any, list[Any]] | None = None,
) -> list[Any]:  # fmt: skip
    """Build the arguments of a call, positional and by name, on their storages.

    `old`: tensors by dtype that may be made use of; each is taken out.
    """
    made: dict[str, Any] = {}  # what is described alike is one tensor, as a caller would give it

    def tensor(described: dict[str, Any]) -> Any:
        key = repr(described)
        if key not in made:
            usable = old.get(getattr(torch, described["dtype"]), []) if old else []
            made[key] = _circumstances.tensor_on(storages, described, around, [usable.pop()] if usable else ())
        return made[key]

    return [_codec.decode(request[name], tensor, device) for name in ("args", "kwargs")]
