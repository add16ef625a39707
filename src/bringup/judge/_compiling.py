"""Kernels for the device process: from the store, or from the compiler in a process of its own that is thrown away.

Each text has its own process, in the judge as in use: what one does to its process no other meets, and how long an
answer takes says nothing of who asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from bringup.device import frames
from bringup.device.asked import FRESH
from bringup.judge._guest import Guest, describe_end
from bringup.judge._kernels import KEPT_BYTES, KernelStore, key_of
from bringup.judge._outcome import Outcome
from bringup.judge._tidy import last_line
from bringup.judge.faults import Ledger, asserted, fault_of, further_toolchain, with_reasons

REFUSALS_KEPT = 4096
# Of the shared folder, for one candidate or program: what it asks for pushes out what others need.
MOST_SHARED = KEPT_BYTES // 4


class Compiling:
    """Compiles what one candidate sends."""

    def __init__(
        self, toolchain: str, compile_for: Sequence[str], limit: float, store: KernelStore,
        refused: dict[str, dict[str, Any]], start: Callable[[], Guest], target: str = "", ledger: Ledger | None = None,
    ) -> None:  # fmt: skip
        """`toolchain` identifies the target's own, `compile_for` names others that check every kernel.

        `limit` is in seconds, for one kernel; `refused` keeps what those say; `start` starts a compiling process.
        `ledger` keeps what a compiler dies of, under the name of the `target`.
        """
        self._target, self._ledger = target, ledger
        self._toolchain, self._compile_for, self._limit = toolchain, compile_for, limit
        self._store, self._refused, self._start = store, refused, start
        self._shared = 0  # bytes
        self.seconds = 0.0
        """Spent on compiling so far: no time of the candidate's."""
        self.counts: dict[str, int] = {}
        """Kernels that compiled, by toolchain (other than the target's own)."""
        self.resources: dict[str, dict[str, Any]] = {}
        """What each of these takes of its device, by key."""

    def answer(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Compile a text for the target's device: facts and binary, or `log` and `short`.

        A refusal is not kept, nor is a kernel that is only tried (`FRESH`): what no call has launched must leave no
        trace, or a guest counts its predecessors by how long an answer takes.
        """
        fresh = bool(request.get(FRESH))
        key = key_of(self._toolchain, request)
        found = None if fresh else self._store.get(key)
        if found is not None:
            return found
        answer, binary = self._compile("", request)
        if "log" in answer:
            self._remember(answer["log"], request, "")
            return answer, b""
        if not fresh:
            self._shared += len(binary)
            self._store.put(key, answer, binary, shared=self._shared <= MOST_SHARED)
        return answer, binary

    def _remember(self, log: str, request: dict[str, Any], further: str, kernel: str = "") -> None:
        """Keep what a compiler is at fault for; `further` is a toolchain that checks."""
        if self._ledger is None:
            return
        toolchain = further_toolchain(further) if further else self._toolchain
        fault = fault_of(log, request, toolchain, further or self._target, further=bool(further), kernel=kernel)
        if fault is not None:
            self._ledger.add(fault)

    def check(self, entries: list[dict[str, Any]], kernels: int) -> Outcome | None:
        """Compile kernels for other toolchains; return the first refusal. `kernels`: how many there are to check."""
        if len(entries) < kernels * len(self._compile_for):
            return Outcome("crashed", "the guest kept kernels back from the toolchains that check them")
        for entry in entries:
            target, name = str(entry.get("target", "")), str(entry.get("kernel", ""))
            if target not in self._compile_for:
                return Outcome("crashed", "the guest asked for a toolchain that nobody named")
            key = f"{target} {frames.digest(entry)}"
            if key not in self._refused:
                answer = {"log": str(entry["refused"])} if "refused" in entry else self._compile(target, entry)[0]
                if "log" in answer and "refused" not in entry:
                    self._remember(answer["log"], entry, target, name)
                if len(self._refused) > REFUSALS_KEPT:
                    self._refused.clear()
                self._refused[key] = answer
            log = self._refused[key].get("log")
            if log is not None:
                summary = f"kernel {name} does not compile for {target}: {last_line(log)}"
                return Outcome("compile", summary, log=log, kernel=name, compiled_for=target)
            self.counts[target] = self.counts.get(target, 0) + 1
            figures = self._refused[key].get("resources", {})
            known = {str(what): number for what, number in figures.items() if isinstance(number, int | float)}
            self.resources.setdefault(key, {"target": target, "kernel": name, **known})
        return None

    def _compile(self, target: str, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        began = time.monotonic()
        try:
            answer, binary = self._compile_once(target, request)
            if answer.pop("crashed", False) and not target:  # a target may have a way without what it crashes in
                again = self._compile_once(target, request, plain=True)
                return again if "log" not in again[0] else (answer, binary)
            return answer, binary
        finally:
            self.seconds += time.monotonic() - began

    def _compile_once(self, target: str, request: dict[str, Any], plain: bool = False) -> tuple[dict[str, Any], bytes]:
        text = {**{key: request.get(key) for key in ("text", "source", "options")}, "plain": plain}
        crashed = False
        with self._start() as guest:
            deadline = time.monotonic() + self._limit
            try:
                guest.send({"target": target, **text}, (), deadline)
                answer, binary = guest.receive(deadline)
                if "log" in answer:
                    answer["log"] = with_reasons(answer["log"], guest.heard())
                return answer, bytes(binary)
            except frames.DeadlineExceeded:
                short = log = f"the compiler did not finish within {self._limit:g} s"
            except (frames.Closed, frames.TooLarge):
                crashed = True
                short = f"the compiler crashed: {describe_end(guest.wait())}"
                # A guest is told this. What else the process has printed may be of files that the text names.
                log = "\n".join([short, *asserted(guest.output)])
        return {"log": log, "short": short, **({"crashed": True} if crashed else {})}, b""
