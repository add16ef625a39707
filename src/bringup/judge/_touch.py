"""Say it when the host touches device memory: a native handler of the segmentation fault that names the address.

Handles lie on a range without access rights, so a touch of it is fatal by itself. The handler writes one line to the
standard error and hands over to the handler before it (`faulthandler`, which adds Python's stack). Python cannot do
this: no bytecode runs while the fault is being delivered.
"""

from __future__ import annotations

import ctypes
import functools
import signal
from typing import Any

from bringup.device import space

WORDS = b"device memory touched by the host: 0x"
_SIGINFO, _ONSTACK = 0x4, 0x08000000
_ADDRESS_AT = 16  # of the faulting address in siginfo_t on 64-bit Linux

_TEXT = """
@words = private constant [{length} x i8] c"{words}"
@old = global [19 x i64] zeroinitializer
declare i64 @write(i32, ptr, i64)
declare i32 @sigaction(i32, ptr, ptr)
declare i32 @raise(i32)

define void @touched(i32 %number, ptr %info, ptr %context) {{
entry:
  %line = alloca [{total} x i8]
  %where = getelementptr i8, ptr %info, i64 {at}
  %address = load i64, ptr %where
  %offset = sub i64 %address, {base}
  %inside = icmp ult i64 %offset, {span}
  br i1 %inside, label %say, label %out
say:
  call void @llvm.memcpy.p0.p0.i64(ptr %line, ptr @words, i64 {length}, i1 false)
  br label %digits
digits:
  %n = phi i64 [ 0, %say ], [ %next, %digits ]
  %shift = shl i64 %n, 2
  %up = sub i64 44, %shift
  %moved = lshr i64 %address, %up
  %nibble = and i64 %moved, 15
  %small = icmp ult i64 %nibble, 10
  %zero = select i1 %small, i64 48, i64 87
  %letter = add i64 %nibble, %zero
  %char = trunc i64 %letter to i8
  %place = add i64 %n, {length}
  %to = getelementptr i8, ptr %line, i64 %place
  store i8 %char, ptr %to
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, 12
  br i1 %more, label %digits, label %end
end:
  %last = getelementptr i8, ptr %line, i64 {newline}
  store i8 10, ptr %last
  %done = call i64 @write(i32 2, ptr %line, i64 {total})
  br label %out
out:
  %given = call i32 @sigaction(i32 %number, ptr @old, ptr null)
  %why = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %why
  %sent = icmp sle i32 %code, 0
  br i1 %sent, label %again, label %back
again:
  %raised = call i32 @raise(i32 %number)
  br label %back
back:
  ret void
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


class _Action(ctypes.Structure):
    _fields_ = (  # glibc's struct sigaction
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


@functools.cache
def _library() -> Any:
    """The handler as machine code; made once, in the parent of guests."""
    import llvmlite.binding as llvm

    from bringup.vpe import native

    native.runtime()  # sees to it that LLVM is initialised
    length = len(WORDS)
    text = _TEXT.format(
        words=WORDS.decode(), length=length, total=length + 13, newline=length + 12, at=_ADDRESS_AT, base=space.BASE,
        span=space.SPAN,
    )  # fmt: skip
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    return engine


def prepare() -> None:
    """Make the handler, before guests are forked."""
    _library()


def install() -> None:
    """Put the handler before the one that is there now."""
    engine = _library()
    libc = ctypes.CDLL(None, use_errno=True)
    action = _Action(handler=engine.get_function_address("touched"), flags=_SIGINFO | _ONSTACK)
    old = engine.get_global_value_address("old")
    if libc.sigaction(int(signal.SIGSEGV), ctypes.byref(action), ctypes.c_void_p(old)):
        raise OSError(ctypes.get_errno(), "the handler of segmentation faults cannot be installed")
