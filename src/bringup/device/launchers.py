"""Kernels as guests launch them, and what the texts of one call's kernels say."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

from bringup.device import frames
from bringup.device.choices import Said
from bringup.device.engine import Kernel

MOST_TEXTS = 1 << 12  # rows of kernels of which it is remembered what their texts say


@dataclass(frozen=True)
class Launcher:
    """A kernel as one guest launches it."""

    text: dict[str, Any]
    """What the compiler saw: text, source, options."""
    kernel: Kernel
    loaded: Any
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    constants: dict[str, Any]

    @property
    def name(self) -> str:
        """Of its function."""
        return self.kernel.name

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of what the compiler saw."""
        return frames.digest(self.text)


class Texts:
    """What the texts of one call's kernels say beside constants; known where another call had the same kernels."""

    known: ClassVar[dict[tuple[str, ...], int]] = {}  # bits of the latest of these texts

    def __init__(self) -> None:
        self._digests: tuple[str, ...] = ()
        self._left: list[str] = []  # texts that nobody has looked at in this call
        self._said = Said()
        self._bits = 0

    def add(self, digest: str, text: str) -> int:
        """Return the bytes that one more kernel says."""
        self._digests = (*self._digests, digest)
        self._left.append(text)
        if self._digests not in self.known:
            if len(self.known) >= MOST_TEXTS:
                self.known.clear()
            bits = [self._said.add(one) for one in self._left]
            self._left.clear()
            self.known[self._digests] = bits[-1]
        before, self._bits = self._bits, self._bits + self.known[self._digests]
        return self._bits // 8 - before // 8
