"""The DMA engine of the chip: checked copies between device memory and local memory, written once in LLVM IR.

Kernels call these functions for every access; all checks (bounds, alignment, freed and read-only memory, poison,
races) and the DMA counters are here. Each returns an i32: 0, or 1 after writing the fault record.

Signatures (all integers i64 unless noted; `mask` is one i8 an element or null; local buffers are dense, row-major):
  vpe_load  (ptr ctx, site, arg, esize, base, n0, s0, n1, s1, n2, s2, ptr box, ptr mask, ptr local)
             strided block, strides in bytes; box = first and last index (exclusive) of each axis, or null;
             local = null checks and counts without copying
  vpe_store (the same)
  vpe_gather / vpe_scatter (ptr ctx, site, arg, esize, base, stride, ptr addresses, n, ptr mask, ptr local)
  vpe_check (ptr ctx, site, arg, address, nbytes, esize, mode) one contiguous run; mode 0 read, 1 write, 2 atomic
  vpe_fault (ptr ctx, kind, site, address, nbytes, range, other)
"""

from __future__ import annotations

from bringup.vpe import layout as L
from bringup.vpe.layout import Counter, FaultKind
from bringup.vpe.llvm_text import Function, Int, Unit
from bringup.vpe.memory import LAUNCHED

FARTHEST = 1 << 40  # bytes between elements; a tensor has 2**20 at most, so that no sum of steps wraps
_WIDE = 64  # bytes looked at together where many follow; as many as a word has bits


def _args(*names: str) -> list[tuple[str, str]]:
    return [
        ("ptr" if name in ("ctx", "mask", "local", "addresses", "range", "bytes", "box") else "i64", name)
        for name in names
    ]


def _fault(unit: Unit) -> None:
    f = Function(unit, "vpe_fault", "i32", _args("ctx", "kind", "site", "address", "nbytes", "which", "other"))
    record = f.emit(f"inttoptr i64 {f.load64('%ctx', L.FAULT)} to ptr")
    first = f.load64(record, L.F_KIND).cmp("eq", 0)
    with f.when(first):
        f.store64("%site", record, L.F_SITE)
        f.store64("%address", record, L.F_ADDRESS)
        f.store64("%nbytes", record, L.F_BYTES)
        f.store64(f.load64("%ctx", L.PROGRAM), record, L.F_PROGRAM)
        f.store64(f.load64("%ctx", L.POSITION), record, L.F_POSITION)
        f.store64("%which", record, L.F_RANGE)
        f.store64("%other", record, L.F_OTHER)
        f.store64("%kind", record, L.F_KIND)
    f.ret("i32 1")
    f.finish()


def _each_byte(byte: int, size: int) -> int:
    """A word of `size` bytes that are all `byte`."""
    return int.from_bytes(bytes([byte]) * size, "little")


def _zero_bytes(f: Function, word: str, size: int) -> str:
    """A word that is not zero exactly if a byte of `word` is; the lowest bit set in it lies in the first such byte."""
    type_ = f"i{size * 8}"
    borrowed = f.emit(f"sub {type_} {word}, {_each_byte(0x01, size)}")
    # a bit is wrong only above a byte that is zero, where a borrow came from
    low = f.emit(f"and {type_} {borrowed}, {f.emit(f'xor {type_} {word}, -1')}")
    return f.emit(f"and {type_} {low}, {_each_byte(0x80, size)}")


