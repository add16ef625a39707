"""The format of recorded dialogs: one JSONL file an operator, one line a model call, and a MANIFEST.json a set.

A set is a directory or an archive (.zip, .tar, .tar.gz, .tgz); a single .jsonl file is a set of one operator.
The file of operator `a/b` is called `a%2Fb.jsonl`. Digests are SHA-256 in hexadecimal over UTF-8 text: of the
whole dialog as canonical JSON (`messages_digest`), and of the last message alone (`prompt_digest`).
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from bringup.candidate import Candidate, parse_reply
from bringup.clients._base import Call, Message, Reply, Usage
from bringup.errors import BringupError, ConfigError, FormatError
from bringup.files import file_stem, name_of, write_atomically
from bringup.verdict import Record

FORMAT = 1
MANIFEST = "MANIFEST.json"
CHOSEN = "chosen.txt"  # beside the dialogs: operators that show the most in the least time, one a line
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
Turn = tuple[int, int, str]  # attempt, turn, role
Dialogs = dict[str, dict[Turn, "Recording"]]  # of an operator by node of a search; "": those of its own session


def messages_digest(messages: Sequence[Message]) -> str:
    """Return the digest of a whole dialog: every role and content, in order."""
    canonical = json.dumps([[m.role, m.content] for m in messages], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def prompt_digest(messages: Sequence[Message]) -> str:
    """Return the digest of the last message, the prompt that was answered."""
    return hashlib.sha256(messages[-1].content.encode("utf-8", "surrogatepass")).hexdigest() if messages else ""


class Recording(Record):
    """One recorded model call."""

    operator: str
    attempt: int = Field(ge=1)
    turn: int = Field(ge=1)
    role: Literal["generate", "summarise", "remember", "look_up"] = "generate"
    node: str = ""  # of a search's graph
    messages_digest: str = ""
    prompt_digest: str = ""
    template: str = ""  # the situation of the prompt, for readers
    start: str = ""  # the kernel that the session began from, at its first call; empty: from nothing
    text: str
    usage: Usage = Usage()
    model: str = ""
    finish_reason: str = ""
    seconds: float = 0.0  # how long the recorded call took

    @classmethod
    def of(
        cls, call: Call, messages: Sequence[Message], reply: Reply, template: str = "", start: str = ""
    ) -> Recording:
        """Make the record of a call, the dialog that it sent, and what came back."""
        return cls(
            operator=call.operator,
            attempt=call.attempt,
            turn=call.turn,
            role=call.role,
            node=call.node,
            messages_digest=messages_digest(messages),
            prompt_digest=prompt_digest(messages),
            template=template,
            start=start,
            **dict(reply),
        )

    @property
    def position(self) -> Turn:
        """Where the call stands in its operator's dialogs."""
        return self.attempt, self.turn, self.role


class Manifest(Record):
    """What a set of recordings was made with."""

    format: int = FORMAT
    target: str
    date: str  # ISO 8601
    versions: dict[str, str] = Field(default_factory=dict)  # bringup, torch, triton
    suite: str = "opinfo"
    note: str = ""


