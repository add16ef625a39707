"""A candidate: one module of source text with a `wrapper` and one or more `kernel*` functions, and its digest."""

from __future__ import annotations

import hashlib

from bringup.verdict import Record


def digest(text: str) -> str:
    """Return the SHA-256 of `text` in hexadecimal: the name of a blob, a candidate or a template."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class Candidate(Record):
    """Source text of one candidate. Nothing is imported in it: `torch`, `triton` and `tl` are provided."""

    source: str

    @property
    def digest(self) -> str:
        """SHA-256 of the source."""
        return digest(self.source)
