"""Which integer and pointer tensors walk memory in straight lines: value = start + sum(stride[d] * index[d]).

Loads and stores through such pointers become block DMA; all others are gathers and scatters. The analysis is
symbolic: starts and strides
are small expressions over scalar SSA values, emitted as 64-bit arithmetic where an access needs them.

A walk of n bits is one modulo 2^n. Where it is sign-extended it may have passed the end of n bits between two lanes;
what is not known to stay inside is kept as a term of its own (`Extended`), and is one straight line only where a check
in the generated code (`Fits`) has found that it does (`AffineAnalysis.line`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bringup.vpe.ir import BITS, Op, Type, Value

Expr = int | Value | tuple[str, "Expr", "Expr"]
"""A scalar: a number, an SSA value, ('+' | '*', a, b), ('wrap', a, bits) for sign extension from fewer bits, or
('ssub.sat' | 'sadd.sat', a, b)."""
MOST_PARTS = 512  # of a walk
Strides = tuple[Expr, ...]
Span = tuple[int, int]
"""The least and the greatest that a number can be."""


def _range(bits: int) -> Span:
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _inside(inner: Span, bits: int) -> bool:
    low, high = _range(bits)
    return low <= inner[0] and inner[1] <= high


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def add(a: Expr, b: Expr) -> Expr:
    """Sum with constants folded."""
    if isinstance(a, int) and isinstance(b, int):
        return _signed(a + b, 64)
    if a == 0:
        return b
    return a if b == 0 else ("+", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    """Product with constants folded."""
    if isinstance(a, int) and isinstance(b, int):
        return _signed(a * b, 64)
    if a == 0 or b == 0:
        return 0
    if a == 1:
        return b
    return a if b == 1 else ("*", a, b)


def wrap(a: Expr, bits: int) -> Expr:
    """What `a` is in `bits` bits: integer arithmetic of the kernel overflows as the chip's does."""
    if isinstance(a, int):
        return _signed(a, bits)
    return a if bits >= 64 or _inside(span(a), bits) else ("wrap", a, bits)


def saturated(symbol: str, a: Expr, b: Expr) -> Expr:
    """A sum ('sadd.sat') or a difference ('ssub.sat') that stops at the ends of 64 bits: a bound beyond all indices."""
    sign = 1 if symbol == "sadd.sat" else -1
    if _inside(_combined("+", span(a), span(mul(sign, b))), 64) and span(b)[0] > _range(64)[0]:
        return add(a, mul(sign, b))
    return (symbol, a, b)


def _combined(symbol: str, a: Span, b: Span) -> Span:
    if symbol == "+":
        return a[0] + b[0], a[1] + b[1]
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def span(expr: Expr, depth: int = 8) -> Span:
    """Between which numbers an expression is, in 64 bits, as far as constants and types tell."""
    if isinstance(expr, int):
        return expr, expr
    if isinstance(expr, Value):
        return _span_of(expr, depth)
    symbol, a, b = expr
    if symbol == "wrap":
        assert isinstance(b, int)
        found, bits = span(a, depth - 1), b
    elif depth > 0 and symbol in ("+", "*"):
        found, bits = _combined(symbol, span(a, depth - 1), span(b, depth - 1)), 64
    else:
        return _range(64)
    return found if _inside(found, bits) else _range(bits)


_SPANNED = {
    "arith.extsi", "arith.addi", "arith.muli", "arith.subi", "arith.minsi", "arith.remsi", "arith.divsi",
}  # fmt: skip


