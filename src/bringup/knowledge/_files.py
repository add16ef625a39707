"""One file of a knowledge base: front matter in YAML between two lines of `---`, then Markdown about one thing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError, model_validator

from bringup.errors import FormatError, did_you_mean, not_yaml
from bringup.knowledge._words import ANY, Concern, Evidence, Kind, Specificity
from bringup.tokens import estimate_tokens
from bringup.verdict import Record

FENCE = "---"
LARGEST = 1 << 20  # bytes: what is larger is no file of a knowledge base


class Result(Record):
    """What a run showed: the figures before and after a change of one operator's kernel."""

    operator: str
    target: str
    before: str  # a verdict with its cases ("wrong, 12 of 40 cases"), or a time ("41.2 us")
    after: str
    run: str = ""
    candidates: tuple[str, ...] = ()  # SHA-256 of the sources, before and after


class FrontMatter(Record):
    """What a file is about, and what stands behind it. Empty `devices`, `kinds`, `operators`: whichever."""

    title: str = Field(min_length=8, max_length=100)
    platforms: tuple[str, ...] = Field(min_length=1)  # any, nvidia, amd, vpe, or a plug-in's name
    concerns: tuple[Concern, ...] = Field(min_length=1)
    specificity: Specificity
    devices: tuple[str, ...] = ()  # sm_90, gfx942, pe64
    kinds: tuple[Kind, ...] = ()  # of operators
    operators: tuple[str, ...] = ()  # names, or globs of names
    features: tuple[str, ...] = ()  # what a kernel uses: tl.dot, for
    sources: tuple[str, ...] = Field(min_length=1)  # title and section of a manual or paper; a file of this project
    evidence: Evidence
    reviewed: str = ""  # who has read it critically, and when; "": nobody
    results: tuple[Result, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> FrontMatter:
        if ANY in self.platforms and len(self.platforms) > 1:
            raise ValueError("platforms: any stands alone")
        if self.specificity == "device" and not self.devices:
            raise ValueError("specificity device: name the devices")
        if self.specificity == "operator" and not self.operators:
            raise ValueError("specificity operator: name the operators")
        if self.specificity == "general" and self.platforms != (ANY,):
            raise ValueError("specificity general: platforms must be [any]")
        if self.evidence == "run" and not self.results:
            raise ValueError("evidence run: give the results")
        if any(not source.strip() for source in self.sources):
            raise ValueError("sources: one of them is empty")
        return self

    @property
    def unreviewed(self) -> bool:
        """Whether the file was written from a run and no person has read it since."""
        return self.evidence == "run" and not self.reviewed

    @property
    def standing(self) -> str:
        """What stands behind the file, in a word or two."""
        if self.evidence == "run":
            return f"from a run, reviewed by {self.reviewed}" if self.reviewed else "from a run, unreviewed"
        return self.evidence


class KnowledgeFile(Record):
    """A file with its place: `path` is relative to the base's folder, `root` that folder ("" for the shipped base)."""

    path: str
    front: FrontMatter
    body: str
    root: str = ""

    @property
    def section(self) -> str:
        """The first folder of the path: constraints, guidance, hardware, samples, distilled."""
        return self.path.split("/", 1)[0] if "/" in self.path else ""

    @property
    def text(self) -> str:
        """What a prompt shows: title, then body."""
        return f"### {self.front.title}\n\n{self.body.strip()}\n"

    @property
    def tokens(self) -> int:
        """Estimated tokens of `text`."""
        return estimate_tokens(self.text)


def read_text(file: Path, name: str = "") -> str:
    """Return the text of a file of a knowledge base; raises FormatError with a line that says what is wrong."""
    name = name or str(file)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FormatError(f"{name}: cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise FormatError(f"{name}: {len(data):,} bytes; a file of a knowledge base is about one thing")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 text: {error.reason} at byte {error.start}") from error


def parse(text: str, path: str, root: str = "") -> KnowledgeFile:
    """Read a file's text; raises FormatError that names file, line or field, and what to do."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        raise FormatError(f"{path}: no front matter: the first line must be {FENCE}; see docs/knowledge.md")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise FormatError(f"{path}: front matter has no end: a line {FENCE} must close it")
    try:
        data: Any = yaml.safe_load("\n".join(["", *lines[1:end]]))  # the empty line keeps the parser's line numbers
    except yaml.YAMLError as error:
        raise FormatError(f"{path}: front matter: {not_yaml(error)}") from error
    if not isinstance(data, dict):
        raise FormatError(f"{path}: front matter must be a mapping of fields")
    try:
        front = FrontMatter.model_validate(data)
    except ValidationError as error:
        raise FormatError(f"{path}: front matter: {'; '.join(_problems(error))}") from error
    body = "\n".join(lines[end + 1 :]).strip("\n")
    if not body.strip():
        raise FormatError(f"{path}: nothing stands below the front matter")
    return KnowledgeFile(path=path, front=front, body=body, root=root)


def _problems(error: ValidationError) -> list[str]:
    found = []
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            found.append(f"no such field '{place}'{did_you_mean(place, FrontMatter.model_fields)}")
        elif item["type"] == "value_error":
            found.append(str(item["ctx"]["error"]) if "ctx" in item else item["msg"])
        elif item["type"] == "missing":
            found.append(f"field {place} is missing")
        else:
            found.append(f"field {place}: {item['msg'][:1].lower()}{item['msg'][1:]}")
    return found


def dump(front: FrontMatter, body: str) -> str:
    """Return a file's text: front matter without empty fields, then the body."""
    data = front.model_dump(mode="json", exclude_defaults=True)
    data["reviewed"] = front.reviewed
    if front.evidence != "run" and not front.reviewed:
        del data["reviewed"]
    head = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    return f"{FENCE}\n{head}{FENCE}\n\n{body.strip()}\n"
