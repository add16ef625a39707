"""A kernel library on disk: a folder a kernel, an index with digests, and nothing that is trusted unread.

kernels/
  library.json            the index
  add.out/kernel.py       generated code, marked as such
  add.out/evidence.json   what its verdict rests on
  add.out@vpe-pe64_next/  an override for one profile
  add.out+large/          a variant for some calls
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from bringup.files import write_atomically
from bringup.library import _index
from bringup.library._index import EVIDENCE, INDEX, KERNEL, Entry, Judged
from bringup.library.errors import LibraryError

MARK = "# ---------------------------------------------------------------- what was judged begins below this line"
ATTRIBUTES = "*/kernel.py linguist-generated\n*/evidence*.json linguist-generated\n"


def sha256(data: bytes) -> str:
    """Return the digest that indexes hold."""
    return hashlib.sha256(data).hexdigest()


def kernel_text(overload: str, source: str, target: str) -> str:
    """Return the text of `kernel.py`: a note that it is generated, and the candidate's source untouched."""
    return (
        f"# Generated: the kernel of aten::{overload} for {target}, made with bringup. Do not edit: its digest is in\n"
        "# library.json, and an edited file is refused. `bringup library add --replace` replaces kernels.\n"
        f"{MARK}\n{source}"
    )


def source_of(text: str) -> str:
    """Return the candidate's source out of a `kernel.py`."""
    return text.partition(f"{MARK}\n")[2]


