"""The matrix unit: c += a @ b on dense row-major matrices in local memory, for fp32, fp64 and int32.

Each element of c is accumulated in the order of k; floats with a fused multiply-add (the product is not
rounded), as matrix units do.
Signature: `void vpe_dot_<type>(ptr a, ptr b, ptr c, i64 m, i64 n, i64 k)`.
"""

from __future__ import annotations

from bringup.vpe.llvm_text import Function, Int, Unit

_TYPES = {"f32": ("float", 16, 4), "f64": ("double", 8, 8), "i32": ("i32", 16, 4)}


def _tile(f: Function, kind: str, rows: int, vectors: int, width: int, row: Int, column: Int) -> None:
    """One register tile: `rows` x (`vectors` * `width`) elements of c, all of k."""
    scalar, _, size = _TYPES[kind]
    type_ = f"<{width} x {scalar}>" if width > 1 else scalar
    n, k = f.i("%n"), f.i("%k")
    places = []
    for r in range(rows):
        start = (row + r) * n + column
        places.append([f.emit(f"getelementptr {scalar}, ptr %c, i64 {start + v * width}") for v in range(vectors)])
    initial = [[f.emit(f"load {type_}, ptr {place}, align {size}") for place in line] for line in places]
    a_rows = [f.emit(f"getelementptr {scalar}, ptr %a, i64 {(row + r) * k}") for r in range(rows)]
    head, out = f.new_label("k"), f.new_label("kdone")
    before = f.current
    f.br(head)
    f.label(head)
    following = f.tmp()
    counter = f.emit(f"phi i64 [ 0, %{before} ], [ {following}, %{head} ]")
    next_names = [[f.tmp() for _ in range(vectors)] for _ in range(rows)]
    current = [
        [f.emit(f"phi {type_} [ {initial[r][v]}, %{before} ], [ {next_names[r][v]}, %{head} ]") for v in range(vectors)]
        for r in range(rows)
    ]
    b_row = f.emit(f"getelementptr {scalar}, ptr %b, i64 {f.i(counter) * n + column}")
    b = []
    for v in range(vectors):
        place = f.emit(f"getelementptr {scalar}, ptr {b_row}, i64 {v * width}")
        b.append(f.emit(f"load {type_}, ptr {place}, align {size}"))
    for r in range(rows):
        place = f.emit(f"getelementptr {scalar}, ptr {a_rows[r]}, i64 {counter}")
        one = f.emit(f"load {scalar}, ptr {place}, align {size}")
        if width > 1:
            part = f.emit(f"insertelement {type_} poison, {scalar} {one}, i64 0")
            one = f.emit(f"shufflevector {type_} {part}, {type_} poison, <{width} x i32> zeroinitializer")
        for v in range(vectors):
            if scalar == "i32":
                product = f.emit(f"mul {type_} {one}, {b[v]}")
                f.do(f"{next_names[r][v]} = add {type_} {current[r][v]}, {product}")
            else:
                short = "f32" if scalar == "float" else "f64"
                suffix = f"v{width}{short}" if width > 1 else short
                fma = f.unit.declare(f"llvm.fma.{suffix}", type_, type_, type_, type_)
                f.do(f"{next_names[r][v]} = call {type_} {fma}({type_} {one}, {type_} {b[v]}, {type_} {current[r][v]})")
    f.do(f"{following} = add nuw nsw i64 {counter}, 1")
    f.cond(f.emit(f"icmp ult i64 {following}, {k}"), head, out)
    f.label(out)
    for r in range(rows):
        for v in range(vectors):
            f.do(f"store {type_} {next_names[r][v]}, ptr {places[r][v]}, align {size}")


def write_dot(unit: Unit) -> None:
    """Add the matrix functions to a unit."""
    for kind, (_, lanes, _) in _TYPES.items():
        args = [("ptr", "a"), ("ptr", "b"), ("ptr", "c"), ("i64", "m"), ("i64", "n"), ("i64", "k")]
        f = Function(unit, f"vpe_dot_{kind}", "void", args)
        m, n = f.i("%m"), f.i("%n")
        row, column = f.variable(0), f.variable(0)
        finished = f.new_label("finished")
        shapes = [
            (rows, vectors, lanes) for vectors in (4, 2, 1) for rows in (6, 4, 1) if not (rows == 6 and vectors != 4)
        ]
        shapes += [(4, 1, 1), (1, 1, 1)]
        with f.forever() as (_, columns_done):
            f.leave_if(column.value.cmp("sge", n), columns_done)
            here = column.value
            left = n - here
            next_column = f.new_label("nextcolumn")
            for vectors, width in ((4, lanes), (2, lanes), (1, lanes), (1, 1)):
                skip = f.new_label("narrower")
                f.leave_if(left.cmp("slt", vectors * width), skip)
                row.value = 0
                with f.forever() as (again, rows_done):
                    f.leave_if(row.value.cmp("sge", m), rows_done)
                    at = row.value
                    rows_left = m - at
                    for rows in sorted({rows for rows, v, w in shapes if v == vectors and w == width}, reverse=True):
                        fewer = f.new_label("fewer")
                        f.leave_if(rows_left.cmp("slt", rows), fewer)
                        _tile(f, kind, rows, vectors, width, at, here)
                        row.value = at + rows
                        f.br(again)
                        f.label(fewer)
                    f.do("unreachable")
                    f.open = False
                column.value = here + vectors * width
                f.br(next_column)
                f.label(skip)
            f.do("unreachable")
            f.open = False
            f.label(next_column)
        f.br(finished)
        f.label(finished)
        f.ret("void")
        f.finish()
