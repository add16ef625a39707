"""The measurement that lies beside the kernels of a library: compact, and checked against the kernels by digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bringup.coverage._library import chosen_library, kernel_digests
from bringup.coverage.records import Header, OperatorResult, Results
from bringup.errors import ConfigError
from bringup.files import write_atomically

FAILURES = 3  # of an operator, that a shipped measurement keeps; how many of each kind there were, it says for all


def file_name(target: str) -> str:
    """Return the name of a target's measurement: `coverage-vpe-pe64.jsonl`."""
    return f"coverage-{target.replace(':', '-')}.jsonl"


@dataclass(frozen=True)
class Changes:
    """How a library differs from the one that was measured: overloads."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)

    def __str__(self) -> str:
        parts = [
            f"{len(names)} {word}"
            for names, word in ((self.new, "new"), (self.changed, "changed"), (self.gone, "removed"))
            if names
        ]
        return f"kernels since: {', '.join(parts)}"


def changes(measured: Mapping[str, str] | None, folder: Path | None) -> Changes | None:
    """Compare the kernels of a measurement with a library's, by digests; None where it does not say which it had.

    A digest covers the kernels' text, their conditions, and for which target, versions and dtypes they were judged.
    """
    if measured is None:
        return None
    now = kernel_digests(folder)
    return Changes(
        tuple(sorted(now.keys() - measured.keys())),
        tuple(sorted(name for name in now.keys() & measured.keys() if now[name] != measured[name])),
        tuple(sorted(measured.keys() - now.keys())),
    )


def stale(header: Header, folder: Path | None) -> str:
    """Say in one line that a measurement is not of a library as it is now; "" where it is."""
    found = changes(header.kernels, folder)
    if not found:
        return ""
    return f"{found}; measure what they concern: bringup coverage --target {header.target} --refresh"


def ship(source: Path, library: Path | None = None) -> Path:
    """Write a measurement beside the kernels that it is of, for `bringup plan` and `--refresh` to find.

    What does not matter elsewhere is left out: seconds, most of the failing cases, the library's path.

    Args:
        source: File of `bringup coverage`.
        library: Folder of the library; None takes the one that is meant here.

    Raises FormatError for a file that is no measurement, and ConfigError for one that is not whole, not of these
    kernels, or of kernels that no library of bringup's holds.
    """
    results = Results.read(source)
    header = results.header
    folder, _ = chosen_library(library)
    if folder is None or header.enable or not header.library_digest:
        raise ConfigError(str(source), "not a measurement of a library of kernels", "nothing to lay it beside")
    if len(results.operators) < header.eligible:
        raise ConfigError(
            str(source),
            f"has {len(results.operators)} of {header.eligible} names",
            "end it with the command that began it",
        )
    if (found := changes(header.kernels, folder)) is None or found:
        raise ConfigError(
            str(source), f"not of the kernels in {folder}{f' ({found})' if found else ''}",
            f"bring it up to date: bringup coverage --target {header.target} --out {source} --refresh",
        )  # fmt: skip
    path = folder / file_name(header.target)
    shown = header.model_copy(update={"library": folder.name})
    lines = [shown.model_dump_json()]
    lines += [_compact(one).model_dump_json(exclude_defaults=True) for _, one in sorted(results.operators.items())]
    try:
        write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise ConfigError(str(path), f"cannot be written: {error.strerror}") from None
    return path


def _compact(result: OperatorResult) -> OperatorResult:
    return result.model_copy(update={"seconds": 0.0, "failures": result.failures[:FAILURES]})


__all__ = ["Changes", "changes", "file_name", "ship", "stale"]
