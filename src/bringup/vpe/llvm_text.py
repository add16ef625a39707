"""Writing LLVM IR as text: a unit (module), functions with structured loops and branches, and integers with operators.

Text, not `llvmlite.ir` objects: it is several times faster to make, and every kernel pays for it at its first launch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" "probe-stack"="inline-asm"'
"""Of every function. Each page of a frame is touched in turn, so that no frame steps over the end of a thread's stack
into what lies below it."""


class Unit:
    """One LLVM module in the making."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.declarations: dict[str, str] = {}
        self.functions: list[str] = []
        self.globals: list[str] = []
        self.written: set[str] = set()
        self.e2m1: str | None = None
        """Name of the table of e2m1's values, once somebody needs it."""

    def declare(self, name: str, result: str, *args: str) -> str:
        """Declare an external function or intrinsic once; returns its name with `@`."""
        if name not in self.written:
            self.declarations.setdefault(name, f"declare {result} @{name}({', '.join(args)})")
        return f"@{name}"

    def constant_bytes(self, data: bytes) -> str:
        """A private constant array; returns its name with `@`."""
        name = f"@c{len(self.globals)}"
        text = "".join(f"\\{byte:02X}" for byte in data)
        self.globals.append(f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{text}", align 64')
        return name

    def text(self) -> str:
        """The module's text."""
        declarations = [line for name, line in self.declarations.items() if name not in self.written]
        attributes = f"attributes #0 = {{ {ATTRIBUTES} }}"
        return "\n".join([f"; {self.name}", *self.globals, *declarations, *self.functions, attributes, ""])


class TooLong(Exception):
    """A function has more lines than it may have."""


class Function:
    """One LLVM function in the making: appends instructions to the current block."""

    def __init__(self, unit: Unit, name: str, result: str, args: list[tuple[str, str]], internal: bool = False) -> None:
        self.unit, self.name, self.result = unit, name, result
        unit.written.add(name)
        linkage = "internal " if internal else ""
        params = ", ".join(f"{type_} %{arg}" for type_, arg in args)
        self.header = f"define {linkage}{result} @{name}({params}) #0 {{"
        self.allocas: list[str] = []
        self.lines: list[str] = []
        self.count = 0
        self.most: int | None = None
        """Lines that may be written, where what is written has no other bound."""
        self.current = "entry"
        self.open = True
        self.constants: dict[tuple[str, ...], str] = {}

    def tmp(self) -> str:
        """A fresh SSA name."""
        self.count += 1
        return f"%t{self.count}"

    def emit(self, text: str) -> str:
        """Append an instruction with a result; returns the result's name."""
        self.count += 1
        if self.most is not None and len(self.lines) > self.most:
            raise TooLong(f"more than {self.most:,} lines of code")
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def new_label(self, hint: str = "b") -> str:
        """A fresh label name, not placed yet."""
        self.count += 1
        return f"{hint}{self.count}"

    def label(self, name: str) -> None:
        """Start a block; falls through from the current one if that is still open."""
        if self.open:
            self.lines.append(f"  br label %{name}")
        self.lines.append(f"{name}:")
        self.current = name
        self.open = True

    def br(self, name: str) -> None:
        """Jump; ends the block."""
        if self.open:
            self.lines.append(f"  br label %{name}")
        self.open = False

    def cond(self, condition: str, yes: str, no: str) -> None:
        """Branch on an i1; ends the block."""
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}")
        self.open = False

    def ret(self, text: str) -> None:
        """Return `text` (`i64 %x`, or `void`); ends the block."""
        self.lines.append(f"  ret {text}")
        self.open = False

    def alloca(self, type_: str, align: int = 8) -> str:
        """A stack slot in the entry block."""
        self.count += 1
        name = f"%a{self.count}"
        self.allocas.append(f"  {name} = alloca {type_}, align {align}")
        return name

    @contextmanager
    def loop(self, count: str | int, step: int = 1) -> Iterator[str]:
        """A counted loop that runs at least once; yields the i64 counter."""
        head, latch, out = self.new_label("head"), self.new_label("latch"), self.new_label("out")
        following = self.tmp()
        before = self.current
        self.br(head)
        self.label(head)
        counter = self.emit(f"phi i64 [ 0, %{before} ], [ {following}, %{latch} ]")
        yield counter
        self.label(latch)
        self.do(f"{following} = add nuw nsw i64 {counter}, {step}")
        done = self.emit(f"icmp ult i64 {following}, {count}")
        self.cond(done, head, out)
        self.label(out)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Blocks that run only if the i1 holds."""
        yes, out = self.new_label("then"), self.new_label("endif")
        self.cond(condition, yes, out)
        self.label(yes)
        yield
        self.br(out)
        self.label(out)

    def finish(self) -> None:
        """Hand the text to the unit."""
        body = [self.header, "entry:", *self.allocas, *self.lines, "}"]
        self.unit.functions.append("\n".join(body))

    # integers of 64 bits

    def i(self, name: str | int) -> Int:
        """An i64 as an `Int`."""
        return Int(self, str(name))

    def load64(self, pointer: str, index: str | int | Int = 0) -> Int:
        """`((i64*)pointer)[index]`."""
        if str(index) != "0":
            pointer = self.emit(f"getelementptr i64, ptr {pointer}, i64 {index}")
        return Int(self, self.emit(f"load i64, ptr {pointer}, align 8"))

    def store64(self, value: str | int | Int, pointer: str, index: str | int | Int = 0) -> None:
        """`((i64*)pointer)[index] = value`."""
        if str(index) != "0":
            pointer = self.emit(f"getelementptr i64, ptr {pointer}, i64 {index}")
        self.do(f"store i64 {value}, ptr {pointer}, align 8")

    def pointer(self, address: str | Int) -> str:
        """An i64 address as a pointer."""
        return self.emit(f"inttoptr i64 {address} to ptr")

    def gep8(self, pointer: str, offset: str | int | Int) -> str:
        """Pointer plus bytes."""
        if str(offset) == "0":
            return pointer
        return self.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def variable(self, initial: str | int | Int = 0) -> Var:
        """A mutable i64."""
        slot = self.alloca("i64")
        self.do(f"store i64 {initial}, ptr {slot}")
        return Var(self, slot)

    @contextmanager
    def forever(self) -> Iterator[tuple[str, str]]:
        """An endless loop; yields (label to continue at, label to leave to)."""
        head, out = self.new_label("loop"), self.new_label("done")
        self.label(head)
        yield head, out
        self.br(head)
        self.label(out)

    def leave_if(self, condition: str, target: str) -> None:
        """Jump to `target` if the i1 holds, else go on."""
        stay = self.new_label("stay")
        self.cond(condition, target, stay)
        self.label(stay)


class Int:
    """An i64 SSA value (or literal) with operators; comparisons give i1 names."""

    __slots__ = ("f", "name")

    def __init__(self, function: Function, name: str) -> None:
        self.f, self.name = function, name

    def __str__(self) -> str:
        return self.name

    def _op(self, op: str, other: object) -> Int:
        return Int(self.f, self.f.emit(f"{op} i64 {self.name}, {other}"))

    def __add__(self, other: object) -> Int:
        return self._op("add", other)

    def __sub__(self, other: object) -> Int:
        return self._op("sub", other)

    def __mul__(self, other: object) -> Int:
        return self._op("mul", other)

    def __and__(self, other: object) -> Int:
        return self._op("and", other)

    def __or__(self, other: object) -> Int:
        return self._op("or", other)

    def __lshift__(self, other: object) -> Int:
        return self._op("shl", other)

    def __rshift__(self, other: object) -> Int:
        return self._op("lshr", other)

    def cmp(self, predicate: str, other: object) -> str:
        """`icmp predicate` with another i64; returns the i1's name."""
        return self.f.emit(f"icmp {predicate} i64 {self.name}, {other}")

    def min_signed(self, other: object) -> Int:
        """The smaller one, signed."""
        return Int(self.f, self.f.emit(f"select i1 {self.cmp('slt', other)}, i64 {self.name}, i64 {other}"))

    def max_signed(self, other: object) -> Int:
        """The larger one, signed."""
        return Int(self.f, self.f.emit(f"select i1 {self.cmp('sgt', other)}, i64 {self.name}, i64 {other}"))


class Var:
    """A mutable i64 on the stack (promoted to a register by the optimiser)."""

    __slots__ = ("f", "slot")

    def __init__(self, function: Function, slot: str) -> None:
        self.f, self.slot = function, slot

    @property
    def value(self) -> Int:
        """What it holds now."""
        return Int(self.f, self.f.emit(f"load i64, ptr {self.slot}"))

    @value.setter
    def value(self, new: str | int | Int) -> None:
        self.f.do(f"store i64 {new}, ptr {self.slot}")
