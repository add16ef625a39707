"""In the guest: one call of the wrapper, whatever it is made for. What is drawn for it is the referee's (`_rehearsal`).

A call that is judged, one that is only rehearsed and one of a sealed kernel are one and the same here: one message, the
same functions, the same variables in them. Who asks for circumstances says so in the message (`around`); every call
goes through what brings them about, and nothing of that is left in a variable when the wrapper is called.
"""

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
    """The arguments of a call, and how they were."""

    request: dict[str, Any]
    storages: list[Any]
    arguments: list[Any]

    def serves(self, request: dict[str, Any]) -> bool:
        """Whether another call may have these objects: one that is told the same, if they are still as they were."""
        return self.request == request and self._as_before()

    def _as_before(self) -> bool:
        if [storage.nbytes() for storage in self.storages] != self.request["sizes"]:
            return False
        known = _codec.Storages()
        for storage in self.storages:
            known.index(storage)
        try:
            return bool(_codec.encode(self.arguments, known) == [self.request["args"], self.request["kwargs"]])
        except (_codec.Unencodable, RuntimeError, NotImplementedError):
            return False


class Calls:
    """The calls of one guest."""

    def __init__(self, handles: Handles, device: str, answer: Answer) -> None:
        """Before guests are forked: what calls are made of is the same in all."""
        self._handles, self._device, self._answer = handles, device, answer
        self._room = _circumstances.Room()
        self._kept: dict[int, _Kept] = {}
        self._old: defaultdict[Any, list[Any]] = defaultdict(list)  # tensors of earlier calls, by dtype

    def answer(self, wrapper: Any, request: dict[str, Any]) -> dict[str, Any]:
        """Call the wrapper; describe what it returned."""
        function, arguments, storages = self._prepared(wrapper, request, request.pop("around", {}))
        return self._answer(function, arguments, storages)

    def _prepared(
        self, wrapper: Any, request: dict[str, Any], around: dict[str, Any]
    ) -> tuple[Callable[[], Any], list[Any], list[Any]]:
        self._room.make(around.get("ids", 0))
        self._handles.begin(
            again="recycle" in around, spare="spare" in around, failing=around.get("failing", 0)
        )  # fmt: skip
        kept = self._kept.pop(around["of"], None) if "of" in around else None
        if "again" in around and kept is not None and kept.serves(request):
            storages, given = kept.storages, kept.arguments
        else:
            self._retire(kept)
            storages = [self._handles.input(*pair) for pair in zip(request["bases"], request["sizes"], strict=True)]
            given = arguments(request, storages, self._device, around, self._old if "objects" in around else {})
        if "of" in around and not around.keys() & set(_circumstances.OF_TENSORS):
            self._kept[around["of"]] = _Kept(request, storages, given)
        args, kwargs = given
        return _circumstances.called(around, lambda: wrapper(*args, **kwargs)), given, storages

    def _retire(self, kept: _Kept | None) -> None:
        """Let other calls have the tensors of one that is over."""
        if kept is not None:
            for _, tensor in _codec.tensors_of(kept.arguments, ""):
                known = self._old[tensor.dtype]
                if not tensor.requires_grad and all(tensor is not other for other in known):
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
