"""What makes a folder of knowledge files usable: front matter, length, sources, code that parses, an index of today."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from bringup.errors import FormatError, not_yaml
from bringup.knowledge._base import INDEX, Fault, index_page, markdown
from bringup.knowledge._files import KnowledgeFile, parse, read_text

MOST_TOKENS = 1200  # of a file: it is about one thing
MOST_LINES = 150
_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})(.*)$")
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)\s]*)?\)")


def lint(folder: Path) -> list[Fault]:
    """Return what is wrong with a folder's files, in the order of their paths; the index last."""
    faults: list[Fault] = []
    found: list[KnowledgeFile] = []
    titles: dict[str, str] = {}
    for path in markdown(folder):
        try:
            file = parse(read_text(folder / path, path), path)
        except FormatError as error:
            faults.append(Fault(path, str(error)))
            continue
        found.append(file)
        faults += [Fault(path, f"{path}{line}") for line in _faults(file, folder)]
        title = file.front.title.casefold()
        if title in titles and file.front.evidence != "run":  # two runs may show the same
            faults.append(Fault(path, f"{path}: has the title of {titles[title]}; say what this one is about"))
        titles.setdefault(title, path)
    return [*faults, *_index_faults(folder, found)]


def _index_faults(folder: Path, found: list[KnowledgeFile]) -> Iterator[Fault]:
    if not found:
        return
    advice = f"write it with: bringup knowledge index {folder}"
    try:
        text = read_text(folder / INDEX, INDEX)
    except FormatError as error:
        yield Fault(INDEX, f"{INDEX}: missing; {advice}" if not (folder / INDEX).exists() else str(error))
        return
    if text != index_page(found):
        yield Fault(INDEX, f"{INDEX}: does not say what the files say today; {advice}")


def _faults(file: KnowledgeFile, folder: Path) -> Iterator[str]:
    if file.tokens > MOST_TOKENS:
        yield f": about {file.tokens:,} tokens, more than {MOST_TOKENS:,}; split it, one thing a file"
    lines = file.body.split("\n")
    if len(lines) > MOST_LINES:
        yield f": {len(lines)} lines, more than {MOST_LINES}; split it, one thing a file"
    blocks, unclosed = code_blocks(file.body)
    if unclosed:
        yield f": line {unclosed} of the body: code block is never closed"
    for line, language, code in blocks:
        yield from _block_faults(line, language, code)
    if file.section == "samples" and sum(language == "python" for _, language, _ in blocks) != 1:
        yield ": a sample has exactly one python block, the whole candidate"
    outside = _without_blocks(file.body)
    if re.search(r"^# ", outside, re.MULTILINE):
        yield ": the body has a heading of the first level; the title of the front matter is that"
    for target in _LINK.findall(outside):
        if not ((folder / file.path).parent / target).exists():
            yield f": link to {target}: there is no such file"


def _block_faults(line: int, language: str, code: str) -> Iterator[str]:
    where = f": line {line} of the body: "
    if not language:
        yield f"{where}code block names no language; write ```python, ```text, ..."
    elif language == "python":
        try:
            ast.parse(code)
        except (SyntaxError, ValueError) as error:
            at = f", line {error.lineno} of it" if isinstance(error, SyntaxError) and error.lineno else ""
            yield f"{where}python block does not parse{at}: {getattr(error, 'msg', error)}"
    elif language in {"yaml", "yml"}:
        try:
            yaml.safe_load(code)
        except yaml.YAMLError as error:
            yield f"{where}yaml block: {not_yaml(error)}"


def code_blocks(body: str) -> tuple[list[tuple[int, str, str]], int]:
    """Return fenced blocks as (line from 1, language, code), and the line of one that is not closed, or 0."""
    blocks: list[tuple[int, str, str]] = []
    open_at, fence, language = 0, "", ""
    code: list[str] = []
    for number, line in enumerate(body.split("\n"), 1):
        match = _FENCE.match(line)
        if not open_at and match:
            open_at, fence, code = number, match[2], []
            language = (match[3].split() or [""])[0].lower()
        elif open_at and match and match[2].startswith(fence) and not match[3].strip():
            blocks.append((open_at, language, "\n".join(code)))
            open_at = 0
        elif open_at:
            code.append(line)
    return blocks, open_at


def _without_blocks(body: str) -> str:
    kept, fence = [], ""
    for line in body.split("\n"):
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[2]
        elif match and match[2].startswith(fence) and not match[3].strip():
            fence = ""
        elif not fence:
            kept.append(line)
    return "\n".join(kept)