def _span_of(value: Value, depth: int) -> Span:
    """Between which numbers a scalar is."""
    op, bits = value.op, BITS[value.type.elem]
    most = _range(bits)
    if op is None or depth <= 0 or bits == 1:
        return most
    if op.name == "tt.get_program_id":
        return 0, most[1]
    if op.name == "arith.constant" and value.type.elem[0] == "i":
        number = _number(op)
        return number, number
    if op.name not in _SPANNED:
        return most
    parts = [span(operand, depth - 1) for operand in op.operands]
    if op.name == "arith.extsi":
        found = parts[0]
    elif op.name in ("arith.addi", "arith.muli"):
        found = _combined("+" if op.name == "arith.addi" else "*", *parts)
    elif op.name == "arith.subi":
        found = parts[0][0] - parts[1][1], parts[0][1] - parts[1][0]
    elif op.name == "arith.minsi":
        found = min(parts[0][0], parts[1][0]), min(parts[0][1], parts[1][1])
    elif op.name == "arith.remsi" and parts[1][0] > 0:
        rest = parts[1][1] - 1
        found = max(min(parts[0][0], 0), -rest), min(max(parts[0][1], 0), rest)
    elif op.name == "arith.divsi" and parts[1][0] > 0:
        found = min(parts[0][0], 0), max(parts[0][1], 0)
    else:
        return most
    return found if _inside(found, bits) else most


@dataclass(frozen=True)
class Extended:
    """A walk computed in `bits` bits, and sign-extended from there; start and strides are in that range."""

    bits: int
    start: Expr
    strides: Strides


@dataclass(frozen=True)
class Fits:
    """The condition that no element of a walk leaves the range of `bits` bits: that it is the same one in more bits."""

    bits: int
    start: Expr
    steps: tuple[tuple[Expr, int], ...]
    """Of each axis that moves: its stride, and how often it is added at most."""

    @property
    def known(self) -> bool | None:
        """Whether it holds, where that is known."""
        low, high = span(self.start)
        moved = [(span(stride), times) for stride, times in self.steps]
        if _inside((low + sum(min(x[0], 0) * n for x, n in moved), high + sum(max(x[1], 0) * n for x, n in moved)),
                   self.bits):  # fmt: skip
            return True
        if not isinstance(self.start, int) or not all(isinstance(stride, int) for stride, _ in self.steps):
            return None
        return False


@dataclass(frozen=True)
class Affine:
    """A straight walk, plus walks of fewer bits times coefficients; `root`: the argument that an address comes from."""

    start: Expr
    strides: Strides
    root: Value | None = None
    extended: tuple[tuple[Expr, Extended], ...] = ()

    @property
    def uniform(self) -> bool:
        """Whether all elements are equal."""
        return not self.extended and all(stride == 0 for stride in self.strides)

    def parts(self, most: int) -> int:
        """Of how many operations and scalars its start and strides are made, shared ones counted each time.

        Counts no further than `most`.
        """
        left: list[Expr] = [self.start, *self.strides]
        for factor, term in self.extended:
            left += [factor, term.start, *term.strides]
        found = 0
        while left and found <= most:
            one = left.pop()
            found += 1
            if isinstance(one, tuple):
                left += one[1:]
        return found

    def along(self, change: Callable[[Strides], Strides]) -> Affine:
        """The walk where the axes are others: `change` gives the strides along those."""
        start, kept = self.start, []
        for factor, term in self.extended:
            strides = change(term.strides)
            if any(stride != 0 for stride in strides):
                kept.append((factor, Extended(term.bits, term.start, strides)))
            else:  # the axis that it went along had one element
                start = add(start, mul(factor, term.start))
        return Affine(start, change(self.strides), self.root, tuple(kept))

    def times(self, factor: Expr) -> Affine:
        """Every element times a scalar."""
        extended = tuple((mul(own, factor), term) for own, term in self.extended)
        strides = tuple(mul(stride, factor) for stride in self.strides)
        return Affine(mul(self.start, factor), strides, self.root, extended if factor != 0 else ())

    def plus(self, other: Affine) -> Affine:
        """The sum, element by element."""
        terms: dict[Extended, Expr] = {term: factor for factor, term in self.extended}
        for factor, term in other.extended:
            terms[term] = add(terms.get(term, 0), factor)
        return Affine(
            add(self.start, other.start),
            tuple(add(x, y) for x, y in zip(self.strides, other.strides, strict=True)),
            self.root or other.root,
            tuple((factor, term) for term, factor in terms.items() if factor != 0),
        )