class RecordingSet:
    """Recorded dialogs, read an operator at a time."""

    def __init__(self, path: Path) -> None:
        """Open the set at `path`; raises FormatError when there is none, or it cannot be read."""
        self.path = path
        self.manifest: Manifest | None = None
        self._texts: dict[str, bytes] = {}  # archives: everything at once, they are small
        self._files: dict[str, Path] = {}
        self._dialogs: dict[str, Dialogs] = {}
        try:
            self._open()
        except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
            raise FormatError(f"{path}: recordings cannot be read: {error}") from error
        if not self._files and not self._texts:
            raise FormatError(f"{path}: holds no recordings (*.jsonl)")

    def _open(self) -> None:
        manifest: bytes | None = None
        if self.path.is_dir():
            self._files = {name_of(p.name.removesuffix(".jsonl")): p for p in sorted(self.path.glob("*.jsonl"))}
            if (self.path / MANIFEST).exists():
                manifest = (self.path / MANIFEST).read_bytes()
        elif self.path.name.endswith(_ARCHIVES):
            for name, data in _members(self.path):
                if name == MANIFEST:
                    manifest = data
                elif name.endswith(".jsonl"):
                    self._texts[name_of(name.removesuffix(".jsonl"))] = data
        else:
            self._files = {name_of(self.path.name.removesuffix(".jsonl")): self.path}
            self.path.stat()
        if manifest is not None:
            self.manifest = _read_manifest(self.path, manifest)

    def operators(self) -> list[str]:
        """Return the recorded operators, sorted."""
        return sorted({*self._files, *self._texts})

    def candidates(self, operators: Iterable[str] | None = None) -> dict[str, Candidate]:
        """Return the last candidate of every recorded operator (or of `operators`) that has one: its dialog's end.

        What the nodes of a search wrote is left out: which of it is good only a search can tell.
        """
        found: dict[str, Candidate] = {}
        for operator in self.operators() if operators is None else operators:
            dialog = self.dialog(operator)
            base = next((record.start for record in dialog.values() if record.start), None)
            for position in sorted(dialog):
                parsed = parse_reply(dialog[position].text, base) if position[2] == "generate" else None
                if isinstance(parsed, Candidate):
                    found[operator] = parsed
                    base = parsed.source  # what later edits are of
        return found

    def starts(self, operators: Iterable[str]) -> dict[str, str]:
        """Return the kernels that the recorded sessions of `operators` began from, where they began from one."""
        return {
            name: record.start
            for name in operators
            for dialog in self.dialogs(name).values()
            for record in dialog.values()
            if record.start
        }

    def dialog(self, operator: str, node: str = "") -> dict[Turn, Recording]:
        """Return an operator's calls, or those of a node of its search, by (attempt, turn, role).

        Empty where none is recorded. Raises FormatError as `dialogs` does.
        """
        return self.dialogs(operator).get(node, {})

    def dialogs(self, operator: str) -> Dialogs:
        """Return all calls of an operator, by node of a search; empty when it is not recorded.

        Raises FormatError naming file and line when a line is not a record.
        """
        if operator not in self._dialogs:
            if operator in self._files:
                path = self._files[operator]
                try:
                    data = path.read_bytes()
                except OSError as error:
                    raise FormatError(f"{path}: recording cannot be read: {error.strerror}") from error
                self._dialogs[operator] = _parse(str(path), operator, data)
            elif operator in self._texts:
                where = f"{self.path}:{file_stem(operator)}.jsonl"
                self._dialogs[operator] = _parse(where, operator, self._texts[operator])
            else:
                return {}
        return self._dialogs[operator]