def _next(unit: Unit, zero: bool) -> None:
    """First position >= pos whose byte is zero (or is not), or n."""
    f = Function(unit, "vpe_next_zero" if zero else "vpe_next_nonzero", "i64", _args("bytes", "pos", "n"))
    pos = f.variable("%pos")
    words, tail = f.new_label("words"), f.new_label("tail")
    with f.forever() as (_, _out):
        here = pos.value
        f.leave_if((here + _WIDE).cmp("sgt", "%n"), words)
        many = f"<{_WIDE} x i8>"
        wide = f.emit(f"load {many}, ptr {f.gep8('%bytes', here)}, align 1")
        found = f.emit(f"icmp {'eq' if zero else 'ne'} {many} {wide}, zeroinitializer")
        bits = f.i(f.emit(f"bitcast <{_WIDE} x i1> {found} to i{_WIDE}"))
        with f.when(bits.cmp("ne", 0)):
            f.ret(f"i64 {here + f.i(f.emit(f'call i64 @llvm.cttz.i64(i64 {bits}, i1 true)'))}")
        pos.value = here + _WIDE
    f.do("unreachable")
    f.open = False
    f.label(words)
    with f.forever() as (_, _out):
        here = pos.value
        f.leave_if((here + 8).cmp("sgt", "%n"), tail)
        word = f.emit(f"load i64, ptr {f.gep8('%bytes', here)}, align 1")
        hits = f.i(_zero_bytes(f, word, 8) if zero else word)
        with f.when(hits.cmp("ne", 0)):
            bits = f.i(f.emit(f"call i64 @llvm.cttz.i64(i64 {hits}, i1 true)"))
            f.ret(f"i64 {here + (bits >> 3)}")
        pos.value = here + 8
    f.do("unreachable")
    f.open = False
    f.label(tail)
    with f.forever() as (_, out):
        here = pos.value
        f.leave_if(here.cmp("sge", "%n"), out)
        byte = f.emit(f"load i8, ptr {f.gep8('%bytes', here)}")
        f.leave_if(f.emit(f"icmp {'eq' if zero else 'ne'} i8 {byte}, 0"), out)
        pos.value = here + 1
    f.ret(f"i64 {pos.value.min_signed('%n')}")
    f.finish()


def _race(unit: Unit) -> None:
    """Mark bytes as touched by the current program; 0, or 1 after a fault."""
    f = Function(unit, "vpe_race", "i32", _args("ctx", "site", "range", "address", "nbytes", "mode"))
    low = f.load64("%range", L.LOW)
    program = f.load64("%ctx", L.PROGRAM) + 1
    mine = f.emit(f"trunc i64 {program} to i32")
    offset = f.i("%address") - low
    writers = f.pointer(f.load64("%range", L.WRITERS) + (offset << 2))
    readers = f.pointer(f.load64("%range", L.READERS) + (offset << 2))
    is_read = f.i("%mode").cmp("eq", 0)
    is_atomic = f.i("%mode").cmp("eq", 2)
    mark = f.emit(f"select i1 {is_atomic}, i32 {L.ATOMIC}, i32 {mine}")
    bad, kind, other = f.new_label("bad"), f.variable(0), f.variable(0)
    where = f.variable(0)
    with f.loop("%nbytes") as i:
        wp = f.emit(f"getelementptr i32, ptr {writers}, i64 {i}")
        rp = f.emit(f"getelementptr i32, ptr {readers}, i64 {i}")
        writer = f.emit(f"load i32, ptr {wp}")
        reader = f.emit(f"load i32, ptr {rp}")
        where.value = i
        clash = f.emit(f"icmp ne i32 {writer}, 0")
        other_writer = f.emit(f"icmp ne i32 {writer}, {mark}")
        clash = f.emit(f"and i1 {clash}, {other_writer}")
        with f.when(clash):
            other.value = f.emit(f"zext i32 {writer} to i64")
            kind.value = f.emit(f"select i1 {is_read}, i64 {int(FaultKind.READ_RACE)}, i64 {int(FaultKind.WRITE_RACE)}")
            f.br(bad)
        yes, no, out = f.new_label("rd"), f.new_label("wr"), f.new_label("next")
        f.cond(is_read, yes, no)
        f.label(yes)
        unread = f.emit(f"icmp eq i32 {reader}, 0")
        same = f.emit(f"icmp eq i32 {reader}, {mine}")
        keep = f.emit(f"or i1 {unread}, {same}")
        f.do(f"store i32 {f.emit(f'select i1 {keep}, i32 {mine}, i32 {L.MANY}')}, ptr {rp}")
        f.br(out)
        f.label(no)
        read = f.emit(f"icmp ne i32 {reader}, 0")
        foreign = f.emit(f"and i1 {read}, {f.emit(f'icmp ne i32 {reader}, {mine}')}")
        with f.when(foreign):
            other.value = f.emit(f"zext i32 {reader} to i64")
            kind.value = int(FaultKind.READ_RACE)
            f.br(bad)
        f.do(f"store i32 {mark}, ptr {wp}")
        f.br(out)
        f.label(out)
    f.ret("i32 0")
    f.label(bad)
    address = f.i("%address") + where.value
    f.do(
        f"{f.tmp()} = call i32 @vpe_fault(ptr %ctx, i64 {kind.value}, i64 %site, i64 {address}, i64 1, i64 -1, "
        f"i64 {other.value})"
    )
    f.ret("i32 1")
    f.finish()


