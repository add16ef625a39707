"""The compiled kernels of sealed wrappers, each loaded once in a process."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from bringup.device.asked import FRESH
from bringup.device.engine import Kernel
from bringup.judge.calling import Caller
from bringup.vpe import kernel as kernels

MOST_LOADED = 1024  # kernels that are kept beside those of kept tapes
MOST_REFUSED = 64  # texts that the compiler has refused


@dataclass(frozen=True)
class Compiled:
    """A kernel that was compiled for this process's device."""

    key: str
    kernel: Any
    facts: Kernel


class Kernels:
    """The compiled kernels of sealed wrappers, each loaded once."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._lock = threading.Lock()
        self._loaded: dict[str, Compiled] = {}  # the one that was wanted last at its end
        self._refused: dict[str, dict[str, Any]] = {}  # which are not tried again: that may take minutes

    def compiled(self, request: dict[str, Any], fresh: bool = False) -> Compiled | dict[str, Any]:
        """Compile a text that a guest sends; what its answer says instead where the compiler refuses it.

        `fresh`: anew, and for this one guest.
        """
        key = self._caller.key(request)
        known = None if fresh else self._known(key)
        if known is not None:
            return known
        if not fresh and (refused := self._refused.get(key)) is not None:
            return refused
        answer, binary = self._caller.compile({**request, FRESH: fresh})
        if "log" in answer:
            if not fresh:
                with self._lock:
                    self._refused[key] = answer
                    while len(self._refused) > MOST_REFUSED:
                        self._refused.pop(next(iter(self._refused)))
            return answer
        return self._made(key, answer, binary) if fresh else self._load(key, answer, binary)

    def key(self, request: dict[str, Any]) -> str:
        """By what a text is kept."""
        return self._caller.key(request)

    def kept(self, key: str) -> Compiled | None:
        """A kernel that some process has compiled; None where it is gone."""
        known = self._known(key)
        if known is None and (found := self._caller.kept(key)) is not None:
            known = self._load(key, *found)
        return known

    def _known(self, key: str) -> Compiled | None:
        with self._lock:
            found = self._loaded.pop(key, None)
            if found is not None:
                self._loaded[key] = found
            return found

    def _load(self, key: str, answer: dict[str, Any], binary: bytes) -> Compiled:
        made = self._made(key, answer, binary)
        with self._lock:
            found = self._loaded.setdefault(key, made)  # another thread may have been faster; all have one
            while len(self._loaded) > MOST_LOADED:
                self._loaded.pop(next(iter(self._loaded)))
            return found

    @staticmethod
    def _made(key: str, answer: dict[str, Any], binary: bytes) -> Compiled:
        facts = Kernel(binary, str(answer["name"]), int(answer["shared"]), answer["facts"])
        return Compiled(key, kernels.load(facts.name, facts.binary), facts)
