"""Copies of one process that are all alike: it waits and forks in machine code, so that nothing in it ever changes.

A process that runs Python between two forks changes with each: counters of dictionaries, what lies in freed memory. Its
children could tell how many there were before them, and so a first call from a later one, and a judge from a user.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any

from bringup.judge.sandbox import _kernel

READ, EXECUTE = 1, 4
MOST = 8  # descriptors that come with a message
# long copies(int socket, struct msghdr *message, size_t room): 0 in a copy, -1 in the original at the end.
#
#   again: message->msg_controllen = room; *(size_t *)message->msg_control = 0
#          n = recvmsg(socket, message, 0); if n == -EINTR, again; if n != 1, return -1
#          n = clone(SIGCHLD, 0, 0, 0, 0); if n == 0, return 0; none can be had: the asker sees it
#          close all descriptors in message->msg_control; again
CODE = {
    "x86_64": bytes.fromhex(
        "5341544155415689fb4989f44989d54d896c2428498b44242048c7000000000089df4c89e631d2b82f0000000f054883f8fc74db4883f801"
        "7541bf1100000031f631d24531d24531c0b8380000000f054885c0742a9090498b4424204c8b304983ee044983fe107ca6498b442420428b"
        "3c30b8030000000f05ebe44883c8ff415e415d415c5bc3"
    ),
    "aarch64": bytes.fromhex(
        "f353bea9f55b01a9f303002af40301aaf50302aa951600f9891240f93f0100f9e003132ae10314aa020080d2881a80d2010000d41f1000b1"
        "e0feff541f0400f1a1020054200280d2010080d2020080d2030080d2040080d2881b80d2010000d41f0000f1a00100541f2003d5891240f9"
        "360140f9d61200d1df4200f1cbfcff54891240f9206976b8280780d2010000d4f9ffff1700008092f55b41a9f353c2a8c0035fd6"
    ),
}
LENGTH = struct.Struct("=I")
HEADER = struct.Struct("@Qii")  # of what comes with a message: cmsg_len, cmsg_level, cmsg_type


def ask(server: socket.socket, descriptors: Sequence[int], text: bytes = b"") -> None:
    """Have a process that waits in `copies` make a copy of itself, which gets these descriptors. Raises OSError.

    `text` comes as one more, the first: a pipe that holds it. So the process that waits is told nothing.
    """
    given: list[int] = []
    if text:
        reading, writing = os.pipe()
        os.write(writing, text)
        os.close(writing)
        given = [reading]
    try:
        socket.send_fds(server, [b"."], [*given, *descriptors])
    finally:
        for descriptor in given:
            os.close(descriptor)


def framed(answer: dict[str, Any]) -> bytes:
    """What a copy writes into a pipe for `answered`."""
    text = json.dumps(answer).encode()
    return LENGTH.pack(len(text)) + text


def answered(pipe: int) -> dict[str, Any] | None:
    """Read what a copy has to say, and nothing after it; None where it has died. Raises OSError."""
    head = _exactly(pipe, LENGTH.size)
    text = _exactly(pipe, LENGTH.unpack(head)[0]) if head else b""
    return dict(json.loads(text)) if text else None


def _exactly(pipe: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = os.read(pipe, size - len(data))
        if not chunk:
            return b""
        data += chunk
    return data


def copies(server: socket.socket) -> list[int] | None:
    """Fork a copy of this process for each message; return its descriptors in the copy, None here once it is closed.

    The process must have one thread, and ignore SIGCHLD. Python's handlers of a fork are not run: its threads, locks
    and modules are as they were. On other machines than x86-64 and aarch64 the copies differ.
    """
    code = CODE.get(_kernel.machine())
    if code is None:
        return _plain_copies(server)
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = _kernel.libc().mprotect(ctypes.c_void_p(at), ctypes.c_size_t(mmap.PAGESIZE), READ | EXECUTE)
    _kernel.checked(result, "mprotect")
    byte = ctypes.create_string_buffer(1)
    control = ctypes.create_string_buffer(socket.CMSG_SPACE(4 * MOST))
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(byte), 1)
    # name, its length, vector, its length, control, its length, flags
    message = (ctypes.c_size_t * 7)(0, 0, ctypes.addressof(vector), 1, ctypes.addressof(control), len(control), 0)
    function = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)(at)
    if function(server.fileno(), ctypes.addressof(message), len(control)):
        return None
    length, _, _ = HEADER.unpack_from(control)
    return [number for (number,) in struct.iter_unpack("@i", control.raw[HEADER.size : length])] if length else []


def _plain_copies(server: socket.socket) -> list[int] | None:
    while True:
        message, descriptors, _, _ = socket.recv_fds(server, 1, MOST)
        if not message:
            return None
        try:
            if os.fork() == 0:
                return descriptors
        except OSError:  # none can be had: the asker sees its descriptors closed
            pass
        for descriptor in descriptors:
            os.close(descriptor)
