"""What an overload means, from the installed torch: schema, decomposition, derivative formulas, calls as examples.

They are PyTorch's text, so they are not part of this package: read in a helper process and kept in the cache.
"""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from bringup.suites._aten_facts import Overload
from bringup.suites._aten_parents import meanings_of
from bringup.suites._cache import Progress, cached, compute, torch_build

_MOST = 6_000  # characters of a decomposition
_books: dict[str, dict[str, str]] = {}
_making = threading.Lock()  # sessions begin together, and one book is enough


def load_aten_docs(progress: Progress | None, overload: Overload) -> str:
    """Return the text on an overload; the first call for a torch build takes some seconds."""
    code = hashlib.sha256(files("bringup.suites").joinpath("_aten_docs.py").read_bytes()).hexdigest()[:12]
    name = f"aten-docs-{torch_build()}-{code}.json.gz"
    with _making:
        if name not in _books:
            data = cached(name)
            book = _read(data) if data is not None else None
            if book is None:
                book = _read(compute(__name__, name, progress)) or {}
            _books[name] = book
    examples = "\n".join(f"{overload.name.partition('.')[0]}({example})" for example in overload.examples)
    formulas = _books[name].get(overload.name, "")
    calls = f"Examples of calls, tensors by dtype and shape (contiguous where no strides are given):\n\n{examples}"
    return "\n\n".join(
        part
        for part in (f"Schema: {overload.schema_text}", *meanings_of(overload), formulas, calls if examples else "")
        if part
    )


def _read(data: bytes) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads(gzip.decompress(data))
    except (OSError, EOFError, ValueError):
        return None  # made anew
    return found


def formulas(name: str, rules: Sequence[tuple[str, str, str]], table: Any) -> str:
    """Return the texts on one overload: PyTorch's decomposition in Python, and derivative formulas that call it."""
    packet = name.partition(".")[0]
    parts = []
    source = _decomposition(name, table)
    if source:
        parts.append(f"PyTorch's decomposition, which says what the call means:\n\n{source}")
    lines = [f"{function}: d/d {argument} = {rule}" for function, argument, rule in rules if _calls(rule, packet)]
    if lines:
        parts.append("It stands in these derivative formulas of PyTorch:\n\n" + "\n".join(lines[:8]))
    return "\n\n".join(parts)


def _decomposition(name: str, table: Any) -> str:
    import torch

    packet, _, variant = name.partition(".")
    found = getattr(torch.ops.aten, packet)
    overloads = [variant or "default", *(other for other in found.overloads() if other != variant)]
    for overload in overloads:
        function = table.get(getattr(found, overload, None))
        if function is None:
            continue
        try:
            source = inspect.getsource(inspect.unwrap(function))
        except (OSError, TypeError):
            continue
        return source if len(source) <= _MOST else source[:_MOST].rpartition("\n")[0] + "\n    ... (shortened)"
    return ""


def _calls(rule: str, packet: str) -> bool:
    """Whether a formula calls the function that an overload belongs to, an in-place one by its plain name too."""
    return packet in rule and re.search(rf"(?<![\w.]){re.escape(packet)}(?:_symint)?\(", rule) is not None


def derivative_rules() -> Iterator[tuple[str, str, str]]:
    """Yield (function, argument, formula) of PyTorch's table of derivatives; nothing where torch ships without it."""
    try:
        text = files("torchgen").joinpath("packaged", "autograd", "derivatives.yaml").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        return
    for entry in yaml.load(text, Loader=yaml.CSafeLoader):
        function = entry["name"].partition("(")[0]
        for argument, rule in entry.items():
            if argument not in {"name", "dispatch", "output_differentiability"} and isinstance(rule, str):
                yield function, argument, " ".join(rule.split())


def main(arguments: Sequence[str]) -> None:
    """Write the texts on all overloads of the installed torch into the file given, with progress on stdout."""
    import torch
    from torch._decomp import decomposition_table

    rules = list(derivative_rules())
    found = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    names = sorted(name for name in found if hasattr(torch.ops.aten, name.partition(".")[0]))
    book = {}
    for done, name in enumerate(names, 1):
        book[name] = formulas(name, rules, decomposition_table)
        print(json.dumps({"done": done, "total": len(names), "name": name}), flush=True)
    Path(arguments[0]).write_bytes(gzip.compress(json.dumps(book).encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