class Library:
    """A library that was opened. Files are read when asked for, and refused when they are not what the index says."""

    def __init__(self, path: Path, target: str, entries: Iterable[Entry]) -> None:
        """Use `Library.open` or `Library.create`."""
        self.path = path
        self.target = target
        self.entries = list(entries)

    @classmethod
    def open(cls, path: str | Path) -> Library:
        """Open the library in a folder; raises LibraryError."""
        folder = Path(path).expanduser().absolute()
        return cls(folder, *_index.load(folder / INDEX))

    @classmethod
    def create(cls, path: str | Path, target: str) -> Library:
        """Make an empty library for a target (`vpe:pe64`), or open the one that is there; raises LibraryError."""
        folder = Path(path).expanduser().absolute()
        if (folder / INDEX).exists():
            return cls.open(folder)
        try:
            if folder.exists() and any(folder.iterdir()):
                raise LibraryError(f"{folder}: is not empty and no kernel library; choose another folder")
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / ".gitattributes", ATTRIBUTES.encode())
            write_atomically(folder / INDEX, _index.dump(target, ()).encode())
        except OSError as error:
            raise LibraryError(f"{folder}: no library can be made there: {error.strerror}") from error
        return cls(folder, target, ())

    def find(self, overload: str, profile: str = "", variant: str = "") -> Entry | None:
        """Return an entry, or None."""
        return next((entry for entry in self.entries if entry.key == (overload, profile, variant)), None)

    def of(self, overload: str) -> list[Entry]:
        """Return all entries of an overload: overrides and variants too."""
        return [entry for entry in self.entries if entry.overload == overload]

    def overloads(self) -> list[str]:
        """Return the overloads that have a kernel, sorted."""
        return sorted({entry.overload for entry in self.entries})

    def file(self, entry: Entry, name: str = KERNEL) -> Path:
        """Return the path of one of an entry's files."""
        return self.path / entry.folder / name

    def text(self, entry: Entry) -> str:
        """Return an entry's `kernel.py`; raises LibraryError when it is not the file that the index names."""
        path = self.file(entry)
        data = _read(path)
        if sha256(data) != entry.kernel:
            raise LibraryError(
                f"{path}: was edited or damaged: its digest is not the one in {INDEX}. Restore it, or judge the new "
                f"text and add it: bringup library add {path} --op {entry.overload} -l {self.path} --replace"
            )
        return data.decode("utf-8")

    def source(self, entry: Entry) -> str:
        """Return the source that was judged; raises LibraryError."""
        source = source_of(self.text(entry))
        if sha256(source.encode()) != entry.candidate:
            raise LibraryError(
                f"{self.file(entry)}: holds another source than the one that was judged. Restore it, or judge this one "
                f"and add it: bringup library add {self.file(entry)} --op {entry.overload} -l {self.path} --replace"
            )
        return source

    def evidence(self, entry: Entry, judged: Judged) -> bytes:
        """Return a file of evidence; raises LibraryError when it is not the one that the index names."""
        path = self.file(entry, judged.evidence)
        data = _read(path)
        if sha256(data) != judged.digest:
            raise LibraryError(f"{path}: was edited or damaged: its digest is not the one in {INDEX}; restore it")
        return data

    def problems(self) -> dict[str, str]:
        """Check every file against the index; return what is wrong by folder. Folders nobody lists are wrong too."""
        found: dict[str, str] = {}
        for entry in self.entries:
            try:
                self.source(entry)
                for judged in entry.judged:
                    self.evidence(entry, judged)
            except LibraryError as error:
                found[entry.folder] = str(error)
        listed = {entry.folder for entry in self.entries}
        for path in sorted(self.path.iterdir()):
            if path.is_dir() and not path.name.startswith(".") and path.name not in listed:
                found[path.name] = f"{path}: a folder that the index does not list; it is never loaded, remove it"
        return found

    # ---------------------------------------------------------------- changes

    def put(
        self, entry: Entry, source: str, evidence: Iterable[tuple[Judged, bytes]] = (), *, replaces: bool = False
    ) -> Entry:
        """Write a kernel with its evidence, and list it; digests are made here. Raises LibraryError.

        An entry of the same overload, profile and variant is an error unless `replaces`.
        """
        with self._changing():
            old = self.find(*entry.key)
            if old is not None and not replaces:
                raise LibraryError(f"{self.path}: has {old.folder} already; --replace puts this kernel in its place")
            judged = []
            folder = _index.folder_of(*entry.key)
            staged = self.path / f".{folder}.new"
            shutil.rmtree(staged, ignore_errors=True)
            staged.mkdir()
            for number, (one, data) in enumerate(evidence):
                name = EVIDENCE if number == 0 else f"evidence-{number + 1}.json"
                (staged / name).write_bytes(data)
                judged.append(replace(one, evidence=name, digest=sha256(data)))
            for_target = judged[0].target if judged else entry.profile or self.target
            text = kernel_text(entry.overload, source, for_target).encode()
            (staged / KERNEL).write_bytes(text)
            made = replace(
                entry,
                folder=folder,
                kernel=sha256(text),
                candidate=sha256(source.encode()),
                judged=tuple(judged),
            )
            entries = [one for one in self.entries if one.key != entry.key] + [made]
            _index.check_calls(entries, str(self.path))
            final = self.path / folder
            if final.exists():
                shutil.rmtree(final)
            staged.rename(final)
            self._save(entries)
        return made

    def add_evidence(self, entry: Entry, judged: Judged, data: bytes) -> Entry:
        """Note another judgement that a kernel passed: on another chip, or with other versions. Raises LibraryError."""
        with self._changing():
            current = self.find(*entry.key)
            if current is None:
                raise LibraryError(f"{self.path}: {entry.folder} is not there any more")
            same = [j for j in current.judged if _conditions(j) == _conditions(judged)]
            kept = tuple(j for j in current.judged if j not in same)
            taken = {j.evidence for j in kept}
            name = next(n for n in (EVIDENCE, *(f"evidence-{i}.json" for i in range(2, 1000))) if n not in taken)
            self.file(current, name).write_bytes(data)
            made = replace(current, judged=(*kept, replace(judged, evidence=name, digest=sha256(data))))
            self._save([one for one in self.entries if one.key != entry.key] + [made])
        return made

    def restate(self, entry: Entry, judged: tuple[Judged, ...]) -> None:
        """Put other summaries of the same files of evidence into the index. Raises LibraryError."""
        with self._changing():
            current = self.find(*entry.key)
            if current is None:
                raise LibraryError(f"{self.path}: {entry.folder} is not there any more")
            made = replace(current, judged=judged)
            self._save([one for one in self.entries if one.key != entry.key] + [made])

    def remove(self, entry: Entry) -> None:
        """Take a kernel out of the library; raises LibraryError."""
        with self._changing():
            self._save([one for one in self.entries if one.key != entry.key])
            shutil.rmtree(self.path / entry.folder, ignore_errors=True)

    def _save(self, entries: list[Entry]) -> None:
        write_atomically(self.path / INDEX, _index.dump(self.target, entries).encode())
        self.entries = entries

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """One process changes a library at a time, and starts from what the others have left."""
        try:
            lock = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)  # the folder: the index's file is replaced
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self.target, self.entries = _index.load(self.path / INDEX)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            raise LibraryError(f"{self.path}: cannot be changed: {error.strerror or error}") from error


def _conditions(judged: Judged) -> tuple[str, ...]:
    return judged.suite, judged.target, judged.chip, judged.torch, judged.triton


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LibraryError(f"{path}: cannot be read: {error.strerror}; the library is damaged, restore it") from error
