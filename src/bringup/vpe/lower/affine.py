"""Which integer and pointer tensors walk memory in straight lines: value = start + sum(stride[d] * index[d]).

Loads and stores through such pointers become block DMA; all others are gathers and scatters. The analysis is
symbolic: starts and strides
are small expressions over scalar SSA values, emitted as 64-bit arithmetic where an access needs them.
"""

from __future__ import annotations

from dataclasses import dataclass

from bringup.vpe.ir import BITS, Op, Type, Value

Expr = int | Value | tuple[str, "Expr", "Expr"]
"""A scalar: a number, an SSA value, ('+' | '*', a, b), or ('wrap', a, bits) for sign extension from fewer bits."""


def add(a: Expr, b: Expr) -> Expr:
    """Sum with constants folded."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0:
        return b
    return a if b == 0 else ("+", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    """Product with constants folded."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    if a == 1:
        return b
    return a if b == 1 else ("*", a, b)


def wrap(a: Expr, bits: int) -> Expr:
    """What `a` is in `bits` bits: integer arithmetic of the kernel overflows as the chip's does."""
    if bits >= 64 or isinstance(a, Value):
        return a
    if isinstance(a, int):
        a &= (1 << bits) - 1
        return a - (1 << bits) if a >> (bits - 1) else a
    return ("wrap", a, bits)


@dataclass(frozen=True)
class Affine:
    """A straight walk; `root` is the pointer argument that the address comes from, if it is a pointer."""

    start: Expr
    strides: tuple[Expr, ...]
    root: Value | None = None

    @property
    def uniform(self) -> bool:
        """Whether all elements are equal."""
        return all(stride == 0 for stride in self.strides)

    def wrapped(self, type_: Type) -> Affine:
        """The walk with start and strides as they are in the integer type that they were computed in."""
        bits = BITS[type_.elem]
        if bits >= 64:
            return self
        return Affine(wrap(self.start, bits), tuple(wrap(stride, bits) for stride in self.strides), self.root)


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
        return Affine(inner.start, (0,) * len(type_.dims), inner.root) if inner else None

    def _tt_make_range(self, op: Op, type_: Type) -> Affine | None:
        return Affine(op.int_attr("start"), (1,))

    def _tt_expand_dims(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        if inner is None:
            return None
        axis = op.int_attr("axis")
        return Affine(inner.start, (*inner.strides[:axis], 0, *inner.strides[axis:]), inner.root)

    def _tt_broadcast(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        if inner is None:
            return None
        sizes = zip(inner.strides, op.operands[0].type.dims, type_.dims, strict=True)
        return Affine(inner.start, tuple(0 if have != want else stride for stride, have, want in sizes), inner.root)

    def _tt_trans(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        return (
            Affine(inner.start, tuple(inner.strides[i] for i in op.ints_attr("order")), inner.root) if inner else None
        )

    def _tt_reshape(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        if inner is None:
            return None
        if inner.uniform:
            return Affine(inner.start, (0,) * len(type_.dims), inner.root)
        have = [
            (size, stride) for size, stride in zip(op.operands[0].type.dims, inner.strides, strict=True) if size > 1
        ]
        strides: list[Expr] = []
        for size in reversed(type_.dims):
            # split the innermost axis that is left as long as it divides
            if size == 1:
                strides.append(0)
                continue
            if not have:
                return None
            last, stride = have.pop()
            if last % size:
                return None
            strides.append(stride)
            if last > size:
                have.append((last // size, mul(stride, size)))
        return Affine(inner.start, tuple(reversed(strides)), inner.root)

    def _sum(self, op: Op, sign: int) -> Affine | None:
        a, b = self.of(op.operands[0]), self.of(op.operands[1])
        if a is None or b is None:
            return None
        strides = tuple(add(x, mul(sign, y)) for x, y in zip(a.strides, b.strides, strict=True))
        return Affine(add(a.start, mul(sign, b.start)), strides, a.root or b.root)

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
        return Affine(mul(a.start, b.start), tuple(mul(stride, b.start) for stride in a.strides))

    def _arith_shli(self, op: Op, type_: Type) -> Affine | None:
        a, b = self.of(op.operands[0]), self.of(op.operands[1])
        if a is None or b is None or not b.uniform or not isinstance(b.start, int) or not 0 <= b.start < 31:
            return None
        return Affine(mul(a.start, 1 << b.start), tuple(mul(stride, 1 << b.start) for stride in a.strides))

    def _arith_extsi(self, op: Op, type_: Type) -> Affine | None:
        inner = self.of(op.operands[0])
        return inner.wrapped(op.operands[0].type) if inner else None

    def _tt_bitcast(self, op: Op, type_: Type) -> Affine | None:
        return self.of(op.operands[0]) if type_.elem == "ptr" else None

    def _tt_addptr(self, op: Op, type_: Type) -> Affine | None:
        pointer, offset = self.of(op.operands[0]), self.of(op.operands[1])
        if pointer is None or offset is None:
            return None
        offset = offset.wrapped(op.operands[1].type)
        size = type_.target.bytes
        strides = tuple(add(x, mul(y, size)) for x, y in zip(pointer.strides, offset.strides, strict=True))
        return Affine(add(pointer.start, mul(offset.start, size)), strides, pointer.root)

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
            self.known[arg] = Affine(scalar, walk.strides, walk.root)
            candidates.append((arg, init, result, following, scalar))
        if not candidates:
            return
        while True:
            before = dict(self.known)
            failed = []
            for arg, _, _, following, _ in candidates:
                walk, mine = self.of(following), self.known[arg]
                if walk is None or mine is None or walk.strides != mine.strides:
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
            self.known[result] = Affine(final, mine.strides, mine.root)


def _number(op: Op) -> int:
    from bringup.vpe.lower.lanes import literal

    value = literal(op.attrs["value"], op.result.type.elem)[1]
    return value if value is not None else 0
