"""Element-wise TTIR operations on register values: the same code serves scalars and lanes of tensors."""

from __future__ import annotations

from collections.abc import Callable

from bringup.vpe.ir import Op
from bringup.vpe.lower.lanes import FP8, INT_BITS, Lanes, V, bits_literal

_INT = {
    "arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul", "arith.andi": "and", "arith.ori": "or",
    "arith.xori": "xor",
}  # fmt: skip
_FLOAT = {
    "arith.addf": "fadd",
    "arith.subf": "fsub",
    "arith.mulf": "fmul",
    "arith.divf": "fdiv",
    "tt.precise_divf": "fdiv",
}
_MINMAX_INT = {"arith.maxsi": "smax", "arith.minsi": "smin", "arith.maxui": "umax", "arith.minui": "umin"}
_MINMAX_NAN = {"arith.maximumf": "llvm.maximum", "arith.minimumf": "llvm.minimum"}
_MINMAX_NUMBER = {"arith.maxnumf": True, "arith.minnumf": False}
_UNARY = {
    "math.sqrt": "llvm.sqrt", "tt.precise_sqrt": "llvm.sqrt", "math.floor": "llvm.floor", "math.ceil": "llvm.ceil",
    "math.absf": "llvm.fabs", "math.trunc": "llvm.trunc", "math.round": "llvm.round",
    "math.roundeven": "llvm.roundeven",
}  # fmt: skip
FUNCTIONS: dict[str, str] = {
    "math.exp": "exp", "math.exp2": "exp2", "math.log": "log", "math.log2": "log2", "math.log10": "log10",
    "math.log1p": "log1p", "math.expm1": "expm1", "math.sin": "sin", "math.cos": "cos", "math.tan": "tan",
    "math.tanh": "tanh", "math.sinh": "sinh", "math.cosh": "cosh", "math.erf": "erf", "math.rsqrt": "rsqrt",
    "math.powf": "pow", "math.atan": "atan", "math.atan2": "atan2", "math.cbrt": "cbrt",
}  # fmt: skip
"""Operations of the math dialect that are calls of a function of the special-function library."""

SPECIAL = {
    "math.sqrt",
    "tt.precise_sqrt",
    "arith.divf",
    "tt.precise_divf",
    "arith.remf",
    "tt.extern_elementwise",
    *FUNCTIONS,
}
"""Operations that the special function unit does."""

ELEMENTWISE = {
    *_INT, *_FLOAT, *_MINMAX_INT, *_MINMAX_NAN, *_MINMAX_NUMBER, *_UNARY, *FUNCTIONS,
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.ceildivsi", "arith.ceildivui",
    "arith.floordivsi",
    "arith.shli", "arith.shrsi", "arith.shrui", "arith.remf", "arith.negf", "arith.cmpi", "arith.cmpf", "arith.select",
    "arith.extsi", "arith.extui", "arith.trunci", "arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp",
    "arith.fptosi", "arith.fptoui", "arith.bitcast", "arith.index_cast", "arith.index_castui", "math.absi", "math.fma",
    "math.ctpop", "math.ctlz", "math.cttz", "tt.bitcast", "tt.fp_to_fp", "tt.int_to_ptr", "tt.ptr_to_int", "tt.addptr",
    "tt.mulhiui", "tt.clampf", "tt.extern_elementwise", "vpe.canonical",
}  # fmt: skip

CANONICAL = "vpe.canonical"
"""Any NaN becomes one; made by `nans`, in no text, and work that the chip does not have."""
NAN = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8 << 48}

Call = Callable[[Lanes, str, list[V], str], V]
"""How to call a function of the special-function library: (lanes, name, arguments, result element) -> value."""