def _count(f: Function, counter: Counter, amount: object) -> None:
    base = f.pointer(f.load64("%ctx", L.COUNTERS))
    f.store64(f.load64(base, int(counter)) + amount, base, int(counter))


def _check(unit: Unit) -> None:
    f = Function(unit, "vpe_check", "i32", _args("ctx", "site", "arg", "address", "nbytes", "esize", "mode"))
    address, nbytes = f.i("%address"), f.i("%nbytes")
    flags = f.load64("%ctx", L.FLAGS)
    ranges = f.pointer(f.load64("%ctx", L.RANGES))
    found, which = f.new_label("found"), f.variable("%arg")
    is_read = f.i("%mode").cmp("eq", 0)

    def fail(kind: FaultKind, at: object = address) -> None:
        result = f.emit(
            f"call i32 @vpe_fault(ptr %ctx, i64 {int(kind)}, i64 %site, i64 {at}, i64 %nbytes, i64 "
            f"{which.value}, i64 0)"
        )
        f.ret(f"i32 {result}")

    def inside(index: object) -> str:
        record = f.emit(f"getelementptr i64, ptr {ranges}, i64 {f.i(str(index)) * L.RANGE_SLOTS}")
        low, high = f.load64(record, L.LOW), f.load64(record, L.HIGH)
        # By differences, which cannot wrap: an address near the end of the range of 64 bits plus its bytes can.
        fits = nbytes.cmp("ule", high - low)
        near = (address - low).cmp("ule", high - low - nbytes)
        return f.emit(f"and i1 {fits}, {near}")

    with f.when((address & (f.i("%esize") - 1)).cmp("ne", 0)):
        fail(FaultKind.MISALIGNED)
    with f.when(f.i("%arg").cmp("sge", 0)):
        f.leave_if(inside("%arg"), found)
        # What lies elsewhere lies there by chance, in another process at another distance.
        fail(FaultKind.OUT_OF_BOUNDS)
    count = f.load64("%ctx", L.RANGE_COUNT)
    index = f.variable(0)
    with f.forever() as (_, out):
        here = index.value
        f.leave_if(here.cmp("sge", count), out)
        which.value = here
        f.leave_if(inside(here), found)
        index.value = here + 1
    which.value = "%arg"
    fail(FaultKind.OUT_OF_BOUNDS)
    f.label(found)
    record = f.emit(f"getelementptr i64, ptr {ranges}, i64 {which.value * L.RANGE_SLOTS}")
    kinds = f.load64(record, L.RANGE_FLAGS)
    plain, special = f.new_label("plain"), f.new_label("special")
    f.cond((kinds | (flags & L.FLAG_RACE)).cmp("eq", 0), plain, special)
    f.label(special)
    with f.when((kinds & L.RANGE_DEAD).cmp("ne", 0)):
        fail(FaultKind.FREED)
    readonly = (kinds & L.RANGE_READONLY).cmp("ne", 0)
    with f.when(f.emit(f"and i1 {readonly}, {f.i('%mode').cmp('ne', 0)}")):
        fail(FaultKind.READ_ONLY)
    with f.when((kinds & L.RANGE_SHADOW).cmp("ne", 0)):
        shadow = f.pointer(address + f.load64(record, L.SHADOW))
        with f.when(f.i("%mode").cmp("ne", 1)):
            first = f.i(f.emit(f"call i64 @vpe_next_zero(ptr {shadow}, i64 0, i64 {nbytes})"))
            with f.when(first.cmp("slt", nbytes)):
                fail(FaultKind.POISON, address + first)
        with f.when(f.i("%mode").cmp("ne", 0)):
            f.do(f"call void @llvm.memset.p0.i64(ptr {shadow}, i8 {LAUNCHED}, i64 {nbytes}, i1 false)")
    with f.when((flags & L.FLAG_RACE).cmp("ne", 0)):
        raced = f.emit(f"call i32 @vpe_race(ptr %ctx, i64 %site, ptr {record}, i64 {address}, i64 {nbytes}, i64 %mode)")
        with f.when(f.emit(f"icmp ne i32 {raced}, 0")):
            f.ret("i32 1")
    f.label(plain)
    granule = f.load64("%ctx", L.GRANULE_SHIFT)
    transactions = ((address + nbytes - 1) >> granule) - (address >> granule) + 1
    base = f.pointer(f.load64("%ctx", L.COUNTERS))
    way = f.i(f.emit(f"select i1 {is_read}, i64 0, i64 1"))
    f.store64(f.load64(base, way) + nbytes, base, way)
    f.store64(f.load64(base, way + 2) + transactions, base, way + 2)
    f.ret("i32 0")
    f.finish()


