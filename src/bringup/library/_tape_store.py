"""Tapes of sealed kernels on disk, so that the next process asks guests only for what no process has called before.

One file for each kernel, target, toolchain, PyTorch and bringup, to which a line is added for each tape, with a digest
of it; damaged lines, and tapes whose compiled kernels are gone, are as good as none. It lies in the user's folder of
caches, which no guest reaches.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import bringup
from bringup.judge._kernels import sweep, user_cache
from bringup.library._compiled import Compiled
from bringup.library._numbers import Lane, Pattern
from bringup.library._room import View
from bringup.library._steps import WORD, Allocate, Alternative, Copy, Free, Launch, Step, Upload
from bringup.library._tapes import Reading, Returned, Tape
from bringup.vpe import state

MOST_LINE, MOST_FILE = 256 << 10, 32 << 20  # bytes; what is longer is not kept
MOST_TOGETHER = 256 << 20
_DIGITS = 16
KernelOf = Callable[[str], Compiled | None]


def tapes_folder() -> Path:
    """Where tapes are kept."""
    return Path(user_cache()) / "bringup" / "tapes"


class TapeStore:
    """The tapes of one kernel. Reads and writes what it can, and raises nothing."""

    def __init__(self, path: Path | None, kernel_of: KernelOf) -> None:
        """`path`: its file, None for none; `kernel_of`: a compiled kernel by its key, None where it is gone."""
        self._path, self._kernel_of = path, kernel_of
        self._lines: dict[str, list[dict[str, Any]]] | None = None

    def tapes(self, call: object) -> list[Tape]:
        """The tapes of a call, by its key: several where values that it reads decide."""
        made = [self._made(told) for told in self._read(f"call {call!r}")]
        return [tape for tape in made if tape is not None]

    def pattern(self, kind: object) -> Pattern | None:
        """What the calls of a kind have in common; None where one was wrong once, whoever has written after that."""
        if self.was_wrong(kind):
            return None
        for told in self._read(f"kind {kind!r}")[-1:]:
            tape = self._made(told)
            return None if tape is None else Pattern(tape, tuple(Lane(*one) for one in told["lanes"]))
        return None

    def keep(self, call: object, tape: Tape) -> None:
        """Add a tape."""
        self._add(f"call {call!r}", _told(tape))

    def keep_pattern(self, kind: object, pattern: Pattern) -> None:
        """Add a pattern."""
        lanes = [astuple(lane) for lane in pattern.lanes]
        self._add(f"kind {kind!r}", {**_told(pattern.tape), "lanes": lanes})

    def drop_pattern(self, kind: object) -> None:
        """Note that a pattern was wrong: calls of this kind have nothing in common."""
        self._add(f"kind {kind!r}", {"wrong": True}, always=True)

    def was_wrong(self, kind: object) -> bool:
        """Whether a pattern of this kind was."""
        return any(told.get("wrong") for told in self._read(f"kind {kind!r}"))

    # Lines -----------------------------------------------------------------------------------------------------

    def _read(self, name: str) -> list[dict[str, Any]]:
        if self._lines is None:
            self._lines = self._load()
        return self._lines.get(_digest(name), [])

    def _load(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        try:
            lines = self._path.read_bytes().splitlines() if self._path is not None else []
            if self._path is not None:
                os.utime(self._path)  # the oldest ones go first
        except OSError:
            return found
        for line in lines:
            if hashlib.sha256(line[_DIGITS + 1 :]).hexdigest()[:_DIGITS].encode() != line[:_DIGITS]:
                continue
            try:
                told = json.loads(line[_DIGITS + 1 :])
                found.setdefault(told["of"], []).append(told)
            except (LookupError, TypeError, ValueError):
                continue
        return found

    def _add(self, name: str, told: dict[str, Any], always: bool = False) -> None:
        if self._path is None:
            return
        text = json.dumps({"of": _digest(name), **told}).encode()
        line = hashlib.sha256(text).hexdigest()[:_DIGITS].encode() + b" " + text + b"\n"
        if len(line) > MOST_LINE:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # In one piece, so that lines of two processes do not mix.
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                if always or os.fstat(descriptor).st_size < MOST_FILE:
                    os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            _warn_once(f"{self._path.parent}: {error.strerror or error}")
            self._path = None

    # Tapes -----------------------------------------------------------------------------------------------------

    def _made(self, told: dict[str, Any]) -> Tape | None:
        try:
            return self._tape(told)
        except (_Gone, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None

    def _tape(self, told: dict[str, Any]) -> Tape:
        steps = tuple(self._step(*one) for one in told["steps"])
        returned = Returned(told["result"], told["after"], told["storages"])
        readings = tuple(
            Reading(after, _view(what), base64.b64decode(found)) for after, what, found in told["readings"]
        )
        return Tape(steps, returned, tuple(told["sizes"]), readings)

    def _step(self, kind: str, *told: Any) -> Step:
        if kind == "allocate":
            return Allocate(*told)
        if kind == "free":
            return Free(*told)
        if kind == "copy":
            return Copy(_view(told[0]), _view(told[1]))
        if kind == "upload":
            return Upload(_view(told[0]), bytearray(base64.b64decode(told[1])))
        key, grid, constants, packed, pointers, others, choice = told
        one = self._kernel(key, grid, constants)
        words = np.frombuffer(base64.b64decode(packed), WORD).copy()
        alternatives = tuple(self._kernel(*other) for other in others)
        return Launch(one.kernel, one.grid, one.named, words, _tuples(pointers), alternatives, choice)

    def _kernel(self, key: str, grid: Sequence[int], constants: dict[str, Any]) -> Alternative:
        compiled = self._kernel_of(key)
        if compiled is None:
            raise _Gone
        facts = compiled.facts
        named = SimpleNamespace(
            name=facts.name, constants=constants, profile=state.profile(), key=key, flows=facts.facts.get("flows")
        )
        first, second, third = grid
        return Alternative(compiled.kernel, (first, second, third), named)


class _Gone(Exception):
    """A compiled kernel is not there any more."""


def _told(tape: Tape) -> dict[str, Any]:
    answer = tape.answer
    return {
        "steps": [_step_told(step) for step in tape.steps], "result": answer.result, "after": answer.after,
        "storages": answer.storages, "sizes": tape.sizes,
        "readings": [[one.after, _view_told(one.what), base64.b64encode(one.found).decode()] for one in tape.readings],
    }  # fmt: skip


def _step_told(step: Step) -> list[Any]:
    if isinstance(step, Allocate):
        return ["allocate", step.nbytes]
    if isinstance(step, Free):
        return ["free", step.region]
    if isinstance(step, Copy):
        return ["copy", _view_told(step.source), _view_told(step.target)]
    if isinstance(step, Upload):
        return ["upload", _view_told(step.target), base64.b64encode(step.values).decode()]
    packed = base64.b64encode(step.packed.tobytes()).decode()
    others = [[one.named.key, one.grid, one.named.constants] for one in step.alternatives]
    return ["launch", step.named.key, step.grid, step.named.constants, packed, step.pointers, others, step.choice]


def _view_told(view: View) -> list[Any]:
    return [view.region, view.offset, str(view.dtype).removeprefix("torch."), view.size, view.stride]


def _view(told: list[Any]) -> View:
    region, offset, dtype, size, stride = told
    return View(region, offset, getattr(torch, dtype), tuple(size), tuple(stride))


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _tuples(told: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(one) for one in told)


def file_of(source: str, overload: str, target: str, toolchain: str) -> Path:
    """The file of a kernel's tapes, of calls of one overload: each is held to its own rules."""
    parts = [source, overload, target, toolchain, torch.__version__, _ours()]
    return tapes_folder() / f"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}.jsonl"


@functools.cache
def _ours() -> str:
    """Changes with every line of what makes tapes, runs them, and says what calls are held to."""
    digest = hashlib.sha256()
    root = Path(bringup.__file__).resolve().parent
    made = [(root / part).rglob("*.py") for part in ("judge", "device", "library", "vpe", "targets")]
    held = [(root / part).glob("*.py") for part in ("suites", "linter", "operators")]
    for path in sorted(itertools.chain(*made, *held)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _warn_once(problem: str) -> None:
    warnings.warn(
        f"tapes of sealed kernels cannot be kept, so that every process asks guests anew: {problem}; "
        "let XDG_CACHE_HOME name a folder that can be written",
        stacklevel=1,
    )


def tidy() -> None:
    """Remove the files that were used longest ago, where all have grown too large."""
    sweep(tapes_folder(), "*.jsonl", MOST_TOGETHER)
