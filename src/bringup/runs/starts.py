"""What sessions start from: kernels of a folder, a library, a recording or a run, of the operator or of a relative."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bringup.clients.recording import RecordingSet, find_set, recorded_starts, shipped_sets
from bringup.config import RunConfig
from bringup.errors import ConfigError
from bringup.library import Library
from bringup.library.adding import OVERLOAD_SUITES
from bringup.operators import Operator
from bringup.store import find_run, open_run
from bringup.suites import get_suite

_OVERLOADS = "aten"  # the suite whose operators are overloads
_HELPERS = frozenset({"clone", "copy_", "fill_", "zero_", "_to_copy"})  # beside the work, where there is another


def starting_kernels(config: RunConfig, operators: Iterable[Operator], root: Path) -> dict[str, str]:
    """Return what the sessions start from: `refine_from`, or in a replay what the recorded sessions started from.

    Where `refine_from` has no kernel of an operator, that of the operator which it names as its start will do, else
    that of the one overload which does the work of a public operator. Such a kernel has another contract, and says so
    in its first lines.
    """
    operators = list(operators)
    if not config.refine_from:
        names = [operator.name for operator in operators]
        return recorded_starts(names, config.client.path, config.target) if config.client.name == "recorded" else {}
    relatives = _working_overloads(operators)
    wanted = {name for op in operators for name in (op.name, op.start, *relatives.get(op.name, ())) if name}
    found = kernels_of(config.refine_from, sorted(wanted), root)
    starts: dict[str, str] = {}
    for op in operators:
        there = [name for name in relatives.get(op.name, ()) if name in found]
        own = next((name for name in (op.name, op.start) if name in found), None)
        if own is not None and _is_library(config.refine_from) and not _is_overload(op):
            there = there or [own]  # libraries hold overloads: their `max` is not `torch.max`
            own = None
        if own is not None:
            starts[op.name] = found[own]
        elif there:
            starts[op.name] = _told(there[0], found[there[0]])
    return starts


def _is_overload(op: Operator) -> bool:
    """Whether an operator is an overload, and a kernel of a library has its contract."""
    return op.suite.partition(":")[0] in OVERLOAD_SUITES


def _working_overloads(operators: Iterable[Operator]) -> dict[str, list[str]]:
    """Return, for each public operator, the overloads of the one function of suite `aten` that does its work.

    Those with `out=` come first. Operators that several functions make have none.
    """
    public = [op for op in operators if not _is_overload(op) and op.overloads]
    if not public:
        return {}
    known: dict[str, list[str]] = {}
    for overload in get_suite(_OVERLOADS).operators():
        if overload.exclusion is None:
            known.setdefault(overload.name.partition(".")[0], []).append(overload.name)
    for names in known.values():
        names.sort(key=lambda name: (not name.endswith("out"), name))
    found: dict[str, list[str]] = {}
    for op in public:
        packets = {text.split(".")[1] for text in op.overloads} & known.keys()
        if len(working := packets - _HELPERS or packets) == 1:
            found[op.name] = known[working.pop()]
    return found


def _is_library(source: str) -> bool:
    return (Path(source) / "library.json").is_file()


def _told(overload: str, source: str) -> str:
    """A kernel under another contract, with a word on it in its first lines."""
    return (
        f"# This serves the overload aten::{overload}, whose caller has checked the arguments and sized the results.\n"
        f"# Its kernels are tested; the wrapper must be written for the operator that is asked for here.\n{source}"
    )


def kernels_of(source: str, operators: Iterable[str], root: Path) -> dict[str, str]:
    """Return the kernels to start from: `OP.py` of a folder, a kernel library, a shipped set of recordings, a run.

    Operators without one start from scratch. Raises ConfigError when there is none of any, and it is no library.
    """
    folder = Path(source)
    found: dict[str, str] = {}
    if folder.is_dir() and any(folder.glob("*.py")):
        for name in operators:
            file = folder / f"{name}.py"
            if file.is_file():
                try:
                    found[name] = file.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise ConfigError(str(file), f"kernel to refine cannot be read: {error}") from error
    elif _is_library(source):
        library = Library.open(folder)
        for name in operators:
            entries = [entry for entry in library.of(name) if not entry.variant]
            if entries:  # an override for one profile only where there is no other
                found[name] = library.source(min(entries, key=lambda entry: bool(entry.profile)))
    elif source in shipped_sets():
        candidates = RecordingSet(find_set(source)).candidates()
        found = {name: candidates[name].source for name in operators if name in candidates}
    else:
        with open_run(find_run(source, root)) as run:
            wanted = set(operators)
            for name, summary in run.summaries().items():
                if name in wanted and summary.candidate:
                    found[name] = run.blob(summary.candidate)
    if not found and not _is_library(source):
        raise ConfigError(f"refine_from {source}", "has no kernel of the chosen operators", "files are named OP.py")
    return found
