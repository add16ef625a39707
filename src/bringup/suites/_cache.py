"""Facts that only a process with torch can find out: computed once in a helper process and kept in a cache."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from bringup.errors import EnvironmentFault
from bringup.files import write_atomically

S = TypeVar("S")
Progress = Callable[[int, int, str], None]  # done, total, name of the operator just done


@functools.cache
def torch_version() -> str:
    """Return the installed torch's version without its build tag, not importing it: `2.13.0`."""
    try:
        return importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError as error:
        raise EnvironmentFault("torch is not installed; install bringup with its dependencies") from error


@functools.cache
def torch_build() -> str:
    """Return the installed torch's full version, build tag included: `2.13.0+cpu`."""
    return importlib.metadata.version("torch") if torch_version() else ""


def cache_directory() -> Path:
    """Return bringup's folder below XDG_CACHE_HOME (default `~/.cache`)."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "bringup"


def device_locks() -> Path:
    """Return the folder of the locks of devices (`bringup.device.sharing`)."""
    return cache_directory().parent / "bringup-devices"


def load_survey_file(kind: str, module: str, read: Callable[[bytes, str], S | None], progress: Progress | None) -> S:
    """Return the survey `KIND` of the installed torch: shipped, else from the cache, else made now by `module`.

    `read(data, name)` returns None for a file of another format, which is passed over. Raises EnvironmentFault as
    `run_module` does, and where what was made now is of another format, too.
    """
    short = ".".join(torch_version().split(".")[:2])
    shipped = files("bringup.suites").joinpath("data", f"{kind}-{short}.json.gz")
    if shipped.is_file():
        survey = read(shipped.read_bytes(), shipped.name)
        if survey is not None:
            return survey
    name = f"{kind}-{torch_build()}.json.gz"
    data = cached(name)
    survey = read(data, name) if data is not None else None
    if survey is None:
        survey = read(compute(module, name, progress), name)
    if survey is None:
        raise EnvironmentFault(f"{name}: survey of another format; reinstall bringup")
    return survey


def compute(module: str, name: str, progress: Progress | None = None) -> bytes:
    """Run `python -m MODULE FILE` and return what it wrote; kept as `name` in the cache when that can be written.

    Raises EnvironmentFault as `run_module` does.
    """
    data = run_module(module, (), progress)
    keep(name, data)
    return data


def run_module(module: str, arguments: Sequence[str] = (), progress: Progress | None = None) -> bytes:
    """Run `python -m MODULE FILE ARGUMENTS` and return what it wrote into the file.

    The program reports progress as JSON lines {"done", "total", "name"} on stdout. Raises EnvironmentFault with the
    end of its error output when it fails.
    """
    with tempfile.TemporaryDirectory(prefix="bringup-") as scratch:
        out = Path(scratch) / "out"
        errors = Path(scratch) / "errors"
        command = [sys.executable, "-m", module, str(out), *arguments]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
        with (
            errors.open("wb") as stderr,
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                _report(line, progress)
        if process.returncode or not out.is_file():
            tail = errors.read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
            raise EnvironmentFault(f"{module} failed (exit code {process.returncode}): {tail[0]}")
        return out.read_bytes()


def _report(line: str, progress: Progress | None) -> None:
    if progress is None or not line.startswith("{"):
        return
    try:
        step = json.loads(line)
        progress(step["done"], step["total"], step["name"])
    except (ValueError, KeyError, TypeError):
        return  # something that the library printed


def cached(name: str) -> bytes | None:
    """Return a file of the cache, or None when it is not there or cannot be read."""
    try:
        return (cache_directory() / name).read_bytes()
    except OSError:
        return None


def keep(name: str, data: bytes) -> None:
    """Write a file of the cache at once or not at all; a cache that cannot be written is no error."""
    path = cache_directory() / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data, durable=False)
    except OSError:
        return
