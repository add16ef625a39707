"""Plain text from PyTorch's reStructuredText docstrings, and the references found in them. No torch."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ROLE = re.compile(r":(?:py:)?(func|meth|class|attr|mod|data|math|ref|doc|obj|const|exc|paramref):`([^`]*)`", re.S)
_TITLED = re.compile(r"^(.*?)\s*<([^<>]+)>$", re.S)
_NAME = re.compile(r"[A-Za-z_][\w.]*$")
_WORDS = (
    r"(?:\b[Ss]ee(?: also)?|[Aa]lias (?:for|of|to)|[Ee]quivalent to|[Vv]ersion of|[Vv]ariant of|[Ss]ame as"
    r"|operation as)"
)
_CLOSE = re.compile(rf"{_WORDS}\s+(?:the )?$")
# References in prose: "See torch.max", "Alias of ``torch.outer``".
_PROSE = re.compile(rf"{_WORDS}\s+`{{0,2}}((?:torch|Tensor)\.[A-Za-z_][\w.]*\w)")
_BLOCKS = {"note": "Note:", "warning": "Warning:", "seealso": "See also:", "deprecated": "Deprecated since",
           "versionchanged": "Changed in", "math": "", "rubric": "", "admonition": "", "attention": "Attention:",
           "important": "Important:", "hint": "Hint:", "tip": "Tip:"}  # fmt: skip
_DROPPED = {"image", "figure", "plot", "include", "raw", "index", "currentmodule", "module", "testsetup", "only"}
_DIRECTIVE = re.compile(r"^(\s*)\.\. ([\w:-]+)::[ \t]*(.*)$")
_TARGET = re.compile(r"^\s*\.\. (?:_|\[|\|)")  # hyperlink targets, citations, substitutions


def references(doc: str) -> Iterator[tuple[str, str]]:
    """Yield (role, target) for every reference to a function, method or class, in order of appearance.

    The role is "close" where the text around it says that the target's documentation is this one's too ("Alias for",
    "See"), otherwise "func", "meth" or "class"; the target is as written, without `~`, `!` and parentheses.
    """
    found: list[tuple[int, str, str]] = []
    for match in _ROLE.finditer(doc):
        role, content = match.groups()
        if role in {"func", "meth", "class", "obj"}:
            titled = _TITLED.match(content)
            target = titled.group(2) if titled else content
            close = _CLOSE.search(doc[max(0, match.start() - 60) : match.start()])
            found.append((match.start(), "close" if close else "func" if role == "obj" else role, _bare(target)))
    found += [(match.start(1), "close", _bare(match.group(1))) for match in _PROSE.finditer(doc)]
    for _, role, target in sorted(found):
        if _NAME.match(target):
            yield role, target


def _bare(target: str) -> str:
    return "".join(target.split()).lstrip("~!.").partition("(")[0]


def plain(doc: str) -> str:
    """Return a docstring as plain text: roles become their names, directives a word, links and images vanish."""
    lines: list[str] = []
    skip_deeper_than: int | None = None
    for line in doc.expandtabs().splitlines():
        indent = len(line) - len(line.lstrip())
        if skip_deeper_than is not None:
            if not line.strip() or indent > skip_deeper_than:
                continue
            skip_deeper_than = None
        directive = _DIRECTIVE.match(line)
        if directive:
            space, kind, rest = directive.groups()
            if kind in _DROPPED:
                skip_deeper_than = indent
                continue
            word = _BLOCKS.get(kind, "" if kind in {"function", "method", "class", "code-block"} else f"{kind}:")
            line = f"{space}{word} {rest}".rstrip() if word else f"{space}{rest}".rstrip()
            if not line.strip():
                continue
        elif _TARGET.match(line):
            skip_deeper_than = indent
            continue
        elif re.match(r"^\s*:(?:no-?index|nosignatures|align|width|label|nowrap):", line):
            continue
        lines.append(line.rstrip())
    text = _ROLE.sub(_role_text, "\n".join(lines))
    text = re.sub(r"`([^`<>]+?)\s*<(?:https?:|\w)[^>]*>`_{1,2}", r"\1", text)  # links keep their words
    text = re.sub(r"``([^`]*)``", r"`\1`", text)
    text = re.sub(r"\\([*_|`])", r"\1", text)
    text = re.sub(r"(?m)::$", ":", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _role_text(match: re.Match[str]) -> str:
    role, content = match.groups()
    titled = _TITLED.match(content)
    if role == "math":
        return content
    if titled and role in {"ref", "doc", "func", "meth", "class"}:
        return titled.group(1)
    return content.lstrip("~!.")