def _copy(f: Function, write: bool, memory: str, local: str, type_: str) -> None:
    source, target = (local, memory) if write else (memory, local)
    value = f.emit(f"load {type_}, ptr {source}, align 1")
    f.do(f"store {type_} {value}, ptr {target}, align 1")


def _neighbours(f: Function, write: bool, has_shadow: str, shadow: Int, slow: str) -> None:
    """Unmasked elements that lie side by side: looked up and copied at once, counted one by one."""
    n, esize, base = f.i("%n"), f.i("%esize"), f.i("%base")
    nbytes = n * esize
    side_by_side = f.emit(f"and i1 {f.i('%stride').cmp('eq', esize)}, {f.emit('icmp eq ptr %addresses, null')}")
    side_by_side = f.emit(f"and i1 {side_by_side}, {f.emit('icmp eq ptr %mask, null')}")
    with f.when(side_by_side):
        with f.when(has_shadow):
            owners = f.pointer(base + shadow)
            if write:
                f.do(f"call void @llvm.memset.p0.i64(ptr {owners}, i8 {LAUNCHED}, i64 {nbytes}, i1 false)")
            else:
                first = f.i(f.emit(f"call i64 @vpe_next_zero(ptr {owners}, i64 0, i64 {nbytes})"))
                f.leave_if(first.cmp("slt", nbytes), slow)
        with f.when(f.emit("icmp ne ptr %local, null")):
            memory = f.pointer(base)
            source, target = ("%local", memory) if write else (memory, "%local")
            f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {nbytes}, i1 false)")
        _count(f, Counter.BYTES_OUT if write else Counter.BYTES_IN, nbytes)
        _count(f, Counter.TRANSACTIONS_OUT if write else Counter.TRANSACTIONS_IN, n)
        f.ret("i32 0")