class AffineAnalysis:
    """Answers for one function; loop-carried walks are found by assuming their strides and checking the loop's
    yield.
    """

    def __init__(self) -> None:
        self.known: dict[Value, Affine | None] = {}
        self.carried: dict[Value, Value] = {}
        """Loop argument or result of a loop -> the scalar that carries its start (bytes, or the integer)."""
        self.carried_next: dict[Value, Expr] = {}
        """Loop argument -> the start that the next iteration has."""

    def of(self, value: Value) -> Affine | None:
        """The walk of a value, or None; scalars are walks without axes."""
        if value in self.known:
            return self.known[value]
        self.known[value] = None  # a cycle is no walk
        found = self._find(value)
        if found is not None and found.parts(MOST_PARTS) > MOST_PARTS:
            found = None  # each access would compute all of it: lanes do that once
        self.known[value] = found
        return found

    def _find(self, value: Value) -> Affine | None:
        type_ = value.type
        if type_.is_float or type_.elem == "i1":
            return None
        op = value.op
        if not type_.is_tensor:
            if op is not None and op.name == "arith.constant":
                return Affine(_number(op), ())
            return Affine(value, (), value if type_.elem == "ptr" else None)
        if op is None:
            return None
        handler = getattr(self, "_" + op.name.replace(".", "_"), None)
        return handler(op, type_) if handler else None

    def _arith_constant(self, op: Op, type_: Type) -> Affine | None:
        text = op.attrs["value"]
        return None if "[" in text or '"' in text else Affine(_number(op), (0,) * len(type_.dims))

    def _tt_splat(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        return inner.along(lambda _: (0,) * len(type_.dims)) if inner else None

    def _tt_make_range(self, op: Op, type_: Type) -> Affine | None:
        return Affine(op.int_attr("start"), (1,))

    def _tt_expand_dims(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        if inner is None:
            return None
        axis = op.int_attr("axis")
        return inner.along(lambda strides: (*strides[:axis], 0, *strides[axis:]))

    def _tt_broadcast(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        if inner is None:
            return None
        same = [have == want for have, want in zip(op.operands[0].type.dims, type_.dims, strict=True)]
        return inner.along(lambda strides: tuple(s if kept else 0 for s, kept in zip(strides, same, strict=True)))

    def _tt_trans(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        order = op.ints_attr("order")
        return inner.along(lambda strides: tuple(strides[i] for i in order)) if inner else None

    def _tt_reshape(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        if inner is None:
            return None
        if inner.uniform:
            return inner.along(lambda _: (0,) * len(type_.dims))
        source = op.operands[0].type.dims
        if any(_split(strides, source, type_.dims) is None for strides in (inner.strides, *_strides(inner))):
            return None
        return inner.along(lambda strides: _split(strides, source, type_.dims) or ())

    def _sum(self, op: Op, sign: int) -> Affine | None:
        a, b = self.of(op.operands[0]), self.of(op.operands[1])
        if a is None or b is None:
            return None
        return a.plus(b.times(sign))

    def _arith_addi(self, op: Op, type_: Type) -> Affine | None:
        return self._sum(op, 1)

    def _arith_subi(self, op: Op, type_: Type) -> Affine | None:
        return self._sum(op, -1)

    def _arith_muli(self, op: Op, type_: Type) -> Affine | None:
        a, b = self.of(op.operands[0]), self.of(op.operands[1])
        if a is None or b is None:
            return None
        if not b.uniform:
            a, b = b, a
        if not b.uniform:
            return None
        return a.times(b.start)

    def _arith_shli(self, op: Op, type_: Type) -> Affine | None:
        a, b = self.of(op.operands[0]), self.of(op.operands[1])
        if a is None or b is None or not b.uniform or not isinstance(b.start, int) or not 0 <= b.start < 31:
            return None
        return a.times(1 << b.start)

    def _arith_extsi(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        return _extended(inner, op.operands[0].type) if inner else None

    def _tt_bitcast(self, op: Op, type_: Type) -> Affine | None:
        return self.of(op.operands[0]) if type_.elem == "ptr" else None

    def _tt_addptr(self, op: Op, type_: Type) -> Affine | None:
        pointer, offset = self.of(op.operands[0]), self.of(op.operands[1])
        if pointer is None or offset is None:
            return None
        wide = _extended(offset, op.operands[1].type)
        return pointer.plus(wide.times(type_.target.bytes)) if wide else None

    def line(self, value: Value) -> tuple[Affine, list[Fits]] | None:
        """A walk as one straight line of 64-bit numbers, and all that must hold for it to be that."""
        walk = self.of(value)
        if walk is None:
            return None
        dims = value.type.dims
        whole = Affine(walk.start, walk.strides, walk.root)
        for factor, term in walk.extended:
            whole = whole.plus(Affine(term.start, term.strides).times(factor))
        needs = [_fits(term, dims) for _, term in walk.extended]
        if value.type.elem == "ptr":  # addresses are modulo 2^64
            return whole, needs
        own = _in_range(whole, BITS[value.type.elem])
        fits = _fits(own, dims)
        if fits.known is False:
            return None
        return Affine(own.start, own.strides), needs if fits.known else [*needs, fits]

    def enter_loop(self, op: Op) -> None:
        """Look for walks carried by a `scf.for`; to be called before anything of its body is asked for."""
        args, inits = op.regions[0].args[1:], op.operands[3:]
        yields = op.regions[0].ops[-1].operands
        candidates = []
        for arg, init, result, following in zip(args, inits, op.results, yields, strict=True):
            walk = self.of(init)
            if not arg.type.is_tensor or walk is None:
                continue
            scalar = Value(f"{arg.name}.start", Type("i64"))
            self.known[arg] = Affine(scalar, walk.strides, walk.root, walk.extended)
            candidates.append((arg, init, result, following, scalar))
        if not candidates:
            return
        while True:
            before = dict(self.known)
            failed = []
            for arg, _, _, following, _ in candidates:
                walk, mine = self.of(following), self.known[arg]
                if (
                    walk is None
                    or mine is None
                    or walk.strides != mine.strides
                    or set(walk.extended) != set(mine.extended)
                ):
                    failed.append(arg)
            if not failed:
                break
            self.known = before
            for arg in failed:
                self.known[arg] = None
            candidates = [entry for entry in candidates if entry[0] not in failed]
        for arg, _, result, following, scalar in candidates:
            mine, walk = self.known[arg], self.of(following)
            assert mine is not None
            assert walk is not None
            self.carried[arg] = scalar
            self.carried_next[arg] = walk.start
            final = Value(f"{result.name}.start", Type("i64"))
            self.carried[result] = final
            self.known[result] = Affine(final, mine.strides, mine.root, mine.extended)


def _strides(walk: Affine) -> list[Strides]:
    return [term.strides for _, term in walk.extended]


def _split(strides: Strides, source: tuple[int, ...], dims: tuple[int, ...]) -> Strides | None:
    """Strides of a reshaped walk, or None where it has none."""
    have = [(size, stride) for size, stride in zip(source, strides, strict=True) if size > 1]
    found: list[Expr] = []
    for size in reversed(dims):
        # split the innermost axis that is left as long as it divides
        if size == 1:
            found.append(0)
            continue
        if not have:
            return None
        last, stride = have.pop()
        if last % size:
            return None
        found.append(stride)
        if last > size:
            have.append((last // size, mul(stride, size)))
    return tuple(reversed(found))


def _in_range(walk: Affine, bits: int) -> Extended:
    return Extended(bits, wrap(walk.start, bits), tuple(wrap(stride, bits) for stride in walk.strides))


def _fits(term: Extended, dims: tuple[int, ...]) -> Fits:
    steps = zip(term.strides, dims, strict=True)
    return Fits(term.bits, term.start, tuple((stride, size - 1) for stride, size in steps if size > 1 and stride != 0))


def _extended(walk: Affine, type_: Type) -> Affine | None:
    """A walk of fewer bits in 64: one line where it is known to stay in its range, None where it is known not to."""
    bits = BITS[type_.elem]
    if bits >= 64:
        return walk
    if walk.extended:  # extended twice: computed by lanes
        return None
    term = _in_range(walk, bits)
    fits = _fits(term, type_.dims).known
    if fits is None:
        return Affine(0, (0,) * len(term.strides), walk.root, ((1, term),))
    return Affine(term.start, term.strides, walk.root) if fits else None


def _number(op: Op) -> int:
    from bringup.vpe.lower.lanes import literal

    value = literal(op.attrs["value"], op.result.type.elem)[1]
    return value if value is not None else 0
