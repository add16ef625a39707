"""Which candidates an audit is about: a file, a folder of them, a run's covering candidates, recorded dialogs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bringup.candidate import Candidate
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import suite_with
from bringup.errors import ConfigError, FormatError
from bringup.library import Library
from bringup.store import Run


@dataclass(frozen=True)
class Subject:
    """One candidate to audit."""

    operator: str
    candidate: Candidate
    origin: str
    covered: bool | None = None  # what its run says; None: nobody knows


@dataclass(frozen=True)
class Subjects:
    """The candidates of one audit, what they were made for, and what could not be taken."""

    subjects: tuple[Subject, ...]
    target: str | None = None
    dtypes: tuple[str, ...] | None = None
    suite: str = "opinfo"
    left_out: dict[str, str] = field(default_factory=dict)  # operator -> reason


def of_file(operator: str, file: Path) -> Subjects:
    """Return the candidate in one file; raises FormatError."""
    return Subjects((Subject(operator, Candidate(source=_read(file)), str(file)),))


def of_library(folder: Path, known: Iterable[str]) -> Subjects:
    """Return the candidates of a folder of `OP.py` files; a file of another name is left out with the reason.

    Raises ConfigError when there is none.
    """
    names = set(known)
    found, left_out = [], {}
    if not folder.is_dir():
        raise ConfigError(f"--library {folder}", "is no folder", "give one with files named OP.py")
    for file in sorted(folder.glob("*.py")):
        if file.stem in names:
            found.append(Subject(file.stem, Candidate(source=_read(file)), str(file)))
        else:
            left_out[file.stem] = "no operator of the suite has this name"
    if not found:
        raise ConfigError(f"--library {folder}", "holds no candidate", "files are named OP.py")
    return Subjects(tuple(found), left_out=left_out)


def of_kernels(folder: Path) -> Subjects:
    """Return the kernels of a library on disk (`kernels/`); raises LibraryError.

    Overrides and variants are left out: they are not for all calls.
    """
    library = Library.open(folder)
    found, left_out = [], {}
    for entry in library.entries:
        if entry.profile or entry.variant:
            left_out[entry.folder] = "an override or a variant, which is not for all calls"
        else:
            candidate = Candidate(source=library.source(entry))
            found.append(Subject(entry.overload, candidate, f"library {folder.resolve().name}"))
    return Subjects(tuple(found), target=library.target, suite="aten", left_out=left_out)


def of_recordings(name: str, known: Iterable[str] | None = None) -> Subjects:
    """Return the last candidate of each recorded dialog of a set: shipped, by name, or at a path.

    Operators that are not `known` are left out with the reason: another PyTorch may lack some.
    """
    recordings = RecordingSet(find_set(name))
    candidates = recordings.candidates()
    manifest = recordings.manifest
    names = set(candidates if known is None else known)
    left_out = {
        operator: "no reply holds a candidate" for operator in recordings.operators() if operator not in candidates
    }
    left_out |= {operator: "no operator of the suite has this name" for operator in candidates if operator not in names}
    subjects = (Subject(operator, one, f"recordings {name}") for operator, one in candidates.items())
    return Subjects(
        tuple(subject for subject in subjects if subject.operator in names),
        target=manifest.target if manifest is not None and manifest.target else None,
        left_out=left_out,
    )


def of_run(run: Run) -> Subjects:
    """Return the covering candidates of a run; operators that it did not cover are left out."""
    config: dict[str, Any] = dict(run.config())
    found, left_out = [], {}
    for name, summary in run.summaries().items():
        if summary.covered and summary.candidate:
            candidate = Candidate(source=run.blob(summary.candidate))
            found.append(Subject(name, candidate, f"run {run.id}", covered=True))
        elif summary.applicable:
            left_out[name] = "not covered by the run"
    if not found:
        raise ConfigError(f"run {run.id}", "has covered no operator", "an audit needs candidates that passed the gate")
    suite, additions = str(config.get("suite", "opinfo")), config.get("additions")
    return Subjects(
        tuple(found),
        target=str(config["target"]) if config.get("target") else None,
        dtypes=tuple(config.get("dtypes") or ()) or None,
        suite=suite_with(suite, None if additions is None else str(additions)),
        left_out=left_out,
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{file}: not UTF-8 text: {error.reason} at byte {error.start}") from error
