"""Frames between processes: a JSON header and raw bytes, nothing that could run code on arrival.

A frame is `>IQ` (header length, payload length), the header as JSON, then the payload. Pickle is out of the
question: one end of these sockets belongs to a process that runs untrusted code.
"""

from __future__ import annotations

import hashlib
import json
import math
import select
import selectors
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

PREFIX = struct.Struct(">IQ")
MAX_HEADER = 64 << 20
DEPTH = 64  # of a tree of values; each list of arguments takes two or three
JOINED = 1 << 17  # bytes of a frame up to which it is sent at once


class Closed(Exception):
    """The other end is gone."""


class TooLarge(Exception):
    """The other end announced more bytes than it may send."""


class DeadlineExceeded(Exception):
    """Nothing complete arrived in time."""


def digest(value: Any) -> str:
    """SHA-256 of a value's JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def depth(value: Any) -> int:
    """How deep a tree is nested, up to a level more than `DEPTH`; without recursion, which a deep one would break.

    How deep recursion gets hangs on who reads it, and from where: so a guest could tell its readers apart.
    """
    found, level = 0, [value]
    while level and found <= DEPTH:
        found += 1
        level = [
            child
            for node in level
            if isinstance(node, list | dict)
            for child in (node if isinstance(node, list) else node.values())
        ]
    return found


def pack(header: dict[str, Any], payloads: Sequence[bytes | memoryview] = ()) -> list[bytes | memoryview]:
    """Return the buffers of one frame."""
    text = json.dumps(header).encode()
    return [PREFIX.pack(len(text), sum(len(p) for p in payloads)), text, *payloads]


def send(sock: socket.socket, header: dict[str, Any], payloads: Sequence[bytes | memoryview] = ()) -> None:
    """Send one frame; blocks up to the socket's time-out. Raises Closed or DeadlineExceeded."""
    buffers = pack(header, payloads)
    if sum(map(len, buffers)) < JOINED:
        buffers = [b"".join(buffers)]  # each call to the system may wake the other end
    try:
        for buffer in buffers:
            sock.sendall(buffer)
    except TimeoutError as error:
        raise DeadlineExceeded from error
    except OSError as error:
        raise Closed(str(error)) from error


def readable(descriptors: Sequence[Any], seconds: float | None = None) -> list[Any]:
    """Return those of some descriptors, or what has one, from which something can be read; [] after so many seconds.

    Whatever their numbers are: select(2) knows none above 1023, and a user's program may have more files open.
    """
    waiting = select.poll()
    by_number = {one if isinstance(one, int) else one.fileno(): one for one in descriptors}
    for number in by_number:
        waiting.register(number, select.POLLIN)
    found = waiting.poll(None if seconds is None else max(0, math.ceil(seconds * 1000)))
    return [by_number[number] for number, _ in found]


def receive(sock: socket.socket, limit: int = 1 << 40) -> tuple[dict[str, Any], memoryview]:
    """Receive one frame from a blocking socket; raises Closed at the end of the stream."""
    header_size, payload_size = PREFIX.unpack(_exactly(sock, PREFIX.size))
    if header_size > MAX_HEADER or payload_size > limit:
        raise TooLarge(_announced(header_size, payload_size, limit))
    header = json.loads(bytes(_exactly(sock, header_size)))
    return header, _exactly(sock, payload_size)


def _announced(header: int, payload: int, limit: int, most: int = MAX_HEADER) -> str:
    return f"{header} and {payload} bytes announced, {most} and {limit} allowed"


def _exactly(sock: socket.socket, size: int) -> memoryview:
    buffer = bytearray(size)
    view, got = memoryview(buffer), 0
    while got < size:
        try:
            count = sock.recv_into(view[got:])
        except OSError as error:
            raise Closed(str(error)) from error
        if not count:
            raise Closed("end of stream")
        got += count
    return view


class Channel:
    """The trusted end of a worker's socket: receives against a deadline while it drains the worker's output."""

    def __init__(self, sock: socket.socket, limit: int, header: int = MAX_HEADER) -> None:
        """Wrap `sock`; a frame with more than `limit` bytes, or `header` of them in its header, is refused."""
        self.sock = sock
        self.limit, self.header = limit, header
        self.over = False
        """Whether the worker has ended: what it has sent is there, and nothing comes behind it."""
        self._buffer = bytearray()

    def receive(
        self, deadline: Callable[[], float], drains: dict[int, Callable[[], bool]]
    ) -> tuple[dict[str, Any], memoryview]:
        """Return the next frame, or raise Closed, TooLarge, DeadlineExceeded.

        `deadline` is asked each time, for a time.monotonic(): what a drain does may move it.
        `drains` maps file descriptors to a function that reads what is there and says whether to go on watching.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self.sock, selectors.EVENT_READ)
            for descriptor in drains:
                selector.register(descriptor, selectors.EVENT_READ)
            while True:
                frame = self._take()
                if frame is not None:
                    return frame
                if self.over:
                    self._fill(socket.MSG_DONTWAIT)
                    continue
                remaining = deadline() - time.monotonic()
                if remaining <= 0:
                    raise DeadlineExceeded
                for key, _ in selector.select(remaining):
                    if key.fileobj is self.sock:
                        self._fill()
                    elif not drains[key.fd]():
                        selector.unregister(key.fd)

    def _fill(self, flags: int = 0) -> None:
        try:
            chunk = self.sock.recv(1 << 20, flags)
        except OSError as error:
            raise Closed(str(error)) from error
        if not chunk:
            raise Closed("end of stream")
        self._buffer += chunk

    def _take(self) -> tuple[dict[str, Any], memoryview] | None:
        if len(self._buffer) < PREFIX.size:
            return None
        header_size, payload_size = PREFIX.unpack_from(self._buffer)
        if header_size > self.header or payload_size > self.limit:
            raise TooLarge(_announced(header_size, payload_size, self.limit, self.header))
        total = PREFIX.size + header_size + payload_size
        if len(self._buffer) < total:
            return None
        frame = self._buffer[:total]
        del self._buffer[:total]
        try:
            header = json.loads(bytes(frame[PREFIX.size : PREFIX.size + header_size]))
        except (ValueError, RecursionError) as error:
            raise TooLarge(f"not a frame: {error}") from error
        if not isinstance(header, dict) or depth(header) > DEPTH + 1:
            raise TooLarge(f"not a frame: the header is no object, or nested deeper than {DEPTH}")
        return header, memoryview(frame)[PREFIX.size + header_size :]
