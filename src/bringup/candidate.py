"""A candidate: one module of source text with a `wrapper` and `kernel*` functions; read from a model's reply.

What counts as a reply with a candidate (strict, so that the model and bringup always mean the same text):

* reasoning in front of the answer (`<think>...</think>` and its relatives) and prose around the block are ignored;
* the module is the fenced Python block (```` ``` ```` or `~~~`, tagged `python`, `py`, `triton` or not tagged at all);
* of several Python blocks, one is taken only when it alone defines anything: it holds `def wrapper`, and no other block
  defines a function, a class or a constant. A module spread over blocks, or two versions of it, is a format problem;
* the block must be closed, parse as Python, and define `wrapper` at top level;
* where there is a module already, edits of it (`bringup.patch`) will do; a reply with edits and a module is neither.

Whether kernels are needed is the linter's question, not the parser's: it depends on the operator.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from typing import Literal, get_args

from bringup.patch import PatchProblem, ProblemKind, apply_edits, has_edits, read_edits
from bringup.verdict import Record

MAX_SOURCE = 200_000  # characters of a module; the longest sensible operator stays below a tenth of this

FormatKind = (
    Literal["empty", "no_block", "several_blocks", "unterminated", "too_long", "bad_characters", "syntax", "no_wrapper"]
    | ProblemKind
)
EDIT_KINDS: frozenset[str] = frozenset(get_args(ProblemKind))  # problems of edits: the module that they meant is known

_PYTHON_TAGS = frozenset({"", "python", "py", "python3", "triton", "py3"})
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_REASONING = r"(?:think|thinking|thought|reasoning|reflection)"
_REASONING_OPEN = re.compile(rf"^\s*<{_REASONING}>", re.IGNORECASE)
_REASONING_CLOSE = re.compile(rf"</{_REASONING}>", re.IGNORECASE)
# Characters that Python's tokenizer or a terminal stumbles over; tab, newline and form feed are fine.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


def digest(text: str) -> str:
    """Return the SHA-256 of `text` in hexadecimal: the name of a blob, a candidate or a template."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class Candidate(Record):
    """Source text of one candidate. Nothing is imported in it: `torch`, `triton`, `tl` and `math` are provided."""

    source: str

    @property
    def digest(self) -> str:
        """SHA-256 of the source."""
        return digest(self.source)

    def parameters(self) -> list[str]:
        """Return the names of the wrapper's parameters, with those that it takes out of its `**kwargs` by name.

        `**` stands for any keyword: the wrapper hands its `**kwargs` on, or looks at them all. One that never looks
        at them has no more parameters than it names. Empty when the source does not parse.
        """
        try:
            tree = ast.parse(self.source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == "wrapper":
                names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                return [*names, *_taken(node, node.args.kwarg.arg)] if node.args.kwarg else names
        return []


def _taken(wrapper: ast.FunctionDef, kwargs: str) -> list[str]:
    """Return the keywords that a function takes out of its `**kwargs`, or `**` where any may be meant."""
    taken: list[str] = []
    by_name: set[int] = set()  # mentions of the mapping that ask for one keyword
    for node in ast.walk(wrapper):
        place: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            place, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr in {"get", "pop", "setdefault"}:
                place, key = node.func.value, node.args[0]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            place, key = node.comparators[0], node.left
        if isinstance(place, ast.Name) and place.id == kwargs:
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                return ["**"]
            taken.append(key.value)
            by_name.add(id(place))
    mentions = [node for node in ast.walk(wrapper) if isinstance(node, ast.Name) and node.id == kwargs]
    if any(id(node) not in by_name for node in mentions):
        return ["**"]
    return list(dict.fromkeys(taken))


class FormatProblem(Record):
    """Why a reply holds no candidate. `explanation` is written for the model: what is wrong and what to send."""

    kind: FormatKind
    explanation: str
    line: int | None = None  # 1-based, in the module; for kind "syntax"
    column: int | None = None  # 1-based
    source: str = ""  # the offending line


class _Block(Record):
    tag: str
    text: str
    closed: bool

    @property
    def python(self) -> bool:
        return self.tag in _PYTHON_TAGS


def parse_reply(text: str, base: str | None = None) -> Candidate | FormatProblem:
    """Extract the candidate from a model's reply, or say why there is none. Never raises on any text.

    `base` is the module that edits in the reply are of; None: edits are not taken.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if not text.strip():
        return FormatProblem(
            kind="empty", explanation="The reply is empty. Send one fenced Python block with the complete module."
        )
    answer = _without_reasoning(text)
    if answer is None:
        return FormatProblem(
            kind="no_block",
            explanation="The reply ends inside its reasoning, so it holds no answer. "
            "Think more briefly and send one fenced Python block with the complete module.",
        )
    blocks = _blocks(answer)
    if base is not None and has_edits(answer):
        return _edited(answer, blocks, base)
    python = [b for b in blocks if b.python]
    if not python:
        other = sorted({b.tag for b in blocks})
        found = f"; it has only blocks tagged {', '.join(other)}" if other else ""
        return FormatProblem(
            kind="no_block",
            explanation=f"The reply has no fenced Python block{found}. Put the complete module between a line "
            "```python and a line ```.",
        )
    if not python[-1].closed:
        return FormatProblem(
            kind="unterminated",
            explanation="The last Python block is not closed: either the reply was cut off before its end, or the "
            "closing ``` is missing. Send the complete module again, shorter if it was cut.",
        )
    if len(python) == 1:
        return parse_module(python[0].text)
    defining = [b for b in python if _defines(b.text)]
    if len(defining) == 1 and _has_wrapper(defining[0].text):
        return parse_module(defining[0].text)
    return FormatProblem(
        kind="several_blocks",
        explanation=f"The reply has {len(python)} Python blocks, and it is not clear which of them is the module. "
        "Send exactly one block that holds everything: wrapper, kernels and helpers.",
    )


def is_patch(text: str) -> bool:
    """Whether a reply holds edits of a module rather than a module."""
    answer = _without_reasoning(text.replace("\r\n", "\n"))
    return answer is not None and has_edits(answer)


def _edited(answer: str, blocks: list[_Block], base: str) -> Candidate | FormatProblem:
    """Apply a reply's edits to the module that they are of."""
    if any(b.python and _has_wrapper(b.text) and not has_edits(b.text) for b in blocks):
        return FormatProblem(
            kind="bad_edit",
            explanation="The reply holds a complete module and edits, and it is not clear which of them counts. Send "
            "either the module or the edits.",
        )
    edits = read_edits(answer)
    found = edits if isinstance(edits, PatchProblem) else apply_edits(base, edits)
    if isinstance(found, PatchProblem):
        return FormatProblem(kind=found.kind, explanation=found.explanation)
    parsed = parse_module(found)
    if isinstance(parsed, FormatProblem):
        return parsed.model_copy(update={"explanation": f"With the edits, {_lowered(parsed.explanation)}"})
    return parsed


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def parse_module(source: str) -> Candidate | FormatProblem:
    """Check a bare module (a file, or the inside of a block) and make it a candidate. Never raises on any text."""
    source = source.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if not source.strip():
        return FormatProblem(kind="empty", explanation="The Python block is empty. Send the complete module in it.")
    if len(source) > MAX_SOURCE:
        return FormatProblem(
            kind="too_long",
            explanation=f"The module has {len(source):,} characters; at most {MAX_SOURCE:,} are accepted. "
            "Write it without unrolled code, tables or repetition.",
        )
    if bad := _CONTROL.search(source):
        line = source.count("\n", 0, bad.start()) + 1
        return FormatProblem(
            kind="bad_characters",
            explanation=f"Line {line} of the module holds the control character U+{ord(bad.group()):04X}. "
            "Use plain text only.",
            line=line,
        )
    source = source.strip("\n") + "\n"
    tree = parse_source(source)
    if isinstance(tree, FormatProblem):
        return tree
    wrappers = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == "wrapper"]
    if not wrappers:
        names = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
        found = f"It defines {', '.join(names[:8])}." if names else "It defines no function."
        return FormatProblem(
            kind="no_wrapper",
            explanation=f"The module has no top-level function named wrapper. {found} "
            "The operator's entry point must be `def wrapper(...)` with the operator's own signature.",
        )
    return Candidate(source=source)


