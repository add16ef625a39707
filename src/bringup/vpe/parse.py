"""TTIR text to `ir.Module`.

Reads what `str(module)` prints with locations in Triton 3.6 and 3.7: one operation a line, regions by lines
that end in `{`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace

from bringup.vpe.ir import BITS, Block, Frame, Func, Module, Op, Type, Value

_SSA = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_RESULTS = re.compile(r"^(%[^=]*?) = (?=[\"\w])")
_NAME = re.compile(r'^"?([\w.]+)"?')
_WORD_ATTR = re.compile(r"(\w+) = ([\w.]+)")
_SUCCESSOR = re.compile(r"(\^[\w]+)(?:\(([^)]*)\))?")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_WORD = re.compile(r"[\w.]*", re.ASCII)
_MARK = "\N{SECTION SIGN}"  # no character that a word of the text can hold
# What of an operation's dictionary is its own. All else is anybody's, whatever its name, and says nothing to MLIR.
_OWN: dict[str, frozenset[str]] = {
    "tt.dot_scaled": frozenset({"lhs_k_pack", "rhs_k_pack"}),
    "tt.expand_dims": frozenset({"axis"}),
    "tt.extern_elementwise": frozenset({"symbol"}),
    "tt.gather": frozenset({"axis"}),
    "tt.make_range": frozenset({"start", "end"}),
    "tt.map_elementwise": frozenset({"pack"}),
    "tt.print": frozenset({"hex", "isSigned"}),
    "tt.reduce": frozenset({"axis"}),
    "tt.scan": frozenset({"axis", "reverse"}),
    "tt.trans": frozenset({"order"}),
}
_ROUNDINGS = {"to_nearest_even": "rtne", "toward_zero": "rtz", "downward": "", "upward": "", "to_nearest_away": ""}
_BINARY_FLAGS = {"scf.for", "scf.while", "scf.if"}
_RETURNS = (
    "tt.return",
    "tt.reduce.return",
    "tt.scan.return",
    "tt.map_elementwise.return",
    "scf.yield",
    "scf.condition",
)


class ParseError(Exception):
    """TTIR in a form that this reader does not know; holds the line."""


@functools.lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """`tensor<64x!tt.ptr<f32>>`, `!tt.ptr<f32>`, `i32`, `index` ... to a `Type`.

    Raises:
        ParseError: a type outside TTIR's numbers and pointers.
    """
    text = text.strip()
    if text.startswith("tensor<"):
        inner = text[7:-1]
        sizes = []
        while match := re.match(r"(\d+)x", inner):
            sizes.append(int(match[1]))
            inner = inner[match.end() :]
        element = parse_type(inner.split(",")[0] if not inner.startswith("!") else inner)
        return Type(element.elem, tuple(sizes), element.pointee)
    if text.startswith("!tt.ptr<"):
        inner = text[8:-1]
        inner = re.sub(r", \d+$", "", inner)
        target = parse_type(inner) if inner.startswith("!tt.ptr") else None
        return Type("ptr", None, inner if target is None else f"ptr<{target.pointee}>")
    if text == "index":
        return Type("i64")
    if text not in BITS:
        raise ParseError(f"type {text}")
    return Type(text)


def _split(text: str, separator: str = ",") -> list[str]:
    """Split at separators outside of brackets and quotes."""
    parts, depth, start, quoted, previous = [], 0, 0, False, ""
    for position, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif not quoted:
            if char in "<([{":
                depth += 1
            elif char in ")]}" or (char == ">" and previous != "-"):
                depth -= 1
            elif char == separator and depth == 0:
                parts.append(text[start:position].strip())
                start = position + 1
        previous = char
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


def _close(text: str, start: int) -> int:
    """Index after the bracket that closes the one at `start`."""
    depth, quoted = 0, False
    for position in range(start, len(text)):
        char = text[position]
        if char == '"':
            quoted = not quoted
        elif not quoted:
            if char in "([{":
                depth += 1
            elif char in ")]}":
                depth -= 1
                if depth == 0:
                    return position + 1
    raise ParseError(text)


def _cut_loc(line: str) -> tuple[str, str]:
    """Separate the trailing ` loc(...)`."""
    if not line.endswith(")"):
        return line, ""
    at = line.rfind(" loc(")
    while at >= 0:
        if _close(line, at + 4) == len(line):
            return line[:at], line[at + 5 : -1]
        at = line.rfind(" loc(", 0, at)
    return line, ""


def _attr_dict(name: str, text: str) -> dict[str, str]:
    """What a dictionary says of an operation of this name."""
    attrs, own = {}, _OWN.get(name, frozenset())
    for item in _split(text):
        key, _, value = item.partition(" = ")
        if (key := key.strip().strip('"')) in own:
            attrs[key] = value.strip()
    return attrs


class _Reader:
    def __init__(self, text: str) -> None:
        self.locs: dict[str, str] = {}
        self.lines: list[str] = []
        self.strings: dict[str, str] = {}
        """Literals that hold more than a word -> the word that stands for each, so that none is read as syntax."""
        for line in text.splitlines():
            stripped = line.strip()
            if stripped.startswith("#loc"):
                name, _, rest = stripped.partition(" = ")
                self.locs[name] = rest[4:-1]
            elif stripped:
                self.lines.append(_STRING.sub(self.hidden, stripped))
        self.at = 0
        self.count = 0
        self.scope: dict[str, Value] = {}
        self.stack: list[Op] = []

    def hidden(self, literal: re.Match[str]) -> str:
        """A literal as it is where it is a word, else one that stands for it."""
        content = literal[1]
        if _WORD.fullmatch(content):
            return literal[0]
        # MLIR prints what is not ASCII as escapes, so that no literal of the text is a mark already
        return f'"{self.strings.setdefault(content, _MARK + str(len(self.strings)))}"'

    def shown(self, content: str) -> str:
        """What a literal holds."""
        return next((text for text, mark in self.strings.items() if mark == content), content)

    def define(self, name: str, type_: Type, op: Op | None = None, index: int = 0, loc: str = "") -> Value:
        value = Value(name.lstrip("%"), type_, op, index, loc)
        self.scope[name] = value
        return value

    def value(self, name: str) -> Value:
        try:
            return self.scope[name]
        except KeyError:
            raise ParseError(f"value {name} is not defined: {self.lines[self.at - 1]}") from None

    # functions and blocks

    def module(self, text: str) -> Module:
        funcs: dict[str, Func] = {}
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if line.startswith("tt.func"):
                func = self.func(line)
                if func.name in funcs:  # of another module within this one
                    raise ParseError(f"two functions are called '{func.name}'")
                funcs[func.name] = func
        if sum(func.public for func in funcs.values()) != 1:
            raise ParseError("the text holds more than one kernel, or none")
        return Module(funcs, self.locs, text)

    def func(self, line: str) -> Func:
        match = re.match(r'tt\.func (public |private )?@("[^"]+"|[\w.$\-]+)\(', line)
        if not match:
            raise ParseError(line)
        end = _close(line, match.end() - 1)
        self.scope = {}
        args, attrs = [], []
        for item in _split(line[match.end() : end - 1]):
            item, loc = _cut_loc(item)
            name, _, rest = item.partition(": ")
            type_text, _, attr = rest.partition(" {")
            args.append(self.define(name, parse_type(type_text), loc=loc))
            attrs.append(attr.rstrip("}"))
        rest = line[end:]
        results: list[Type] = []
        if rest.lstrip().startswith("->"):
            types = rest.split("->", 1)[1].split(" attributes ")[0].strip().removesuffix("{").strip()
            results = self.types(types)
        blocks = self.blocks()
        for value in args:
            value.arg_of = None
        loc = _cut_loc(self.lines[self.at - 1])[1]
        return Func(self.shown(match[2].strip('"')), args, attrs, results, blocks, match[1] == "public ", loc)

    def types(self, text: str) -> list[Type]:
        text = text.strip()
        if text.startswith("("):
            text = text[1:-1]
        return [parse_type(part) for part in _split(text)]

    def blocks(self) -> list[Block]:
        """Read blocks up to the line that starts with `}`; that line is consumed."""
        blocks = [Block()]
        while True:
            line = self.lines[self.at]
            self.at += 1
            if line.startswith("}"):
                break
            if line.startswith("^"):
                blocks.append(self.label(line))
                continue
            self.operation(line, blocks[-1])
        if not blocks[0].ops and len(blocks) > 1:
            blocks.pop(0)
        return blocks

    def label(self, line: str) -> Block:
        line = line.split("  //", maxsplit=1)[0].rstrip().rstrip(":")
        name, _, rest = line.partition("(")
        block = Block(name)
        if rest:
            for item in _split(rest[:-1]):
                item, loc = _cut_loc(item)
                arg, _, type_text = item.partition(": ")
                block.args.append(self.define(arg, parse_type(type_text), loc=loc))
        for value in block.args:
            value.arg_of = self.stack[-1] if self.stack else None
        return block

    # operations

    def operation(self, line: str, block: Block) -> None:
        names: list[str] = []
        text = line
        if line.startswith("%") and (match := _RESULTS.match(line)):
            names = [part.strip() for part in match[1].split(",")]
            text = line[match.end() :]
        text, loc = _cut_loc(text)
        found = _NAME.match(text)
        if not found:
            raise ParseError(line)
        op = Op(found[1], loc=loc, id=self.count, parent=self.stack[-1] if self.stack else None)
        self.count += 1
        body = text[found.end() :].strip()
        block.ops.append(op)
        if op.name in _BINARY_FLAGS:
            types = self.structured(op, body)
        elif body.endswith("({"):
            types = self.generic(op, body)
        else:
            types = self.plain(op, body)
        self.results(op, names, types)

    def results(self, op: Op, names: list[str], types: list[Type]) -> None:
        for operand in op.operands:
            operand.uses.append(op)
        if not names:
            # results that nobody names still exist
            op.results = [Value(f"_{op.id}_{i}", type_, op, i, op.loc) for i, type_ in enumerate(types)]
            return
        position = 0
        for name in names:
            base, _, count = name.partition(":")
            for index in range(int(count) if count else 1):
                full = f"{base}#{index}" if count else base
                if position >= len(types):
                    raise ParseError(self.lines[self.at - 1])
                op.results.append(self.define(full, types[position], op, position, op.loc))
                position += 1

    def region(self, op: Op, args: list[Value]) -> Block:
        self.stack.append(op)
        block = self.blocks()
        self.stack.pop()
        if len(block) != 1 and op.name != "tt.map_elementwise":
            raise ParseError(f"{op.name}: a region with {len(block)} blocks")
        block[0].others = {other.label: other for other in block[1:]}
        if args:
            block[0].args = args
        if op.name.startswith("scf.") and (
            not block[0].ops or block[0].ops[-1].name not in ("scf.yield", "scf.condition")
        ):
            # MLIR does not print a terminator without operands
            block[0].ops.append(Op("scf.yield", loc=op.loc, id=self.count, parent=op))
            self.count += 1
        return block[0]

    def trailing(self, op: Op) -> None:
        """What follows the closing brace of the last region: the location, beside attributes that are anybody's."""
        _, loc = _cut_loc(self.lines[self.at - 1])
        op.loc = loc or op.loc

    def structured(self, op: Op, body: str) -> list[Type]:
        if op.name == "scf.if":
            return self.scf_if(op, body)
        head, types = body.removesuffix("{").strip(), ""
        pairs: list[tuple[str, str]] = []
        if op.name == "scf.while":
            inner = ""
            if head.startswith("("):
                end = _close(head, 0)
                inner, head = head[1 : end - 1], head[end:]
            pairs = [(a.strip(), b.strip()) for a, b in (item.split(" = ") for item in _split(inner))]
            types = head.split("->", 1)[1].strip()
        else:
            match = re.match(r"(unsigned )?(%\S+) = (%\S+) to (%\S+) step (%\S+)", head)
            if not match:
                raise ParseError(body)
            if match[1]:
                op.attrs["unsigned"] = "true"
            op.operands = [self.value(match[i]) for i in (3, 4, 5)]
            if (at := head.find("iter_args(")) >= 0:
                end = _close(head, at + 9)
                pairs = [tuple(item.split(" = ")) for item in _split(head[at + 10 : end - 1])]  # type: ignore[misc]
                types = head[end:].split("->", 1)[1].rsplit(" : ", 1)[0].strip()
        inits = [self.value(b) for _, b in pairs]
        op.operands = [*op.operands, *inits]
        args = [self.define(a, init.type, loc=init.loc) for (a, _), init in zip(pairs, inits, strict=True)]
        if op.name == "scf.for":
            args.insert(0, self.define(match[2], op.operands[0].type, loc=op.loc))  # type: ignore[index]
        for value in args:
            value.arg_of = op
        op.regions.append(self.region(op, args))
        if op.name == "scf.while":
            if self.lines[self.at - 1].startswith("} do {"):
                op.regions.append(self.region(op, []))
            else:
                raise ParseError(self.lines[self.at - 1])
        self.trailing(op)
        return self.types(types) if types else []

    def scf_if(self, op: Op, body: str) -> list[Type]:
        head = body.removesuffix("{").strip()
        condition, _, types = head.partition(" -> ")
        op.operands = [self.value(condition.strip())]
        op.regions.append(self.region(op, []))
        if self.lines[self.at - 1].startswith("} else {"):
            op.regions.append(self.region(op, []))
        self.trailing(op)
        return self.types(types) if types else []

    def generic(self, op: Op, body: str) -> list[Type]:
        """`"tt.reduce"(%a, %b) <{axis = 0 : i32}> ({ ... }) : (types) -> types`."""
        end = _close(body, 0)
        op.operands = [self.value(name) for name in _SSA.findall(body[:end])]
        if (at := body.find("<{", end)) >= 0:
            op.attrs = _attr_dict(op.name, body[at + 2 : body.index("}>", at)])
        op.regions.append(self.region(op, []))
        line, loc = _cut_loc(self.lines[self.at - 1])
        op.loc = loc or op.loc
        return self.types(line.rsplit("->", 1)[1])

    def plain(self, op: Op, body: str) -> list[Type]:
        if op.name == "arith.constant":
            return self.constant(op, body)
        if op.name.startswith("cf."):
            return self.branch(op, body)
        attrs, rest, types = "", body, ""
        # the attribute dictionary, if any, is the first brace outside quotes
        masked = _STRING.sub(lambda m: "_" * len(m[0]), body)
        if (at := masked.find("{")) >= 0:
            end = _close(body, at)
            attrs = body[at + 1 : end - 1]
            rest = body[:at] + " " + body[end:]
            masked = masked[:at] + " " + masked[end:]
        colon = masked.find(" : ")
        if colon < 0 and masked.startswith(": "):
            rest, types = "", rest[2:]
        elif colon >= 0:
            if op.name == "tt.print":
                # the operands follow the colon: `tt.print "x" {..} : %a, %b : types`
                second = masked.find(" : ", colon + 3)
                rest, types, masked = rest[:second], rest[second + 3 :], masked[:second]
            else:
                rest, types, masked = rest[:colon], rest[colon + 3 :], masked[:colon]
        op.operands = [self.value(name) for name in _SSA.findall(masked)]
        op.attrs = dict(_WORD_ATTR.findall(masked))
        if attrs:
            op.attrs.update(_attr_dict(op.name, attrs))
        if '"' in rest:
            op.attrs["text"] = self.shown(rest[rest.index('"') + 1 : rest.rindex('"')])
        bare = _SSA.sub("", masked).strip(" ,")
        if bare:
            op.attrs["bare"] = bare
            if op.name.startswith("arith.") and (word := bare.split()[0]) in _ROUNDINGS:
                if not _ROUNDINGS[word]:
                    raise ParseError(f"{op.name} {word}: numbers are rounded to nearest even, or toward_zero")
                op.attrs["rounding"] = _ROUNDINGS[word]
        if op.name == "tt.call":
            op.attrs["callee"] = self.shown(rest[1 : rest.index("(")].strip('"'))
        return self.result_types(op, types.strip())

    def result_types(self, op: Op, types: str) -> list[Type]:
        name = op.name
        if name in _RETURNS or name in (
            "tt.store",
            "tt.print",
            "tt.assert",
            "llvm.intr.assume",
            "gpu.barrier",
            "ttg.barrier",
        ):
            return []
        if "->" in types:
            found = self.types(types.rsplit("->", 1)[1])
            return found * 2 if name == "tt.split" and len(found) == 1 else found
        if name in ("arith.cmpi", "arith.cmpf"):
            return [op.operands[0].type.with_elem("i1")]
        if name == "tt.load":
            pointer = op.operands[0].type
            return [Type(pointer.target.elem, pointer.shape, pointer.target.pointee)]
        if name == "tt.addptr":
            return [op.operands[0].type]
        if name == "tt.unsplat":
            return [op.operands[0].type.scalar]
        if not types:
            return []
        if " to " in types:
            return [parse_type(types.split(" to ")[1])]
        return [parse_type(_split(types)[-1])]

    def constant(self, op: Op, body: str) -> list[Type]:
        if body.startswith("{"):
            body = body[_close(body, 0) :].strip()
        if body in ("true", "false"):
            op.attrs["value"] = body
            return [Type("i1")]
        value, _, type_text = body.rpartition(" : ")
        if "<" in value and not value.startswith("dense<"):
            raise ParseError(f"constant {value[:60]}: a constant's values must be in its own line")
        op.attrs["value"] = value.removeprefix("dense<").removesuffix(">") if value.startswith("dense<") else value
        return [parse_type(type_text)]

    def branch(self, op: Op, body: str) -> list[Type]:
        head = body.split("^", maxsplit=1)[0]
        op.operands = [self.value(name) for name in _SSA.findall(head)]
        for label, args in _SUCCESSOR.findall(body):
            names = _SSA.findall(args.split(" : ")[0])
            # forward uses of values defined in an earlier block only: blocks print in dominance order
            op.successors.append((label, [self.value(name) for name in names]))
        for _, values in op.successors:
            for value in values:
                value.uses.append(op)
        return []


