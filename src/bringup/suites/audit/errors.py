"""Family `errors`: calls that PyTorch refuses (OpInfo's `error_inputs`); the wrapper must refuse them too.

Only errors that a wrapper can know are asked for: those that PyTorch also raises on the meta device, where no tensor
has values. Left out are, besides: other devices, sparse layouts, autograd, overlapping memory, and kernels that
PyTorch's CPU build lacks for a dtype.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call, canonical_call
from bringup.suites.audit._families import FAMILIES
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged, spread, tensors
from bringup.suites.audit._vet import raised, run

_UNKNOWABLE = re.compile(
    r"device|sparse|strided tensors only|requires_grad|autograd|memory location|unsupported operation|overlap"
    r"|not implemented for|internal error|64 dims|out of bounds for dimension|storage of size",
    re.I,
)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield a spread of the error inputs that belong to the dtype: that of their first tensor, or the first dtype."""
    found = []
    for entry in subject.entries:
        if entry.error_inputs_func is None:
            continue
        for error in entry.error_inputs_func(entry, "cpu"):
            sample, variant = error.sample_input, entry.variant_test_name
            try:
                call = canonical_call(
                    subject.operator.name, variant, entry.op, sample.input, sample.args, sample.kwargs
                )
            except (TypeError, ValueError):
                continue
            if _home(subject, call) == subject.dtype and _as_announced(error, call) and _knowable(call):
                requires = "out" if "out" in call.kwargs else ""
                found.append(Draft(_words(raised(call)), call, variant, entry, fails=True, requires=requires))
    yield from spread(found, FAMILIES["errors"])


def _home(subject: Subject, call: Call) -> str:
    """Return the dtype under which an error is asked for, so that it is asked for once."""
    dtypes = [str(leaf.tensor.dtype).removeprefix("torch.") for leaf in tensors(call)]
    return next((name for name in dtypes if name in subject.operator.dtypes), subject.operator.dtypes[0])


def _as_announced(error: Any, call: Call) -> bool:
    """Whether PyTorch raises what OpInfo says, and for the reason that it says."""
    try:
        run(call)
    except error.error_type as found:
        text = str(found)
        return bool(re.search(error.error_regex, text)) and not _UNKNOWABLE.search(text)
    except Exception:
        return False
    return False


def _knowable(call: Call) -> bool:
    """Whether the error shows without any value: on the meta device."""
    new = {}
    for leaf in tensors(call):
        old = leaf.tensor
        if old.layout is not torch.strided:
            return False
        new[leaf.index] = torch.empty_strided(old.shape, old.stride(), dtype=old.dtype, device="meta")
    meta = exchanged(call, new)
    try:
        with torch.no_grad():
            meta.reference(*meta.args, **meta.kwargs)
    except NotImplementedError:
        return False
    except Exception as error:
        return not _UNKNOWABLE.search(str(error))
    return False


def _words(error: str) -> str:
    kind, _, text = error.partition(": ")
    return f"{kind}, {text[:70].rstrip()}"