def _elements(unit: Unit, write: bool) -> None:
    """Element-wise access: addresses from an array, or base + i * stride. local = null checks and counts only."""
    name = "vpe_scatter" if write else "vpe_gather"
    f = Function(
        unit, name, "i32",
        _args("ctx", "site", "arg", "esize", "base", "stride", "addresses", "n", "mask", "local"),
    )  # fmt: skip
    n, stride, base, esize = f.i("%n"), f.i("%stride"), f.i("%base"), f.i("%esize")
    no_mask = f.emit("icmp eq ptr %mask, null")
    no_list = f.emit("icmp eq ptr %addresses, null")
    flags = f.load64("%ctx", L.FLAGS)
    _count(f, Counter.REQUESTS, 1)
    slow = f.new_label("slow")
    f.leave_if(f.i("%arg").cmp("slt", 0), slow)
    f.leave_if((flags & L.FLAG_RACE).cmp("ne", 0), slow)
    ranges = f.pointer(f.load64("%ctx", L.RANGES))
    record = f.emit(f"getelementptr i64, ptr {ranges}, i64 {f.i('%arg') * L.RANGE_SLOTS}")
    low, high = f.load64(record, L.LOW), f.load64(record, L.HIGH)
    kinds = f.load64(record, L.RANGE_FLAGS)
    forbidden = L.RANGE_DEAD | (L.RANGE_READONLY if write else 0)
    f.leave_if((kinds & forbidden).cmp("ne", 0), slow)
    room = high - low - esize
    f.leave_if(room.cmp("slt", 0), slow)
    # pass 1: no element may leave the range
    listed, strided, ready = f.new_label("listed"), f.new_label("strided"), f.new_label("ready")
    f.cond(no_list, strided, listed)
    f.label(strided)
    f.leave_if((stride + FARTHEST).cmp("ugt", 2 * FARTHEST), slow)
    last = base + (n - 1) * stride
    least, most = base.min_signed(last), base.max_signed(last)
    f.leave_if((least - low).cmp("ugt", room), slow)
    f.leave_if((most - low).cmp("ugt", room), slow)
    f.leave_if(((base | stride) & (esize - 1)).cmp("ne", 0), slow)
    f.br(ready)
    f.label(listed)
    masked, unmasked = f.new_label("masked"), f.new_label("unmasked")
    f.cond(no_mask, unmasked, masked)
    for label, use_mask in ((masked, True), (unmasked, False)):
        f.label(label)
        bad = f.alloca("i64")
        f.do(f"store i64 0, ptr {bad}")
        with f.loop("%n") as i:
            address = f.load64("%addresses", i)
            outside = f.emit(f"zext i1 {(address - low).cmp('ugt', room)} to i64")
            wrong = f.i(outside) | (address & (esize - 1))
            if use_mask:
                on = f.emit(f"load i8, ptr {f.gep8('%mask', i)}")
                wrong = f.i(f.emit(f"select i1 {f.emit(f'icmp ne i8 {on}, 0')}, i64 {wrong}, i64 0"))
            f.do(f"store i64 {f.load64(bad) | wrong}, ptr {bad}")
        f.leave_if(f.load64(bad).cmp("ne", 0), slow)
        f.br(ready)
    f.label(ready)
    has_shadow = (kinds & L.RANGE_SHADOW).cmp("ne", 0)
    shadow = f.load64(record, L.SHADOW)
    _neighbours(f, write, has_shadow, shadow, slow)
    done, moved = f.new_label("finish"), f.variable(0)
    labels = {size: f.new_label(f"size{size}") for size in (1, 2, 4, 8)}
    f.do(
        f"switch i64 %esize, label %{labels[8]} [ " + " ".join(f"i64 {s}, label %{labels[s]}" for s in (1, 2, 4)) + " ]"
    )
    f.open = False
    for size, label in labels.items():
        type_ = f"i{size * 8}"
        f.label(label)
        with f.loop("%n") as i:
            skip, go = f.new_label("skip"), f.new_label("go")
            test = f.new_label("test")
            f.cond(no_mask, go, test)
            f.label(test)
            on = f.emit(f"load i8, ptr {f.gep8('%mask', i)}")
            f.cond(f.emit(f"icmp ne i8 {on}, 0"), go, skip)
            f.label(go)
            here = f.variable(0)
            one, two, both = f.new_label("calc"), f.new_label("list"), f.new_label("have")
            f.cond(no_list, one, two)
            f.label(one)
            here.value = base + f.i(i) * stride
            f.br(both)
            f.label(two)
            here.value = f.load64("%addresses", i)
            f.br(both)
            f.label(both)
            address = here.value
            with f.when(has_shadow):
                owners = f.pointer(address + shadow)
                if write:
                    f.do(f"store {type_} {_each_byte(LAUNCHED, size)}, ptr {owners}, align 1")
                else:
                    zeros = _zero_bytes(f, f.emit(f"load {type_}, ptr {owners}, align 1"), size)
                    # the slow path finds the culprit again and reports it
                    f.leave_if(f.emit(f"icmp ne {type_} {zeros}, 0"), slow)
            with f.when(f.emit("icmp ne ptr %local, null")):
                _copy(f, write, f.pointer(address), f.gep8("%local", f.i(i) * size), type_)
            moved.value = moved.value + 1
            f.br(skip)
            f.label(skip)
        f.br(done)
    f.label(done)
    count = moved.value
    _count(f, Counter.BYTES_OUT if write else Counter.BYTES_IN, count * esize)
    _count(f, Counter.TRANSACTIONS_OUT if write else Counter.TRANSACTIONS_IN, count)
    f.ret("i32 0")
    f.label(slow)
    with f.loop("%n") as i:
        skip, go, test = f.new_label("sskip"), f.new_label("sgo"), f.new_label("stest")
        f.cond(no_mask, go, test)
        f.label(test)
        on = f.emit(f"load i8, ptr {f.gep8('%mask', i)}")
        f.cond(f.emit(f"icmp ne i8 {on}, 0"), go, skip)
        f.label(go)
        here = f.variable(base + f.i(i) * stride)
        with f.when(f.emit("icmp ne ptr %addresses, null")):
            here.value = f.load64("%addresses", i)
        address = here.value
        bad_ = f.emit(
            f"call i32 @vpe_check(ptr %ctx, i64 %site, i64 %arg, i64 {address}, i64 {esize}, i64 {esize}, i64 "
            f"{int(write)})"
        )
        with f.when(f.emit(f"icmp ne i32 {bad_}, 0")):
            f.ret("i32 1")
        memory, local = f.pointer(address), f.gep8("%local", f.i(i) * esize)
        source, target = (local, memory) if write else (memory, local)
        with f.when(f.emit("icmp ne ptr %local, null")):
            f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {esize}, i1 false)")
        f.br(skip)
        f.label(skip)
    f.ret("i32 0")
    f.finish()