def parse(text: str) -> Module:
    """Read a whole TTIR module.

    Raises:
        ParseError: a construct that this reader does not know.
    """
    return _Reader(text).module(text)


MOST_FRAMES = 64


def frames(module: Module, loc: str) -> list[Frame]:
    """The source positions of a location, innermost first, `MOST_FRAMES` at most; empty when unknown.

    A call site gives the callee's frame, then the caller's.
    """
    return _frames(module, loc, 0, [8 * MOST_FRAMES])[:MOST_FRAMES]


def _frames(module: Module, loc: str, depth: int, steps: list[int]) -> list[Frame]:
    """`steps` are left for the whole location: a text may have one that doubles with each name."""
    loc = loc.strip()
    steps[0] -= 1
    if steps[0] < 0 or depth > 64 or not loc or loc == "unknown":
        return []
    if loc.startswith("#"):
        return _frames(module, module.locs.get(loc, ""), depth + 1, steps)
    if loc.startswith("callsite("):
        callee, caller = loc[9:-1].split(" at ", 1)
        return _frames(module, callee, depth + 1, steps) + _frames(module, caller, depth + 1, steps)
    if match := re.match(r'^"((?:[^"\\]|\\.)*)":(\d+):(\d+)', loc):
        return [Frame(match[1], int(match[2]), int(match[3]))]
    if match := re.match(r'^"((?:[^"\\]|\\.)*)"(?:\((.*)\))?$', loc):
        inner = _frames(module, match[2] or "", depth + 1, steps)
        first, *rest = inner or [Frame("", 0, 0)]
        return [replace(first, name=first.name or match[1], last_name=match[1]), *rest]
    if loc.startswith("fused"):
        for part in _split(loc[loc.index("[") + 1 : loc.rindex("]")]):
            if found := _frames(module, part, depth + 1, steps):
                return found
    return []
