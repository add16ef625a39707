"""Core dumps: what the chip knew when a program was stopped, as JSON.

The values of variables are found by replay: a copy of the kernel that writes every named variable out before
the faulting
operation runs that program once more, with its stores undone afterwards. The PEs of a chip run at the same time, host
threads do not: so the programs that the other PEs had at that time run again, too, to see which of them fault.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from bringup.vpe import layout as L
from bringup.vpe import memory, sources, state
from bringup.vpe.arena import MOST_SCRATCH
from bringup.vpe.errors import VpeFault
from bringup.vpe.ir import Frame, Op, Value
from bringup.vpe.kernel import LoadedKernel, load_for_dump
from bringup.vpe.launch_tables import Stopped
from bringup.vpe.layout import FaultKind
from bringup.vpe.parse import frames
from bringup.vpe.prints import decode
from bringup.vpe.rerun import Record, first_stopped, neighbours, run_one, undone
from bringup.vpe.variables import Variable, function_name, overwritten, places, variable_of
from bringup.vpe.verify import where
from bringup.vpe.work import SCALE

FORMAT = 1
_SHOWN_PART = 8
MOST_DUMPED = 256 << 20  # bytes of variables in scope
_EDGE = 8
"""Elements shown at each end of a tensor."""


def raise_fault(stopped: Stopped, faults: list[Record]) -> NoReturn:
    """Build the core dump of the first fault, write it out if asked for, and raise."""
    record, limit = first_stopped(stopped, faults)
    dump = _describe(stopped, record)
    dump["variables"] = _variables(stopped, record, limit)
    dump["constants"] = {name: _plain_constant(value) for name, value in stopped.launcher.constants.items()}
    near = [] if record[L.F_KIND] == FaultKind.CYCLES else neighbours(stopped, int(record[L.F_PROGRAM]))
    dump["other_faults"] = [_brief(stopped, other) for other in near]
    path = _write(dump)
    from bringup.vpe.debugger import summary

    raise VpeFault(summary(dump) + (f"\n  core dump: {path}" if path else ""), dump, path)


def _plain_constant(value: Any) -> Any:
    value = getattr(value, "value", value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _pid(program: int, grid: tuple[int, int, int]) -> list[int]:
    return [program % grid[0], program // grid[0] % grid[1], program // (grid[0] * grid[1])]


def _pe(program: int, profile: Any) -> list[int]:
    number = program % profile.grid.count
    return [number // profile.grid.columns, number % profile.grid.columns]


def _op(kernel: LoadedKernel, site: int) -> Op | None:
    return next((op for op in kernel.module.walk() if op.id == site), None)


def _brief(stopped: Stopped, record: Record) -> dict[str, Any]:
    program = int(record[L.F_PROGRAM])
    kind = FaultKind(int(record[L.F_KIND]))
    op = _op(stopped.kernel, int(record[L.F_SITE]))
    _, line, _ = where(stopped.kernel.module, op) if op else ("", 0, "")
    return {
        "kind": kind.name.lower(),
        "pe": _pe(program, stopped.profile),
        "program": _pid(program, stopped.grid),
        "address": hex(int(record[L.F_ADDRESS])),
        "line": line,
    }


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "file": frame.file,
        "line": frame.line,
        "function": function_name(frame.file, frame.line),
        "text": sources.line(frame.file, frame.line).strip(),
    }


def _loops(op: Op | None) -> list[Op]:
    """The loops around the end of a turn (or another operation), innermost first."""
    found = []
    while op is not None:
        if op.name in ("scf.for", "scf.while"):
            found.append(op)
        op = op.parent
    return found


def _describe(stopped: Stopped, record: Record) -> dict[str, Any]:
    kernel, profile, grid, setup = stopped.kernel, stopped.profile, stopped.grid, stopped.setup
    kind = FaultKind(int(record[L.F_KIND]))
    op = _op(kernel, int(record[L.F_SITE]))
    loops = _loops(op) if kind is FaultKind.CYCLES else []
    if kind is FaultKind.CYCLES:
        op = loops[0] if loops else Op("tt.func", loc=kernel.module.kernel.loc)
    program = int(record[L.F_PROGRAM])
    address, nbytes = int(record[L.F_ADDRESS]), int(record[L.F_BYTES])
    file, line, text = where(kernel.module, op) if op else ("", 0, "")
    stack = [_frame(frame) for frame in (frames(kernel.module, op.loc) if op else []) if frame.file]
    dump: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind.name.lower(),
        "message": kind.text,
        "profile": profile.name,
        "kernel": stopped.launcher.name,
        "grid": list(grid),
        "pe": _pe(program, profile),
        "program": _pid(program, grid),
        "operation": op.name if op else "",
        "file": file,
        "line": line,
        "text": text.strip(),
        "stack": stack,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    if kind is FaultKind.CYCLES:
        dump["limit"], dump["limit_of"] = _limit(stopped, int(record[L.F_POSITION]))
        dump["program_cycles"] = int(record[L.F_OTHER]) // SCALE
        dump["programs_done"] = int(record[L.F_POSITION])
        dump["loops"] = [place[1] for loop in loops if (place := where(kernel.module, loop))[1]]
        return dump
    if kind is FaultKind.ASSERT:
        dump["assertion"] = op.attrs.get("text", "") if op else ""
        dump["first_element"] = address
        return dump
    if kind is FaultKind.INDEX:
        dump["first_element"], dump["axis_length"] = address, int(record[L.F_OTHER])
        return dump
    if kind in (FaultKind.WRITE_RACE, FaultKind.READ_RACE):
        other = int(record[L.F_OTHER])
        dump["other_program"] = (
            "several" if other == L.MANY else ("an atomic" if other == L.ATOMIC else _pid(other - 1, grid))
        )
    dump["address"], dump["nbytes"] = hex(address), nbytes
    dump["access"] = "write" if op and op.name == "tt.store" else ("atomic" if op and "atomic" in op.name else "read")
    argument = None
    pointers = [value for value in kernel.module.kernel.args if value.type.elem == "ptr"]
    index = int(record[L.F_RANGE])
    if 0 <= index < len(pointers):
        argument = pointers[index].name
    dump["pointer_argument"] = argument
    dump["nearest"] = _nearest(setup, address, nbytes)
    if kind is FaultKind.DMA_ALIGNMENT:
        dump["alignment"] = profile.memory.dma_alignment_bytes
        dump["rule"] = profile.alignment_text
    elif kind is FaultKind.MISALIGNED and op is not None:
        dump["alignment"] = (
            (op.operands[1] if op.name == "tt.store" else op.results[0]).type.bytes
            if (op.results or len(op.operands) > 1)
            else 1
        )
    return dump


def _limit(stopped: Stopped, position: int) -> tuple[int, str]:
    """The limit that a program has reached, in cycles, and what it is on."""
    budget, work = stopped.budget, stopped.work
    assert budget is not None
    assert work is not None
    alone = budget.program_cycles
    if alone is not None and work.program_limit < work.limit and work.taken[position] < 0:
        return alone, "program"
    return budget.cycles, budget.what


def _nearest(setup: Any, address: int, nbytes: int) -> dict[str, Any] | None:
    best = None
    for buffer in setup.buffers:
        if buffer is None:
            continue
        end = buffer.base + buffer.nbytes
        distance = buffer.base - address if address < buffer.base else max(address + nbytes - end, 0)
        if best is None or distance < best[0]:
            best = (distance, buffer)
    known = memory.describe(address)
    if best is None:
        return {"description": known} if known else None
    _, buffer = best
    return {
        "argument": buffer.name,
        "base": hex(buffer.base),
        "nbytes": buffer.nbytes,
        "offset": address - buffer.base,
        "writable": buffer.writable,
        "freed": buffer.freed,
        "description": known or buffer.label,
    }


def _variables(stopped: Stopped, record: Record, limit: int) -> list[dict[str, Any]]:
    site, program = int(record[L.F_SITE]), int(record[L.F_PROGRAM])
    spins = record[L.F_KIND] == FaultKind.CYCLES
    if site < 0:
        return []
    try:
        copy, lowered = load_for_dump(stopped.kernel, site)
        if lowered.dump_bytes > MOST_DUMPED or copy.arena_bytes > MOST_SCRATCH:
            raise MemoryError(f"they take more than {MOST_DUMPED >> 20} MiB")
        raw = np.zeros(lowered.dump_bytes + 4096, np.uint8)
        area = raw[-raw.ctypes.data % 64 :]
        # a loop that spins shows how after a part of its turns; others may spin where atomics are off
        part = None
        if stopped.work is not None:
            part = min(limit, stopped.work.limit // _SHOWN_PART) if spins else stopped.work.program_limit
        with undone(stopped.setup):
            run_one(stopped, program, int(record[L.F_POSITION]), kernel=copy, limit=part, area=area)
    except Exception as error:
        # a dump without variables is better than no dump
        return [{"name": "?", "type": "", "value": f"not available: {type(error).__name__}: {error}"}]
    module = copy.module
    op = _op(copy, site)
    # at the end of a turn nothing is half done
    running = places(frames(module, op.loc)) if op is not None and not spins else []
    found: dict[str, tuple[Variable, Value, int]] = {}
    for value, offset in lowered.dumps:
        variable = variable_of(module, value, running)
        if variable is not None:
            found.pop(variable.shown, None)
            found[variable.shown] = variable, value, offset
    return [
        {"name": name, "type": str(value.type), **_abbreviate(decode(area[offset:], value.type), value)}
        for name, (variable, value, offset) in found.items()
        if not overwritten(module, variable, running)
    ]


def _abbreviate(array: npt.NDArray[Any], value: Value) -> dict[str, Any]:
    def plain(item: Any) -> Any:
        if value.type.elem == "ptr":
            return hex(int(item))
        if array.dtype.kind == "f":
            number = float(item)
            return number if np.isfinite(number) else str(number)
        return bool(item) if array.dtype.kind == "b" else int(item)

    if not value.type.is_tensor:
        return {"value": plain(array[()])}
    flat = array.reshape(-1)
    if len(flat) <= 2 * _EDGE:
        shown: dict[str, Any] = {"value": [plain(item) for item in flat]}
    else:
        shown = {"first": [plain(item) for item in flat[:_EDGE]], "last": [plain(item) for item in flat[-_EDGE:]]}
    if array.dtype.kind == "b":
        shown["true"] = int(flat.sum())
    elif array.dtype.kind in "iuf" and len(flat):
        with np.errstate(all="ignore"):
            shown["min"], shown["max"] = plain(np.nanmin(flat)), plain(np.nanmax(flat))
    return shown


def _write(dump: dict[str, Any]) -> str | None:
    folder = state.mode().dump_dir or os.environ.get("BRINGUP_VPE_DUMPS")
    if not folder:
        return None
    path = Path(folder) / f"vpe-{dump['kernel']}-{dump['kind']}-{uuid.uuid4().hex[:8]}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(dump, indent=1), encoding="utf-8")
    except OSError:
        return None
    return str(path)