def _block(unit: Unit, write: bool) -> None:
    """Strided block of up to three axes, cut to a box and masked.

    Rows of the last axis are DMA runs if they walk consecutive addresses over `dma_run_bytes` or more, and then each
    has to be aligned. All else is element-wise.
    """
    names = ("ctx", "site", "arg", "esize", "base", "n0", "s0", "n1", "s1", "n2", "s2", "box", "mask", "local")
    f = Function(unit, "vpe_store" if write else "vpe_load", "i32", _args(*names))
    esize, base = f.i("%esize"), f.i("%base")
    no_mask = f.emit("icmp eq ptr %mask, null")
    no_box = f.emit("icmp eq ptr %box, null")
    long = (f.i("%n2") * esize).cmp("sge", f.load64("%ctx", L.RUN_BYTES))
    run = f.emit(f"and i1 {f.i('%s2').cmp('eq', '%esize')}, {f.i('%n2').cmp('sgt', 1)}")
    run = f.emit(f"and i1 {run}, {long}")
    align = f.i(f.emit(f"select i1 {run}, i64 {f.load64('%ctx', L.ALIGN_MASK)}, i64 0"))
    sizes = [f.variable(f"%n{d}") for d in range(3)]
    strides = [f.variable(f"%s{d}") for d in range(3)]
    lows = [f.variable(0) for d in range(3)]
    highs = [f.variable(f"%n{d}") for d in range(3)]
    nothing, ready = f.new_label("nothing"), f.new_label("ready")
    with f.when(f.emit(f"xor i1 {no_box}, true")):
        for d in range(3):
            lows[d].value, highs[d].value = f.load64("%box", 2 * d), f.load64("%box", 2 * d + 1)
        for low, high in zip(lows, highs, strict=True):
            f.leave_if(low.value.cmp("sge", high.value), nothing)

    def shift(axis: int) -> None:
        """Move the axes above `axis` down by one, onto it."""
        for d in range(axis, 0, -1):
            for values in (sizes, strides, lows, highs):
                values[d].value = values[d - 1].value
        sizes[0].value, strides[0].value, lows[0].value, highs[0].value = 1, 0, 0, 1

    # elements that lie in a last axis of length 1 are those of the axis above it
    for _ in range(2):
        last_is_one = f.emit(f"and i1 {sizes[2].value.cmp('eq', 1)}, {f.emit(f'xor i1 {run}, true')}")
        with f.when(last_is_one):
            shift(2)
    # whole rows that continue each other are one, unless the rule looks at each
    for _ in range(2):
        row_bytes = sizes[2].value * esize
        joined = strides[1].value.cmp("eq", sizes[2].value * strides[2].value)
        whole = f.emit(f"and i1 {lows[2].value.cmp('eq', 0)}, {highs[2].value.cmp('eq', sizes[2].value)}")
        free = f.emit(f"and i1 {no_mask}, {(row_bytes & align).cmp('eq', 0)}")
        free = f.emit(f"select i1 {run}, i1 {free}, i1 true")
        joined = f.emit(f"and i1 {joined}, {f.emit(f'and i1 {whole}, {free}')}")
        with f.when(joined):
            columns = sizes[2].value
            lows[2].value, highs[2].value = lows[1].value * columns, highs[1].value * columns
            sizes[2].value = columns * sizes[1].value
            shift(1)
    f.br(ready)
    f.label(nothing)
    f.ret("i32 0")
    f.label(ready)
    rows, columns = sizes[1].value, sizes[2].value
    steps = [stride.value for stride in strides]
    first0, first1, first2 = (low.value for low in lows)
    last2 = highs[2].value
    count0, count1, active = highs[0].value - first0, highs[1].value - first1, last2 - first2
    row_bytes = columns * esize
    with f.when(run):
        _count(f, Counter.REQUESTS, 1)
    with f.loop(str(count0)) as step0, f.loop(str(count1)) as step1:
        i0, i1 = first0 + step0, first1 + step1
        row = base + i0 * steps[0] + i1 * steps[1]
        index = i0 * rows + i1
        local = f.gep8("%local", index * row_bytes)
        local = f.emit(f"select i1 {f.emit('icmp eq ptr %local, null')}, ptr null, ptr {local}")
        mask = f.emit(f"select i1 {no_mask}, ptr null, ptr {f.gep8('%mask', index * columns)}")
        runs, single, next_row = f.new_label("runs"), f.new_label("single"), f.new_label("next")
        f.cond(run, runs, single)
        f.label(single)
        name = "vpe_scatter" if write else "vpe_gather"
        part = f.emit(f"select i1 {no_mask}, ptr null, ptr {f.gep8(mask, first2)}")
        place = f.emit(f"select i1 {f.emit('icmp eq ptr %local, null')}, ptr null, ptr {f.gep8(local, first2 * esize)}")
        bad = f.emit(
            f"call i32 @{name}(ptr %ctx, i64 %site, i64 %arg, i64 %esize, i64 {row + first2 * steps[2]}, "
            f"i64 {steps[2]}, ptr null, i64 {active}, ptr {part}, ptr {place})"
        )
        f.leave_if(f.emit(f"icmp eq i32 {bad}, 0"), next_row)
        f.ret("i32 1")
        f.label(runs)
        start, end = f.variable(first2), f.variable(last2)
        with f.forever() as (_, out):
            with f.when(f.emit(f"xor i1 {no_mask}, true")):
                first = f.i(f.emit(f"call i64 @vpe_next_nonzero(ptr {mask}, i64 {start.value}, i64 {last2})"))
                start.value = first
                f.leave_if(first.cmp("sge", last2), out)
                end.value = f.emit(f"call i64 @vpe_next_zero(ptr {mask}, i64 {first}, i64 {last2})")
            first, stop = start.value, end.value
            address = row + first * esize
            nbytes = (stop - first) * esize
            with f.when((row & align).cmp("ne", 0)):
                kind = int(FaultKind.DMA_ALIGNMENT)
                f.do(
                    f"{f.tmp()} = call i32 @vpe_fault(ptr %ctx, i64 {kind}, i64 %site, i64 {row}, "
                    f"i64 {row_bytes}, i64 %arg, i64 0)"
                )
                f.ret("i32 1")
            bad = f.emit(
                f"call i32 @vpe_check(ptr %ctx, i64 %site, i64 %arg, i64 {address}, i64 {nbytes}, "
                f"i64 %esize, i64 {int(write)})"
            )
            with f.when(f.emit(f"icmp ne i32 {bad}, 0")):
                f.ret("i32 1")
            memory, here = f.pointer(address), f.gep8(local, first * esize)
            source, target = (here, memory) if write else (memory, here)
            with f.when(f.emit("icmp ne ptr %local, null")):
                f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {nbytes}, i1 false)")
            f.leave_if(stop.cmp("sge", last2), out)
            start.value = stop
        f.br(next_row)
        f.label(next_row)
    f.ret("i32 0")
    f.finish()


def write_dma(unit: Unit) -> None:
    """Add the whole engine to a unit."""
    unit.declare("llvm.cttz.i64", "i64", "i64", "i1")
    unit.declare("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1")
    unit.declare("llvm.memcpy.p0.p0.i64", "void", "ptr", "ptr", "i64", "i1")
    _fault(unit)
    for zero in (False, True):
        _next(unit, zero)
    _race(unit)
    _check(unit)
    for write in (False, True):
        _elements(unit, write)
        _block(unit, write)
