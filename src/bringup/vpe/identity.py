"""Which version of the code generator this is: part of every key under which compiled kernels are kept."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path


@functools.cache
def source_digest() -> str:
    """Changes with every line of the code generator, so that caches never serve an old version's code."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
