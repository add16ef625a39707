"""What runs a kernel's programs, native code of the runtime: the same for all kernels.

`i32 vpe_programs(ptr ctx, i64 kernel, i64 rows)` takes chunks of programs from a counter that threads share until none
is left, and calls the kernel for each. Where cycles are limited, it notes the work of each program that ends, and takes
no more once all took too much. `kernel` is the address of `i32 (ptr ctx)`; `rows`: of counters that a PE has, one
unless the kernel counts by line.
"""

from __future__ import annotations

from bringup.vpe import layout as L
from bringup.vpe.llvm_text import Function, Unit

PROGRAMS = "vpe_programs"
KERNEL = "vpe_kernel"  # in its own code: one program


def write_programs(unit: Unit) -> None:
    """Write it; `vpe_work` (`work`) has to be in the unit."""
    f = Function(unit, PROGRAMS, "i32", [("ptr", "ctx"), ("i64", "kernel"), ("i64", "rows")])
    kernel, rows = f.pointer("%kernel"), f.i("%rows")
    shared = f.pointer(f.load64("%ctx", L.NEXT))
    total, chunk = f.load64("%ctx", L.PROGRAMS), f.load64("%ctx", L.CHUNK)
    order = f.load64("%ctx", L.ORDER)
    stop = f.pointer(f.load64("%ctx", L.STOP))
    pes, counters = f.load64("%ctx", L.PE_COUNT), f.load64("%ctx", L.COUNTER_BASE)
    gx, gy = f.load64("%ctx", L.GRID), f.load64("%ctx", L.GRID + 1)
    over, taken, work = (f.pointer(f.load64("%ctx", slot)) for slot in (L.OVER, L.TOTAL, L.WORK))
    limited, limit = f.load64("%ctx", L.WEIGHTS).cmp("ne", 0), f.load64("%ctx", L.TOTAL_LIMIT)
    by_line = rows.cmp("sgt", 1)
    has_order = order.cmp("ne", 0)
    done, failed = f.new_label("all"), f.new_label("failed")
    with f.forever() as (_, _out):
        first = f.i(f.emit(f"atomicrmw add ptr {shared}, i64 {chunk} monotonic"))
        f.leave_if(first.cmp("sge", total), done)
        last = (first + chunk).min_signed(total)
        with f.loop(str(last - first)) as step:
            position = first + step
            stopped = f.i(f.emit(f"load atomic i64, ptr {stop} monotonic, align 8"))
            f.leave_if(stopped.cmp("slt", position), done)
            f.leave_if(f.i(f.emit(f"load atomic i64, ptr {over} monotonic, align 8")).cmp("ne", 0), done)
            f.store64(position, "%ctx", L.POSITION)
            number = f.variable(position)
            with f.when(has_order):
                number.value = f.load64(f.pointer(order), number.value)
            program = number.value
            f.store64(program, "%ctx", L.PROGRAM)
            x = f.i(f.emit(f"urem i64 {program}, {gx}"))
            rest = f.i(f.emit(f"udiv i64 {program}, {gx}"))
            f.store64(x, "%ctx", L.PID)
            f.store64(f.i(f.emit(f"urem i64 {rest}, {gy}")), "%ctx", L.PID + 1)
            f.store64(f.i(f.emit(f"udiv i64 {rest}, {gy}")), "%ctx", L.PID + 2)
            pe = f.i(f.emit(f"urem i64 {program}, {pes}"))
            mine = counters + pe * rows * (8 * L.COUNTER_SLOTS)
            f.store64(mine, "%ctx", L.COUNTERS)
            with f.when(by_line):
                f.store64(mine, "%ctx", L.LINES)
            with f.when(limited):
                f.store64(f.i(f.emit("call i64 @vpe_work(ptr %ctx)")), "%ctx", L.BEFORE)
            place = f.pointer(mine)
            f.store64(f.load64(place, int(L.Counter.PROGRAMS)) + 1, place, int(L.Counter.PROGRAMS))
            bad = f.emit(f"call i32 {kernel}(ptr %ctx)")
            f.leave_if(f.emit(f"icmp ne i32 {bad}, 0"), failed)
            with f.when(limited):
                own = f.i(f.emit("call i64 @vpe_work(ptr %ctx)")) - f.load64("%ctx", L.BEFORE)
                f.store64(own, work, position)
                before = f.i(f.emit(f"atomicrmw add ptr {taken}, i64 {own} monotonic"))
                with f.when((before + own).cmp("sgt", limit)):
                    f.do(f"store atomic i64 1, ptr {over} monotonic, align 8")
    f.do("unreachable")
    f.open = False
    f.label(failed)
    # programs before this one go on: which one is reported does not depend on the threads
    f.do(f"{f.tmp()} = atomicrmw min ptr {stop}, i64 {f.load64('%ctx', L.POSITION)} monotonic")
    f.ret("i32 1")
    f.label(done)
    f.ret("i32 0")
    f.finish()
