"""The index of a library, `library.json`: which kernels there are, their digests, and what each was judged for.

Reading it imports neither pydantic nor torch: `bringup.enable` reads it in every process that uses a library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bringup.library.errors import LibraryError

FORMAT = 1
INDEX = "library.json"
KERNEL = "kernel.py"
EVIDENCE = "evidence.json"


@dataclass(frozen=True)
class Judged:
    """One judgement that a kernel passed. Its file of evidence says the rest."""

    suite: str
    operator: str
    target: str
    chip: str
    """Digest of the target's figures; empty where a target has none."""
    torch: str
    triton: str
    cases: int
    dtypes: tuple[str, ...]
    evidence: str
    """The file's name, beside the kernel."""
    digest: str
    """SHA-256 of that file."""
    argument_dtypes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The dtypes that the cases gave to each argument, by position ("0") or keyword ("out")."""


@dataclass(frozen=True)
class When:
    """The calls that a variant of a kernel is for; an empty field admits all."""

    dtypes: tuple[str, ...] = ()
    """Of the first tensor."""
    ranks: tuple[int, ...] = ()
    """Number of dimensions of the first tensor."""
    min_elements: int | None = None
    """Elements of the largest tensor among the arguments."""
    max_elements: int | None = None
    contiguous: bool = False
    """All tensors are dense and row-major."""

    def __str__(self) -> str:
        """As `parse_when` reads it."""
        parts = []
        if self.dtypes:
            parts.append(f"dtype={'|'.join(self.dtypes)}")
        if self.ranks:
            parts.append(f"rank={'|'.join(map(str, self.ranks))}")
        if self.min_elements is not None:
            parts.append(f"elements>={self.min_elements}")
        if self.max_elements is not None:
            parts.append(f"elements<={self.max_elements}")
        if self.contiguous:
            parts.append("contiguous")
        return ",".join(parts)

    def admits(self, dtype: str, rank: int, elements: int, contiguous: bool) -> bool:
        """Whether a call is one of those."""
        return (
            (not self.dtypes or dtype in self.dtypes)
            and (not self.ranks or rank in self.ranks)
            and (self.min_elements is None or elements >= self.min_elements)
            and (self.max_elements is None or elements <= self.max_elements)
            and (contiguous or not self.contiguous)
        )


def parse_when(text: str) -> When:
    """Read `dtype=float32|bfloat16,rank=2,elements>=4096,elements<=65536,contiguous`; raises LibraryError."""
    found: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            if part.startswith("dtype="):
                found["dtypes"] = tuple(part.removeprefix("dtype=").split("|"))
            elif part.startswith("rank="):
                found["ranks"] = tuple(int(rank) for rank in part.removeprefix("rank=").split("|"))
            elif part.startswith("elements>="):
                found["min_elements"] = int(part.removeprefix("elements>="))
            elif part.startswith("elements<="):
                found["max_elements"] = int(part.removeprefix("elements<="))
            elif part == "contiguous":
                found["contiguous"] = True
            else:
                raise ValueError
        except ValueError:
            raise LibraryError(
                f"condition '{part}' is none; conditions are dtype=A|B, rank=M|N, elements>=N, elements<=N and "
                "contiguous, with commas between"
            ) from None
    if not found:
        raise LibraryError("a variant needs a condition; a kernel for all calls is no variant")
    return When(**found)


@dataclass(frozen=True)
class Entry:
    """One kernel of a library."""

    overload: str
    """The ATen overload that it serves, `add.out`, `relu`."""
    folder: str
    kernel: str
    """SHA-256 of the file `kernel.py`."""
    candidate: str
    """SHA-256 of the source in it: what was judged."""
    judged: tuple[Judged, ...] = ()
    profile: str = ""
    """A target (`vpe:pe64`): this kernel overrides the base's there, and is not used elsewhere."""
    variant: str = ""
    when: When | None = None
    calls: tuple[str, ...] = ()
    """Overloads that the kernel calls through PyTorch, instead of computing all by itself."""
    origin: str = ""
    salt: str = ""
    """What seeds are mixed with, of a kernel that draws numbers: drawn when it was added, so no source has it."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What may be in a library only once."""
        return self.overload, self.profile, self.variant


