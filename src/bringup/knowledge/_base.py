"""A knowledge base: the shipped files, and those of the user's folders after them; its index."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from bringup.errors import ConfigError, FormatError, UnknownName
from bringup.knowledge._files import KnowledgeFile, parse, read_text
from bringup.knowledge._words import ANY

INDEX = "index.md"
VARIABLE = "BRINGUP_KNOWLEDGE"
SECTIONS = ("constraints", "guidance", "hardware", "samples", "distilled")
_ABOUT = {
    "constraints": "What a candidate must not do, whatever it gains.",
    "guidance": "How to find faults, how to get faster, how Triton is written; for any platform.",
    "hardware": "What a platform or a device is like, with figures.",
    "samples": "Whole candidates, each with one technique; tests compile or run each of them.",
    "distilled": "What helped in runs, written by `bringup distill`; unreviewed until a person says otherwise.",
    "": "Files at the top.",
}


@dataclass(frozen=True)
class Fault:
    """Why a file cannot be used. `line` says which file, where and what to do."""

    path: str
    line: str


@dataclass(frozen=True)
class Base:
    """Files that were read, in the order of their folders and paths, and those that could not be."""

    files: tuple[KnowledgeFile, ...]
    faults: tuple[Fault, ...] = ()

    def get(self, path: str) -> KnowledgeFile:
        """Return a file by its path, or by the end of it if that is unambiguous; raises UnknownName."""
        wanted = path.removesuffix(".md")
        stems = {file.path.removesuffix(".md"): file for file in self.files}
        found = [stems[wanted]] if wanted in stems else [f for s, f in stems.items() if s.endswith(f"/{wanted}")]
        if len(found) != 1:
            raise UnknownName("knowledge file", path, [f.path for f in found] or stems)
        return found[0]


def shipped() -> Path:
    """Return the folder of the files that come with bringup."""
    return Path(str(files("bringup.knowledge"))) / "base"


def folders(given: Iterable[Path | str] = ()) -> tuple[Path, ...]:
    """Return the user's folders: those given, then those of $BRINGUP_KNOWLEDGE (separated as in $PATH).

    Raises ConfigError for one that is no folder.
    """
    named = [(Path(folder), "--knowledge") for folder in given]
    named += [(Path(one), VARIABLE) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    for folder, source in named:
        if not folder.is_dir():
            raise ConfigError(f"{source} {folder}", "no such folder", "give a folder of knowledge files")
    return tuple(dict.fromkeys(folder.resolve() for folder, _ in named))


def load(given: Iterable[Path | str] = (), *, with_shipped: bool = True) -> Base:
    """Read the shipped base and the user's folders (see `folders`).

    A file that cannot be used is a fault, not an error: the others serve. A file of a later folder takes the place of
    one with the same path before it.
    """
    found: dict[str, KnowledgeFile] = {}
    faults: list[Fault] = []
    bases = [_shipped()] if with_shipped else []
    bases += [read_folder(folder) for folder in folders(given)]
    for base in bases:
        found.update({file.path: file for file in base.files})
        faults += base.faults
    return Base(tuple(found.values()), tuple(faults))


@lru_cache(maxsize=1)
def _shipped() -> Base:
    return read_folder(shipped(), root="")


def read_folder(folder: Path, root: str | None = None) -> Base:
    """Read all Markdown files below a folder, without its index and hidden ones; raises ConfigError if it is none."""
    if not folder.is_dir():
        raise ConfigError(str(folder), "no such folder", "give a folder of knowledge files")
    found: list[KnowledgeFile] = []
    faults: list[Fault] = []
    for path in markdown(folder):
        try:
            text = read_text(folder / path, path)
            found.append(parse(text, path, str(folder) if root is None else root))
        except FormatError as error:
            faults.append(Fault(path, str(error)))
    return Base(tuple(found), tuple(faults))


def markdown(folder: Path) -> list[str]:
    """Return the paths of a folder's Markdown files, relative and sorted, without its index and hidden ones."""
    paths = [file.relative_to(folder) for file in folder.rglob("*.md") if file.is_file()]
    names = [path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts)]
    return sorted((name for name in names if name != INDEX), key=_order)


def _order(path: str) -> tuple[int, str]:
    section = path.split("/", 1)[0] if "/" in path else ""
    return (SECTIONS.index(section) if section in SECTIONS else len(SECTIONS), path)


def index_page(found: Sequence[KnowledgeFile]) -> str:
    """Return the index of a base as a page that people and models read: one row a file, a table for each section."""
    note = "<!-- written by `bringup knowledge index`; change the files, not this page -->"
    lines = ["# Knowledge base", "", note, ""]
    lines += [f"{len(found)} files, each about one thing. Choose by platform, then by concern, then the most specific."]
    sections = dict.fromkeys(file.section for file in sorted(found, key=lambda f: _order(f.path)))
    for section in sections:
        rows = sorted((file for file in found if file.section == section), key=lambda f: f.path)
        lines += ["", f"## {section or 'top'}", "", _ABOUT.get(section, f"Files of the folder {section}."), ""]
        lines += ["| file | about | platform | concerns | for |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| [{file.path}]({file.path}) | {_cell(file.front.title)} | {_where(file)} "
                  f"| {', '.join(file.front.concerns)} | {_cell(_for(file))} |" for file in rows]  # fmt: skip
    return "\n".join(lines) + "\n"


def index_lines(found: Iterable[KnowledgeFile]) -> str:
    """Return the index as short lines for a prompt that asks a model which files it wants."""
    return "\n".join(
        f"{file.path}: {file.front.title} [{_where(file)}; {', '.join(file.front.concerns)}"
        f"{'; unreviewed' if file.front.unreviewed else ''}]"
        for file in found
    )


def _where(file: KnowledgeFile) -> str:
    where = ", ".join(file.front.platforms)
    return f"{where} ({', '.join(file.front.devices)})" if file.front.devices else where


def _for(file: KnowledgeFile) -> str:
    return ", ".join((*file.front.operators, *file.front.kinds)) or ANY


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
