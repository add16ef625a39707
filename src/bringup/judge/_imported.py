"""What guests import before they are guests: none of them finds a file of Python's, PyTorch's or Triton's.

What lies there changes with use (the bytecode of modules that somebody has imported, times of access), and so would
tell a wrapper whether it is judged. So modules that PyTorch and Triton import at the first need are imported here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator

# Packages whose modules are needed when kernels are made, launched and tuned; with what they hold.
_PACKAGES = (
    "triton.language", "triton.runtime", "triton.compiler", "triton.tools.tensor_descriptor", "triton.errors",
    "triton.backends.compiler", "triton.backends.driver", "triton.knobs", "triton.testing", "triton.experimental.gluon",
    "bringup.vpe", "bringup.device",
)  # fmt: skip
# Modules that reports of errors, inspection of sources and arguments come to need.
_MODULES = (
    "traceback", "linecache", "inspect", "tokenize", "dis", "textwrap", "pprint", "difflib", "decimal", "fractions",
    "statistics", "unicodedata", "encodings.idna", "encodings.ascii", "encodings.latin_1", "encodings.unicode_escape",
    "concurrent.futures.thread", "queue", "torch._tensor_str", "torch._prims_common", "torch.overrides",
    "torch.utils.serialization",
    "bringup.judge._plain", "bringup.judge._calls", "bringup.judge._circumstances", "bringup.judge._codec",
)  # fmt: skip


def import_all() -> None:
    """Import it; what a version of Python, PyTorch or Triton does not have is passed over."""
    for name in (*_MODULES, *_below(_PACKAGES)):
        try:
            importlib.import_module(name)
        except Exception:  # an optional part whose own needs are not there
            continue


def _below(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield name
        try:
            package = importlib.import_module(name)
        except Exception:
            continue
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}.", onerror=lambda _: None):
            if not found.name.endswith("__main__"):
                yield found.name