def folder_of(overload: str, profile: str = "", variant: str = "") -> str:
    """Return an entry's folder: `add.out`, `add.out@vpe-pe64`, `add.out+large`."""
    name = overload
    if profile:
        name += "@" + profile.replace(":", "-").replace("/", "_")
    return name + (f"+{variant}" if variant else "")


def dump(target: str, entries: Iterable[Entry]) -> str:
    """Return the text of an index."""
    kernels = []
    for entry in sorted(entries, key=lambda e: (e.overload, e.profile, bool(e.when is None), e.variant)):
        data = {name: value for name, value in asdict(entry).items() if value not in ("", (), None)}
        if entry.when is not None:
            data["when"] = str(entry.when)
        for judged in data.get("judged", ()):
            dtypes = dict(judged.pop("argument_dtypes"))
            if dtypes:
                judged["argument_dtypes"] = {name: " ".join(found) for name, found in dtypes.items()}
        kernels.append(data)
    content = {"format": FORMAT, "generated": "by bringup library; do not edit", "target": target, "kernels": kernels}
    return json.dumps(content, indent=1) + "\n"


def load(path: Path) -> tuple[str, list[Entry]]:
    """Read an index: the target that the library is for, and its entries. Raises LibraryError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LibraryError(f"{path.parent}: no kernel library (it has no {INDEX}); `bringup library add` makes one") \
            from None  # fmt: skip
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise LibraryError(f"{path}: the index cannot be read: {error}") from error
    version = data.get("format") if isinstance(data, dict) else None
    if not isinstance(version, int):
        raise LibraryError(f"{path}: not the index of a kernel library")
    if version > FORMAT:
        raise LibraryError(f"{path}: format {version} is newer than this bringup reads ({FORMAT}); upgrade bringup")
    try:
        entries = [_entry(one) for one in data["kernels"]]
        target = str(data["target"])
    except (KeyError, TypeError, AttributeError) as error:
        raise LibraryError(f"{path}: the index is damaged: {type(error).__name__}: {error}") from error
    seen: set[tuple[str, str, str]] = set()
    for entry in entries:
        if entry.key in seen:
            raise LibraryError(f"{path}: {entry.folder} is listed twice; remove one of the two")
        seen.add(entry.key)
        if not entry.folder or Path(entry.folder).name != entry.folder or entry.folder in (".", ".."):
            raise LibraryError(f"{path}: the folder '{entry.folder}' of {entry.overload} is not inside the library")
    check_calls(entries, str(path))
    return target, entries


_NAMES = {kind: {field.name for field in fields(kind)} for kind in (Entry, Judged)}


def _entry(data: Mapping[str, Any]) -> Entry:
    values = dict(data)
    values["judged"] = tuple(map(_judged, values.get("judged", ())))
    values["calls"] = tuple(values.get("calls", ()))
    if "when" in values:
        values["when"] = parse_when(values["when"])
    return Entry(**_known(values, Entry))


def _judged(data: Mapping[str, Any]) -> Judged:
    dtypes = tuple((name, tuple(found.split())) for name, found in data.get("argument_dtypes", {}).items())
    return Judged(**{**_known(data, Judged), "dtypes": tuple(data["dtypes"]), "argument_dtypes": dtypes})


def _known(values: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    unknown = set(values) - _NAMES[kind]
    if unknown:
        raise TypeError(f"unknown field {', '.join(sorted(unknown))}")
    return dict(values)


def check_calls(entries: Iterable[Entry], where: str) -> None:
    """Raise LibraryError when kernels that call other operators would call one another in a circle."""
    calls: dict[str, set[str]] = {}
    for entry in entries:
        if entry.calls:
            calls.setdefault(entry.overload, set()).update(entry.calls)
    done: set[str] = set()
    for start in calls:
        path: list[str] = []

        def visit(name: str, path: list[str] = path) -> None:
            if name in path:
                circle = " -> ".join([*path[path.index(name) :], name])
                raise LibraryError(f"{where}: kernels call one another in a circle: {circle}")
            if name in done:
                return
            path.append(name)
            for other in sorted(calls.get(name, ())):
                visit(other)
            path.pop()
            done.add(name)

        visit(start)
