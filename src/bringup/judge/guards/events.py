"""Host events: what the wrapper does to the interpreter and the system around it, as CPython's audit hooks tell."""

from __future__ import annotations

import builtins
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from bringup.judge._loader import FILENAME
from bringup.judge.guards._base import Finding, Watch
from bringup.judge.guards._frames import candidate_line

# Modules that a candidate may import, with all below torch and triton: those import lazily in C, in the name of the
# Python code that called them, and what a candidate does with them is the other guards' business.
IMPORTS = frozenset(
    {"__future__", "abc", "builtins", "collections", "collections.abc", "contextlib", "dataclasses", "enum"}
    | {"functools", "itertools", "math", "numbers", "operator", "torch", "triton", "typing", "warnings"}
)
# Seen when the candidate's own frame is the one that does it.
DIRECT = ("compile", "exec", "import", "sys._getframe", "object.__getattr__", "object.__setattr__", "builtins.input")
# Seen when the candidate does it through the standard library as well.
THROUGH_LIBRARY = (
    "_thread.",
    "code.",
    "ctypes.",
    "function.",
    "gc.",
    "marshal.",
    "mmap.",
    "open",
    "os.",
    "pickle.",
    "pty.",
    "resource.",
    "shutil.",
    "signal.",
    "socket.",
    "sqlite3.",
    "subprocess.",
    "sys.",
    "tempfile.",
    "urllib.",
    "webbrowser.",
)
QUIET_READERS = ("linecache.py", "tokenize.py", "traceback.py", "warnings.py", "inspect.py")
GUARDED = ("eval", "exec", "compile", "open", "input", "breakpoint", "globals", "locals", "vars", "__import__")
STDLIB = sysconfig.get_paths()["stdlib"]


class HostEvents(Watch):
    """Imports, generated code, files, processes, threads, sockets, frames: none is a wrapper's business."""

    id = "host-events"
    catches = "eval, exec, imports, ctypes, files, sockets, processes, threads, frames, garbage collector, pickle"
    misses = "modules reached as attributes of others (torch.os), until they do something that CPython reports"
    advice = "the wrapper may use torch, triton, tl and math as provided, and plain Python"

    def __init__(self, target: Any, facts: dict[str, Any]) -> None:
        """Start deaf: what the worker itself does is not the candidate's."""
        super().__init__(target, facts)
        self.listening = False
        self.busy = False

    def start(self) -> None:
        """Install the hook; CPython has no way to remove it."""
        sys.addaudithook(self._hear)

    @contextmanager
    def around(self, mode: dict[str, Any]) -> Iterator[None]:
        """Listen to one call."""
        self.listening = True
        try:
            yield
        finally:
            self.listening = False

    @contextmanager
    def outside(self) -> Iterator[None]:
        """A launch compiles, opens files and starts compilers: not the wrapper's doing."""
        was, self.listening = self.listening, False
        try:
            yield
        finally:
            self.listening = was

    def inside(self) -> AbstractContextManager[None]:
        """Listen to the wrapper's own code."""
        return self.around({})

    def builtins(self) -> dict[str, Any]:
        """Return the builtins that the candidate's module gets: the known ways out report themselves.

        CPython tells of an import only when the module is new to the process, which most useful ones are not.
        """
        names = dict(vars(builtins))
        for name in GUARDED:
            names[name] = self._reporting(name, names[name])
        return names

    def _reporting(self, name: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.busy = True  # looking at frames is an event itself
            frame = sys._getframe(1)
            if not (name == "__import__" and _may_import(args, kwargs)):
                what = f"{name} {args[0]}" if name == "__import__" and args else f"{name}()"
                self.findings.append(Finding(self.id, f"the candidate calls {what}", candidate_line(frame)))
            names = (frame.f_globals, frame.f_locals)
            self.busy = False
            if name in {"globals", "locals", "vars"} and not args:
                return names[0] if name == "globals" else names[1]  # asked here they would answer for this frame
            if name in {"eval", "exec"} and len(args) == 1 and not kwargs:
                return function(args[0], *names)
            return function(*args, **kwargs)

        return call

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.listening or self.busy:
            return
        self.busy = True  # looking at frames is an event itself
        try:
            self._look(event, args)
        finally:
            self.busy = False

    def _look(self, event: str, args: tuple[Any, ...]) -> None:
        direct, through = event in DIRECT, event.startswith(THROUGH_LIBRARY)
        if not (direct or through):
            return
        frame: Any = sys._getframe(2)
        while frame is not None and _is_passage(frame.f_code.co_filename, through):
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename != FILENAME:
            return
        if event == "import" and _may_import(args, {}):
            return
        if event == "open" and _quiet(sys._getframe(2)):
            return
        what = f"the wrapper causes '{event}' {_detail(args)}".rstrip()
        self.findings.append(Finding(self.id, what, candidate_line(frame)))


def _may_import(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    name = str(args[0] if args else kwargs.get("name", ""))
    return name in IMPORTS or name.partition(".")[0] in {"torch", "triton"}


def _is_passage(filename: str, through_library: bool) -> bool:
    # Code without a file is Triton's argument binder or code that the candidate made, which was told of when made.
    if filename == __file__ or filename.startswith("<"):
        return True
    return through_library and filename.startswith(STDLIB) and "site-packages" not in filename


def _quiet(frame: Any) -> bool:
    while frame is not None and frame.f_code.co_filename != FILENAME:
        if frame.f_code.co_filename.endswith(QUIET_READERS):
            return True
        frame = frame.f_back
    return False


def _detail(args: tuple[Any, ...]) -> str:
    try:
        return ", ".join(repr(item)[:80] for item in args[:2])
    except Exception:
        return ""