def parse_source(source: str) -> ast.Module | FormatProblem:
    """Parse Python source; a syntax error becomes a FormatProblem with its line and a caret."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in a candidate's strings are not our concern
            return ast.parse(source)
    except SyntaxError as error:
        lines = source.splitlines()
        number = error.lineno or 1
        shown = lines[number - 1] if 0 < number <= len(lines) else (error.text or "")
        column = max(1, error.offset or 1)
        caret = " " * (min(column, len(shown) + 1) - 1) + "^"
        return FormatProblem(
            kind="syntax",
            explanation=f"The module is not valid Python: line {number}, column {column}: {error.msg}\n"
            f"    {shown}\n    {caret}",
            line=number,
            column=column,
            source=shown.strip(),
        )
    except (RecursionError, MemoryError, ValueError) as error:
        return FormatProblem(
            kind="syntax",
            explanation=f"The module cannot be parsed ({type(error).__name__}): its expressions are nested too deeply "
            "or it holds text that Python does not accept. Write simpler statements.",
        )


def _without_reasoning(text: str) -> str | None:
    """Drop reasoning before the answer; None when it never ends."""
    closes = list(_REASONING_CLOSE.finditer(text))
    if closes:
        return text[closes[-1].end() :]
    return None if _REASONING_OPEN.match(text) else text


def _blocks(text: str) -> list[_Block]:
    """Find fenced blocks as CommonMark does: a fence closes with the same sign, at least as long, and no tag."""
    blocks: list[_Block] = []
    fence = indent = tag = ""
    body: list[str] | None = None
    for line in text.split("\n"):
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if body is None:
            if match:
                indent, fence, info = match.groups()
                tag = info.strip().split()[0].lower().strip("{}.") if info.strip() else ""
                body = []
            continue
        if match and match.group(2)[0] == fence[0] and len(match.group(2)) >= len(fence) and not match.group(3).strip():
            blocks.append(_Block(tag=tag, text="\n".join(body) + "\n", closed=True))
            body = None
            continue
        body.append(line.removeprefix(indent))
    if body is not None:
        blocks.append(_Block(tag=tag, text="\n".join(body) + "\n", closed=False))
    return blocks


_DEFINITION = re.compile(r"^(?:async\s+def|def|class|@|[A-Za-z_]\w*\s*(?::[^=\n]+)?=[^=])", re.MULTILINE)


def _defines(source: str) -> bool:
    """Whether a block defines a name at top level (also when it does not parse)."""
    return _DEFINITION.search(source) is not None


def _has_wrapper(source: str) -> bool:
    return re.search(r"^(?:async\s+)?def\s+wrapper\b", source, re.MULTILINE) is not None
