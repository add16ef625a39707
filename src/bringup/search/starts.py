"""Where a search begins: a file, or the best stored kernels of the same operator and platform.

The first start is what a modelled chip's fitness is measured against; further ones (the warm start) join the graph and
are timed before the search goes on. All come from what is stored already: nothing is asked, nothing is judged here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from bringup.candidate import FormatProblem, digest, parse_module
from bringup.clients.recording import RecordingSet, recorded_starts, shipped_sets
from bringup.config import RunConfig
from bringup.errors import BringupError, ConfigError
from bringup.library import Library
from bringup.operators import Operator
from bringup.search.graph import Graph
from bringup.search.policies import make_policy
from bringup.store import Run, list_runs, open_run
from bringup.targets import ported

MOST_RUNS = 300
"""Stored runs that are looked at, the latest."""


@dataclass(frozen=True)
class Start:
    """A kernel that a search begins with; `origin` says where it is from."""

    source: str
    origin: str

    @property
    def digest(self) -> str:
        """SHA-256 of its source."""
        return digest(self.source)


def find_starts(config: RunConfig, operator: Operator, root: Path) -> list[Start]:
    """Return the kernels to begin with, the start first, each source once; [] where none is stored.

    The start is `search.start`, else in a replay what the recorded search started from, else the shipped recording's
    kernel for the target, else that of the library, else the latest of a run under `root`, else a shipped kernel for
    another target. After it come at most `search.warm` others: the best nodes of earlier searches (those of
    the very same cases first), then the rest.

    Raises ConfigError for a file that cannot be used.
    """
    assert config.search is not None
    found: dict[str, Start] = {}
    if config.search.start is not None:
        start = read_start(Path(config.search.start))
        found[start.digest] = start
    elif config.client.name == "recorded" and make_policy(config.search.policy, config.search.options).asks_model:
        for text in recorded_starts([operator.name], config.client.path, config.target).values():
            start = Start(text, f"recordings {config.client.path or 'of the target'}")
            found[start.digest] = start
    searched, covered = _of_runs(config, operator, root)
    shipped = list(_shipped(config, operator))
    here = [start for start, target in shipped if target == config.target]
    elsewhere = [
        Start(ported(start.source, config.target), start.origin) for start, target in shipped if target != config.target
    ]
    for start in [*here, *_of_library(operator, config.target), *covered, *elsewhere]:
        if not found or start.digest in found:
            found.setdefault(start.digest, start)
    warm = [*searched, *covered, *_of_library(operator, config.target)]
    for start in warm:
        if len(found) > config.search.warm:
            break
        found.setdefault(start.digest, start)
    return list(found.values())


def read_start(path: Path) -> Start:
    """Read the kernel to start from; raises ConfigError naming the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--start {path}", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"--start {path}", f"not UTF-8 text: {error.reason} at byte {error.start}") from error
    parsed = parse_module(text)
    if isinstance(parsed, FormatProblem):
        raise ConfigError(f"--start {path}", parsed.explanation.partition("\n")[0], "give one module with a `wrapper`")
    return Start(parsed.source, f"file {path}")


def _shipped(config: RunConfig, operator: Operator) -> Iterator[tuple[Start, str]]:
    """Yield the shipped recordings' kernels of the operator, with the target that each was written for."""
    wanted = _suite_names(config.suite)
    for name, path in shipped_sets().items():
        recordings = RecordingSet(path)
        manifest = recordings.manifest
        if manifest is None or manifest.suite.partition(":")[0] not in wanted:
            continue
        for known in _names(operator):
            if known in recordings.operators():
                candidate = recordings.candidates([known]).get(known)
                if candidate is not None:
                    yield Start(candidate.source, f"recordings {name}"), manifest.target
                break


def _names(operator: Operator) -> tuple[str, ...]:
    """The operator, and the one of another suite whose kernel is a natural start."""
    return tuple(dict.fromkeys(filter(None, (operator.name, operator.start))))


def _suite_names(suite: str) -> set[str]:
    """The suite, and the one that its operators are taken from: `shaped?suite=aten` has those of `aten`."""
    name, _, options = suite.partition(":")
    return {name, dict(parse_qsl(options.partition("?")[2])).get("suite", "opinfo")} if name == "shaped" else {name}


def _of_library(operator: Operator, target: str) -> list[Start]:
    folder = Path(os.environ.get("BRINGUP_LIBRARY") or "kernels")
    try:
        library = Library.open(folder)
        entries = [entry for name in _names(operator) for entry in library.of(name)]
        if library.target != target:
            entries = [entry for entry in entries if any(judged.target == target for judged in entry.judged)]
        return [Start(library.source(entry), f"library {folder}: {entry.folder}") for entry in entries]
    except BringupError:
        return []  # there is none, or it is damaged: nothing of it is needed


def _of_runs(config: RunConfig, operator: Operator, root: Path) -> tuple[list[Start], list[Start]]:
    """Return what earlier runs under `root` have: the best nodes of searches, and covering candidates."""
    same: list[tuple[float, Start]] = []
    alike: list[tuple[float, Start]] = []
    covered: list[Start] = []
    for folder in reversed(list_runs(root)[-MOST_RUNS:]):
        try:
            with open_run(folder) as run:
                started = run.started
                stored = started.config
                if stored.get("target") != config.target or not any(
                    info.name in _names(operator) for info in started.operators
                ):
                    continue
                if stored.get("search"):
                    found = _best_node(run)
                    if found is not None:
                        (same if _same_cases(stored, config) else alike).append(found)
                else:
                    covered += _covering(run, operator)
        except BringupError:
            continue  # another program's folder, a run that never began: it has nothing to give
    same.sort(key=lambda item: -item[0])
    return [start for _, start in same] + [start for _, start in alike], covered


def _best_node(run: Run) -> tuple[float, Start] | None:
    best = Graph.of(run.events()).best
    if best is None or best.candidate is None or best.phase == "start":
        return None  # a start that nothing has improved is known already
    return best.fitness, Start(run.blob(best.candidate), f"search {run.id}, node {best.id}, {best.fitness:.3g}x there")


def _same_cases(stored: Mapping[str, Any], config: RunConfig) -> bool:
    assert config.search is not None
    cases = {dtype: list(indices) for dtype, indices in config.search.cases.items()}
    known = {dtype: list(indices) for dtype, indices in (stored["search"].get("cases") or {}).items()}
    return stored.get("suite") == config.suite and stored.get("seed") == config.seed and known == cases


def _covering(run: Run, operator: Operator) -> list[Start]:
    summaries = run.summaries()
    names = [name for name in _names(operator) if name in summaries and summaries[name].covered]
    return [
        Start(run.blob(candidate), f"run {run.id}")
        for name in names
        if (candidate := summaries[name].candidate) is not None
    ]
