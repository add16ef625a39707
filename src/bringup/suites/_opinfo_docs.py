"""The docstrings of the suite's operators: read from the installed torch in a helper process, kept in the cache.

They are PyTorch's text, so they are not part of this package; run as a program, this module writes the book.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import threading
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from bringup.operators import DocBook, DocNode, Operator
from bringup.suites._cache import Progress, cached, compute, torch_build


@functools.cache
def _code_digest() -> str:
    """Digest of what turns docstrings into the book, so that a book made by other code is not used."""
    digest = hashlib.sha256()
    folder = files("bringup.operators")
    for name in ("_torch_docs.py", "_torch_names.py", "_sphinx.py", "data/doc_notes.yaml"):
        digest.update(folder.joinpath(*name.split("/")).read_bytes())
    return digest.hexdigest()[:12]


_books: dict[str, DocBook] = {}
_making = threading.Lock()  # sessions begin together, and one book is enough


def load_docs(progress: Progress | None, operator: Operator) -> list[DocNode]:
    """Return the graph of an operator's docstrings; the first call for a torch build takes about 6 s."""
    name = f"opinfo-docs-{torch_build()}-{_code_digest()}.json.gz"
    with _making:
        book = _books.get(name)
        if book is None or operator.name not in book.docs:
            data = cached(name)
            book = DocBook.load(data, name) if data is not None else None
            if book is None or operator.name not in book.docs:
                book = DocBook.load(compute(__name__, name, progress), name)
            assert book is not None  # computed by this code, so of this format
            _books[name] = book
    return book.graph(operator.name)


def main(arguments: Sequence[str]) -> None:
    """Write the book of all of the suite's operators into the file given, with progress on stdout."""
    from bringup.operators._torch_docs import build_book
    from bringup.suites._opinfo_source import OpInfoSource

    operators = [(facts.name, facts.overloads) for facts in OpInfoSource().survey.operators]
    done = 0

    def report(name: str) -> None:
        nonlocal done
        done += 1
        print(json.dumps({"done": done, "total": len(operators), "name": name}), flush=True)

    Path(arguments[0]).write_bytes(build_book(operators, report).dump())


if __name__ == "__main__":
    main(sys.argv[1:])
