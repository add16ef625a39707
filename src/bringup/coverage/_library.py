"""Which library a measurement is of. Imports no torch."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from bringup.candidate import digest
from bringup.library import Library
from bringup.library._index import INDEX
from bringup.library.enabling import library_of_command


def chosen_library(given: Path | None) -> tuple[Path | None, str]:
    """Return the folder of the library that is meant and a digest of what is in it; None where there is none.

    `given`, else `$BRINGUP_LIBRARY` (set to nothing: none), else `kernels` here, else the one that ships. Raises
    LibraryError for a folder that is no library.
    """
    path = given if given is not None else library_of_command()
    if path is None:
        return None, ""
    opened = Library.open(path)
    return opened.path.resolve(), digest((opened.path / INDEX).read_text(encoding="utf-8"))


def kernel_digests(folder: Path | None) -> dict[str, str]:
    """Return a digest of what a library has for each overload: kernels, conditions, and for what they were judged.

    The dtypes of the judged cases belong to it, since they decide which calls are served.
    """
    if folder is None:
        return {}
    library = Library.open(folder)
    found = {}
    for name in library.overloads():
        entries = []
        for entry in library.of(name):
            facts = asdict(entry)
            facts["judged"] = sorted([j.target, j.chip, j.torch, j.triton, j.argument_dtypes] for j in entry.judged)
            entries.append(facts)
        found[name] = digest(json.dumps(entries, sort_keys=True, default=str))
    return found
