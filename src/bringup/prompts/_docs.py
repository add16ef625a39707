"""Which documentation a prompt shows: each text once, without side remarks, and never cut in a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bringup.operators import DocNode
from bringup.prompts._text import clean, short

# Remarks on autograd, other devices, speed, randomness of the order, releases: nothing that a kernel has to do.
_SIDE = re.compile(
    r"cuDNN|CUDA|TensorFloat32|ROCm|on GPU|[Nn]on-?deterministic|reproducib|autograd|\bbackward\b|gradient|"
    r"differentiab|forward-mode|torch\.compile|ONNX|in a future|future release|Deprecated|deprecated|named tensor|"
    r"synchroni[sz]|https?://|arXiv|torch\.sparse|memory[- ]efficient"
)
_REMARK = re.compile(r"\s*(?:Note|Warning|See also|Important|Hint|Tip|Attention|Deprecated since|Changed in)\b:?")
_EXAMPLE = re.compile(r"\s*(?:>>> |Examples?\b[^.\n]{0,60}(?:\n|$))")
# Sentences of their own, without a heading.
_ASIDE = re.compile(
    r"\s*(?:This (?:operator|module|function) supports (?:TensorFloat32|complex)|On certain ROCm)[^\n]*"
)
# Releases: blocks, sentences and beginnings of sentences that tell what was, or may be. What holds now stays.
_CHANGED = re.compile(r"\s*(?:Changed|Added|Deprecated|New) (?:in|since)(?: version)? \d")
_ONCE = re.compile(
    r"^(?:Previously\b|Before PyTorch \d|Since then\b|This behavior may change)|previous (?:behavior|signature)|"
    r"\b[Uu]p to version \d|changed signature at version \d|have been deprecated in favor"
)
_SINCE = re.compile(r"\b(?:Starting in|From|As of|Since) (?:PyTorch|version) \d+(?:\.\d+)+(?: onwards)?,?\s+")
_HEADING = re.compile(r"\s*(?:Note|Warning)\s*:\s*")
_POINTER = re.compile(r"(?:[Ss]ee|Alias for|Same as) (?:the )?[\w.]+\.?")
_FORMULA = re.compile(r"Shape|\\[a-z]+|[\w)] = |\^|_\{|:math")


def documents(docs: Iterable[DocNode], own: int, nested: int, together: int) -> tuple[list[DocNode], list[str]]:
    """Return the docstrings to show, and the names of those for which there is no room.

    A text that stands word for word in one before it is left out, and so is one that only points to another.

    Args:
        docs: the operator's own docstring, then those that it refers to, nearest first.
        own: characters of the operator's own docstring.
        nested: characters of each other one.
        together: characters of all; the operator's own always fits.
    """
    shown: list[DocNode] = []
    left: list[str] = []
    room = together
    for position, doc in enumerate(docs):
        text = condensed(doc.text, nested if position else own, examples=not position or _is_pointer(shown))
        if position and (not text or _known(text, shown)):
            continue
        if position and len(text) > room:
            left.append(doc.name)
            continue
        room -= len(text)
        shown.append(doc.model_copy(update={"text": text}))
    return shown, left


def condensed(text: str, limit: int, *, examples: bool = True) -> str:
    """Return a docstring without side remarks, and of at most `limit` characters, by leaving out whole paragraphs.

    What is left out first are examples, then what holds no formula, from the end.
    """
    parts = [part for part in _paragraphs(clean(text)) if not (_REMARK.match(part) and _SIDE.search(part))]
    parts = [_present(part) for part in parts if not _ASIDE.fullmatch(part) and not _CHANGED.match(part)]
    parts = [part for part in parts if part.strip()]
    if not examples:
        parts = [part for part in parts if not _EXAMPLE.match(part)]
    for droppable in (_EXAMPLE.match, lambda part: not _FORMULA.search(part)):
        for part in reversed(parts[1:]):
            if _length(parts) <= limit:
                break
            if droppable(part):
                parts.remove(part)
    return short("\n\n".join(parts).strip(), limit)


def _present(part: str) -> str:
    """Return a paragraph without its sentences on other releases, "" where nothing is left."""
    if _EXAMPLE.match(part):
        return part
    heading = found.group() if (found := _HEADING.match(part)) else ""
    pieces = re.split(r"(?<=\.)(\s+)", part.removeprefix(heading))  # sentences, with the blanks between them
    kept = ""
    for position in range(0, len(pieces), 2):
        if not _ONCE.search(" ".join(pieces[position].split())):
            kept += (pieces[position - 1] if kept else "") + pieces[position]
    kept = _SINCE.sub("", kept)
    return heading + kept if kept.strip() else ""


def _length(parts: list[str]) -> int:
    return sum(len(part) + 2 for part in parts)


def _paragraphs(text: str) -> list[str]:
    """Split at blank lines; a remark keeps what is indented below it, an example all that belongs to it."""
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        last = parts[-1] if parts else ""
        deeper = _indent(block) > _indent(last)
        if last and ((_REMARK.match(last) and deeper) or (_EXAMPLE.match(last) and (deeper or ">>>" in block))):
            parts[-1] = f"{last}\n\n{block}"
        else:
            parts.append(block)
    return parts


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _is_pointer(shown: list[DocNode]) -> bool:
    """Whether nothing but a few words stand so far, so that the next text is the real one."""
    return len(shown) == 1 and len(shown[0].text) < 700 and ">>>" not in shown[0].text


def _known(text: str, shown: list[DocNode]) -> bool:
    words = _words(text)
    return _POINTER.fullmatch(words) is not None or any(words in _words(doc.text) for doc in shown)


def _words(text: str) -> str:
    """The text without its first line if that is a signature, blanks folded."""
    first, _, rest = text.partition("\n")
    return " ".join((rest if re.fullmatch(r"[\w.]+\(.*\).*", first.strip()) and rest else text).split())