def write_recording(path: Path, records: Iterable[Recording]) -> None:
    """Write one operator's calls to the JSONL file `path`, in order of attempt and turn, in one atomic step."""
    ordered = sorted(records, key=lambda record: (len(record.node), record.node, record.position))
    names = {record.operator for record in ordered}
    if len(names) != 1:
        raise BringupError(f"{path}: a recording holds one operator's calls, not those of {sorted(names)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(record.model_dump_json() + "\n" for record in ordered).encode())


def write_recordings(directory: Path, records: Iterable[Recording], manifest: Manifest) -> None:
    """Write a set: a file an operator, and the manifest. Files of other operators in `directory` stay."""
    by_operator: dict[str, list[Recording]] = {}
    for record in records:
        by_operator.setdefault(record.operator, []).append(record)
    directory.mkdir(parents=True, exist_ok=True)
    for operator, calls in sorted(by_operator.items()):
        write_recording(directory / f"{file_stem(operator)}.jsonl", calls)
    write_atomically(directory / MANIFEST, (manifest.model_dump_json(indent=2) + "\n").encode())


def read_recordings(path: Path) -> Iterator[Recording]:
    """Yield every call of a set, by operator, attempt and turn."""
    recordings = RecordingSet(path)
    for operator in recordings.operators():
        for dialog in recordings.dialogs(operator).values():
            yield from (dialog[position] for position in sorted(dialog))


def shipped_sets() -> dict[str, Path]:
    """Return the sets that ship with the package, by target."""
    root = Path(str(files("bringup.clients"))) / "recordings"
    if not root.is_dir():
        return {}
    return {path.name: path for path in sorted(root.iterdir()) if any(path.glob("*.jsonl"))}


def find_set(path: str | Path | None = None, target: str | None = None) -> Path:
    """Return where the recordings are: `path` itself, the shipped set called `path`, or by default the target's.

    Raises ConfigError when there is no such set.
    """
    shipped = shipped_sets()
    advice = f"shipped sets: {', '.join(shipped) or 'none'}; or choose another client with --client"
    if path is not None:
        given = Path(path).expanduser()
        if given.exists():
            return given
        if str(path) in shipped:
            return shipped[str(path)]
        raise ConfigError("client recorded", f"no recordings at '{path}'", advice)
    if target is not None:
        # A set is called like its target, with `-` before the profile; a target without one takes its only set.
        name = target.replace(":", "-")
        # `NAME-WHAT` beside `NAME` is a further set of the same target, which is chosen by its name alone.
        first = [known for known in shipped if not any(known.startswith(f"{other}-") for other in shipped)]
        sets = [name] if name in shipped else [known for known in first if known.startswith(f"{name}-")]
        if len(sets) == 1:
            return shipped[sets[0]]
    if target is None and len(shipped) == 1:
        return next(iter(shipped.values()))
    wanted = f"no recorded dialogs ship for target '{target}'" if target else "no set of recordings chosen"
    raise ConfigError("client recorded", wanted, advice)


def recorded_operators(path: str | Path | None = None, target: str | None = None) -> list[str]:
    """Return the operators with recorded dialogs in the set that `find_set` names (`--ops recorded`)."""
    return RecordingSet(find_set(path, target)).operators()


def chosen_operators(path: str | Path | None = None, target: str | None = None) -> list[str]:
    """Return the operators that a set's `chosen.txt` names (`--ops chosen`): a part that is replayed in short time.

    All of a set that has no such file. Raises FormatError for a name that the set has not recorded.
    """
    where = find_set(path, target)
    recorded = RecordingSet(where).operators()
    file = where / CHOSEN
    if not file.is_file():
        return recorded
    lines = [line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines()]
    names = [line for line in lines if line]
    for name in names:
        if name not in recorded:
            raise FormatError(f"{file}: '{name}' has no recorded dialogs; scripts/choose_recordings.py makes the list")
    return names


def recorded_starts(
    operators: Iterable[str], path: str | Path | None = None, target: str | None = None
) -> dict[str, str]:
    """Return the kernels that recorded sessions began from, by operator, in the set that `find_set` names."""
    return RecordingSet(find_set(path, target)).starts(operators)


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield Path(info.filename).name, archive.read(info)
        return
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                yield Path(member.name).name, stream.read()


def _read_manifest(path: Path, data: bytes) -> Manifest:
    try:
        content = json.loads(data)
        if isinstance(content, dict) and isinstance(content.get("format"), int) and content["format"] > FORMAT:
            raise FormatError(
                f"{path}/{MANIFEST}: format {content['format']} is newer than this bringup reads ({FORMAT}); upgrade"
            )
        return Manifest.model_validate(content)
    except (ValidationError, ValueError) as error:
        raise FormatError(f"{path}/{MANIFEST}: not a manifest: {_first(error)}") from error


def _parse(where: str, operator: str, data: bytes) -> Dialogs:
    dialogs: Dialogs = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = Recording.model_validate_json(line)
        except ValidationError as error:
            raise FormatError(f"{where}: line {number}: not a recorded call: {_first(error)}") from error
        if record.operator != operator:
            raise FormatError(f"{where}: line {number}: belongs to operator '{record.operator}', not '{operator}'")
        dialog = dialogs.setdefault(record.node, {})
        if record.position in dialog:
            raise FormatError(
                f"{where}: line {number}: a second reply for attempt {record.attempt}, turn {record.turn}"
                f"{f' of node {record.node}' if record.node else ''}"
            )
        dialog[record.position] = record
    return dialogs


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        item = error.errors()[0]
        field = ".".join(str(part) for part in item["loc"])
        return f"field {field}: {item['msg']}" if field else item["msg"]
    return str(error)