def apply(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    """Emit one element-wise operation.

    Raises:
        KeyError: an operation that is not in `ELEMENTWISE`.
        ValueError: it gives another type than the text says, for which there may be no room.
    """
    found = _apply(lanes, op, args, call)
    if found.elem != op.result.type.elem:
        raise ValueError(f"{op.name} gives {found.elem}, and the text says {op.result.type.elem}")
    return found


def _apply(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    name = op.name
    if name in _INT:
        a, b = args
        if a.elem != "i1" and (folded := _fold(name, a, b)) is not None:
            return lanes.integer(a.elem, folded)
        return lanes.op(_INT[name], args)
    if name in _FLOAT:
        return lanes.in_f32(lambda values: lanes.op(_FLOAT[name], values), args)
    if name in _MINMAX_NAN:
        return lanes.in_f32(lambda values: lanes.call(_MINMAX_NAN[name], values), args)
    if name in _MINMAX_NUMBER:
        return lanes.in_f32(lambda values: number(lanes, values, larger=_MINMAX_NUMBER[name]), args)
    if name in _UNARY:
        return lanes.in_f32(lambda values: lanes.call(_UNARY[name], values), args)
    if name in FUNCTIONS:
        elem = op.result.type.elem
        if elem in ("f32", "f64"):
            return call(lanes, FUNCTIONS[name], args, elem)
        return lanes.narrow(call(lanes, FUNCTIONS[name], [lanes.widen(value) for value in args], "f32"), elem)
    if name in _MINMAX_INT:
        return lanes.call(f"llvm.{_MINMAX_INT[name]}", args)
    return _TABLE[name](lanes, op, args, call)


def _fold(name: str, a: V, b: V) -> int | None:
    if a.const is None or b.const is None or a.vec or b.vec:
        return None
    value = {"arith.addi": a.const + b.const, "arith.subi": a.const - b.const, "arith.muli": a.const * b.const,
             "arith.andi": a.const & b.const, "arith.ori": a.const | b.const,
             "arith.xori": a.const ^ b.const}[name]  # fmt: skip
    bits = INT_BITS[a.elem]
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _divide(signed: bool, remainder: bool) -> Callable[[Lanes, Op, list[V], Call], V]:
    def emit(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
        a, b = args
        letter = "s" if signed else "u"
        instruction = f"{letter}rem" if remainder else f"{letter}div"
        if b.const not in (None, 0, -1):
            return lanes.op(instruction, args)
        # division by zero gives zero quotient and the dividend as remainder; the smallest number by -1 wraps
        elem = a.elem
        zero = lanes.icmp("eq", b, lanes.integer(elem, 0))
        safe = lanes.select(zero, lanes.integer(elem, 1), b)
        if INT_BITS[elem] <= 32 and (a.vec or b.vec) and lanes.w > 1:
            # exact for 32-bit integers, and vectorised where integer division is not
            to_float = "sitofp" if signed else "uitofp"
            parts = [lanes.cast(to_float, lanes.splat(value), "f64") for value in (a, safe)]
            wide = lanes.cast("fptosi", lanes.op("fdiv", parts), "i64")
            quotient = lanes.cast("trunc", wide, elem)
        elif signed:
            minus = lanes.icmp("eq", safe, lanes.integer(elem, -1))
            negated = lanes.op("sub", [lanes.integer(elem, 0), a])
            plain = lanes.op("sdiv", [a, lanes.select(minus, lanes.integer(elem, 1), safe)])
            quotient = lanes.select(minus, negated, plain)
        else:
            quotient = lanes.op("udiv", [a, safe])
        if remainder:
            rest = lanes.op("sub", [a, lanes.op("mul", [quotient, safe])])
            return lanes.select(zero, a, rest)
        return lanes.select(zero, lanes.integer(elem, 0), quotient)

    return emit


def _shift(instruction: str) -> Callable[[Lanes, Op, list[V], Call], V]:
    def emit(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
        a, b = args
        bits = INT_BITS[a.elem]
        if b.const is not None and 0 <= b.const < bits:
            return lanes.op(instruction, args)
        inside = lanes.icmp("ult", b, lanes.integer(a.elem, bits))
        if instruction == "ashr":
            return lanes.op("ashr", [a, lanes.select(inside, b, lanes.integer(a.elem, bits - 1))])
        shifted = lanes.op(instruction, [a, lanes.select(inside, b, lanes.integer(a.elem, 0))])
        return lanes.select(inside, shifted, lanes.integer(a.elem, 0))

    return emit


def _cmpi(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    return lanes.icmp(op.attrs["bare"].split(",")[0].strip(), args[0], args[1])


def _cmpf(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    wide = [lanes.widen(value) for value in args] if args[0].elem != "f16" else args
    return lanes.op(f"fcmp {op.attrs['bare'].split(',')[0].strip()}", wide, "i1")


def _select(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    return lanes.select(*args)


def _resize(signed: bool) -> Callable[[Lanes, Op, list[V], Call], V]:
    def emit(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
        (value,) = args
        elem = op.result.type.elem
        have, want = INT_BITS[value.elem], INT_BITS[elem]
        if have == want:
            return lanes.same(value, elem)
        if value.const is not None and not value.vec:
            number = value.const & ((1 << have) - 1)
            if signed and number >> (have - 1):  # a truth value that is true is -1 then
                number -= 1 << have
            number &= (1 << want) - 1
            if want > 1 and number >> (want - 1):
                number -= 1 << want
            return lanes.integer(elem, number)
        return lanes.cast("trunc" if want < have else ("sext" if signed else "zext"), value, elem)

    return emit


def _float_to_float(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    (value,) = args
    elem = op.result.type.elem
    towards_zero = op.attrs.get("rounding") == "rtz"
    if elem == "f64":
        wide = lanes.widen(value)
        return wide if wide.elem == "f64" else lanes.cast("fpext", wide, "f64")
    return lanes.narrow(lanes.widen(value), elem, towards_zero)


def _int_to_float(signed: bool) -> Callable[[Lanes, Op, list[V], Call], V]:
    def emit(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
        elem = op.result.type.elem
        text = "sitofp" if signed else "uitofp"
        if elem in ("f32", "f64"):
            return lanes.cast(text, args[0], elem)
        return lanes.narrow(lanes.cast(text, args[0], "f32"), elem)

    return emit


def _float_to_int(signed: bool) -> Callable[[Lanes, Op, list[V], Call], V]:
    def emit(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
        elem = op.result.type.elem
        value = lanes.widen(args[0])
        bits = INT_BITS[elem]
        if signed and bits < 32:
            return lanes.cast("trunc", _to_signed(lanes, value, "i32"), elem)
        if signed:
            return _to_signed(lanes, value, elem)
        if bits <= 32:
            return _resized(lanes, _to_signed(lanes, value, "i64"), elem)
        half = lanes.constant(value.elem, repr(2.0**63))
        above = lanes.op("xor", [_to_signed(lanes, lanes.op("fsub", [value, half]), elem), _least(lanes, elem)])
        small = lanes.op("fcmp olt", [value, half], "i1")
        return lanes.select(small, _to_signed(lanes, value, elem), above)

    return emit


def _least(lanes: Lanes, elem: str) -> V:
    return lanes.integer(elem, -(1 << (INT_BITS[elem] - 1)))


def _to_signed(lanes: Lanes, value: V, elem: str) -> V:
    """Towards zero; the least integer for what does not fit and for NaN, as x86 has it, on every host.

    LLVM leaves open what its conversion gives then.
    """
    end = 2.0 ** (INT_BITS[elem] - 1)
    if value.elem == "f64" and elem == "i32":  # what lies between -2^31 - 1 and -2^31 fits as well
        reaches = lanes.op("fcmp ogt", [value, lanes.constant("f64", repr(-end - 1))], "i1")
    else:
        reaches = lanes.op("fcmp oge", [value, lanes.constant(value.elem, repr(-end))], "i1")
    below = lanes.op("fcmp olt", [value, lanes.constant(value.elem, repr(end))], "i1")
    fits = lanes.op("and", [reaches, below])
    return lanes.select(fits, lanes.cast("fptosi", value, elem), _least(lanes, elem))


def _resized(lanes: Lanes, value: V, elem: str) -> V:
    return value if value.elem == elem else lanes.cast("trunc", value, elem)


def _bitcast(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    return lanes.bitcast(args[0], op.result.type.elem)


def _same(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    return lanes.same(args[0], op.result.type.elem)


def _addptr(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:

    pointer, offset = args
    size = op.result.type.target.bytes
    if offset.elem != "i64":
        if offset.const is not None and not offset.vec:
            offset = lanes.integer("i64", offset.const)
        else:
            offset = lanes.cast("sext", offset, "i64")
    if offset.const is not None and not offset.vec:
        step = lanes.integer("i64", offset.const * size)
    else:
        step = lanes.op("mul", [offset, lanes.integer("i64", size)]) if size > 1 else offset
    return lanes.same(lanes.op("add", [lanes.same(pointer, "i64"), step]), "ptr")


def _mulhiui(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    bits = INT_BITS[args[0].elem]
    args = lanes.unify(args)
    vec = args[0].vec
    narrow, wide = lanes.int_type(bits, vec), lanes.int_type(2 * bits, vec)
    f = lanes.f
    parts = [f.emit(f"zext {narrow} {value.name} to {wide}") for value in args]
    product = f.emit(f"mul {wide} {parts[0]}, {parts[1]}")
    amount = f"<{', '.join([f'i{2 * bits} {bits}'] * lanes.w)}>" if vec and lanes.w > 1 else str(bits)
    high = f.emit(f"lshr {wide} {product}, {amount}")
    return V(f.emit(f"trunc {wide} {high} to {narrow}"), args[0].elem, vec)


def _clampf(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    all_nan = "all" in op.attrs.get("propagateNan", "none")
    if all_nan:
        return lanes.in_f32(lambda v: lanes.call("llvm.minimum", [lanes.call("llvm.maximum", v[:2]), v[2]]), args)
    return lanes.in_f32(lambda v: number(lanes, [number(lanes, v[:2], larger=True), v[2]], larger=False), args)


def number(lanes: Lanes, values: list[V], *, larger: bool) -> V:
    """The larger or smaller of two numbers, the other where one is NaN; of zeros +0 is larger than -0.

    LLVM's `maxnum` leaves open which zero it gives, and what a signalling NaN does.
    """
    a, b = lanes.unify(values)
    bits = "i32" if a.elem == "f32" else "i64" if a.elem == "f64" else "i16"
    parts = [lanes.bitcast(value, bits) for value in (a, b)]
    same = lanes.bitcast(lanes.op("and" if larger else "or", parts), a.elem)
    chosen = lanes.select(lanes.op("fcmp ogt" if larger else "fcmp olt", [a, b], "i1"), a, b)
    chosen = lanes.select(lanes.op("fcmp oeq", [a, b], "i1"), same, chosen)
    return lanes.select(lanes.op("fcmp uno", [b, b], "i1"), a, chosen)


def canonical(lanes: Lanes, value: V) -> V:
    """The value, or the one NaN of its format."""
    wide = value if value.elem == "f16" else lanes.widen(value)
    if value.elem in FP8:
        nan = V(str(-128 if FP8[value.elem].unsigned_zero else 0x7F), value.elem)
    else:
        nan = V(bits_literal(NAN[value.elem], value.elem), value.elem)
    return lanes.select(lanes.op("fcmp uno", [wide, wide], "i1"), nan, value)


def _remf(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    if args[0].elem == "f16":
        return lanes.narrow(lanes.op("frem", [lanes.widen(value) for value in args]), "f16")
    return lanes.in_f32(lambda values: lanes.op("frem", values), args)


def _negf(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    (value,) = args
    if value.elem == "bf16" or value.elem in FP8:
        return lanes.op("xor", [value, V("-32768" if value.elem == "bf16" else "-128", value.elem)])
    return V(lanes.f.emit(f"fneg {lanes.type(value.elem, value.vec)} {value.name}"), value.elem, value.vec)


def _fma(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    if args[0].elem == "f16":
        return lanes.narrow(_fma_f32(lanes, [lanes.widen(value) for value in args]), "f16")
    return lanes.in_f32(lambda values: _fma_f32(lanes, values), args)


def _fma_f32(lanes: Lanes, values: list[V]) -> V:
    return lanes.call("llvm.fma", values)


def _bits(intrinsic: str) -> Callable[[Lanes, Op, list[V], Call], V]:
    return lambda lanes, op, args, call: lanes.call(intrinsic, args)


def _extern(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
    return call(lanes, op.attrs["symbol"].strip('"'), args, op.result.type.elem)


def _ceil_divide(signed: bool, up: bool) -> Callable[[Lanes, Op, list[V], Call], V]:
    def emit(lanes: Lanes, op: Op, args: list[V], call: Call) -> V:
        quotient = _divide(signed, False)(lanes, op, args, call)
        rest = _divide(signed, True)(lanes, op, args, call)
        elem = args[0].elem
        inexact = lanes.icmp("ne", rest, lanes.integer(elem, 0))
        if signed:
            different = lanes.icmp("slt", lanes.op("xor", [rest, args[1]]), lanes.integer(elem, 0))
            if up:
                different = lanes.op("xor", [different, V("true", "i1")])
            inexact = lanes.op("and", [inexact, different])
        step = lanes.cast("zext", inexact, elem)
        return lanes.op("add" if up else "sub", [quotient, step])

    return emit


_TABLE: dict[str, Callable[[Lanes, Op, list[V], Call], V]] = {
    "arith.divsi": _divide(True, False), "arith.divui": _divide(False, False),
    "arith.remsi": _divide(True, True), "arith.remui": _divide(False, True),
    "arith.ceildivsi": _ceil_divide(True, True), "arith.ceildivui": _ceil_divide(False, True),
    "arith.floordivsi": _ceil_divide(True, False),
    "arith.shli": _shift("shl"), "arith.shrsi": _shift("ashr"), "arith.shrui": _shift("lshr"),
    "arith.remf": _remf, "arith.negf": _negf, "arith.cmpi": _cmpi, "arith.cmpf": _cmpf, "arith.select": _select,
    "arith.extsi": _resize(True), "arith.extui": _resize(False), "arith.trunci": _resize(True),
    "arith.index_cast": _resize(True), "arith.index_castui": _resize(False),
    "arith.extf": _float_to_float, "arith.truncf": _float_to_float, "tt.fp_to_fp": _float_to_float,
    "arith.sitofp": _int_to_float(True), "arith.uitofp": _int_to_float(False),
    "arith.fptosi": _float_to_int(True), "arith.fptoui": _float_to_int(False),
    "arith.bitcast": _bitcast, "tt.bitcast": _bitcast, "tt.int_to_ptr": _same, "tt.ptr_to_int": _same,
    "tt.addptr": _addptr, "tt.mulhiui": _mulhiui, "tt.clampf": _clampf, "math.absi": _bits("llvm.abs"),
    "math.fma": _fma, CANONICAL: lambda lanes, op, args, call: canonical(lanes, args[0]),
    "math.ctpop": _bits("llvm.ctpop"), "math.ctlz": _bits("llvm.ctlz"), "math.cttz": _bits("llvm.cttz"),
    "tt.extern_elementwise": _extern,
}  # fmt: skip
