"""Content digests of suites: what their cases are made of, so that a job can name the cases that it means."""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files
from pathlib import Path

from bringup.suites._cache import torch_version

# Packages whose code or data decides what a case of PyTorch's suites is, and what is right in it.
_ROOMS = ("suites", "accuracy", "operators")


# Of these, what makes OpInfo's own samples in all their forms, and what is right in them.
_FORMS = ("suites/_opinfo*.py", "suites/opinfo_forms.py", "accuracy/*.py", "accuracy/data/*.yaml")


@functools.cache
def _code(forms: bool) -> bytes:
    """Digest of the code and data that make cases, by content and name; `forms`: of OpInfo's own samples alone."""
    state = hashlib.sha256()
    root = Path(str(files("bringup")))
    if forms:
        paths = [path for pattern in _FORMS for path in sorted(root.glob(pattern))]
    else:
        paths = [path for room in _ROOMS for path in sorted((root / room).rglob("*"))]
    for path in paths:
        if path.suffix in {".py", ".yaml"} or path.name.startswith("drawn"):
            state.update(f"{path.relative_to(root).as_posix()}\0".encode())
            state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.digest()


def source_digest(*content: str, forms: bool = False) -> str:
    """Return the digest (64 hexadecimal digits) of `content`, bringup's code that builds cases, and torch's version.

    `forms`: of the code that makes OpInfo's own samples alone, in the forms that a device is measured with.
    """
    state = hashlib.sha256(_code(forms))
    for text in (torch_version(), *content):
        state.update(f"{len(text.encode())}\0{text}".encode())
    return state.hexdigest()
