"""Family `reference`: OpInfo's `reference_inputs`, the wider set that PyTorch keeps for comparisons with NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from torch.utils import _pytree as pytree

from bringup.suites._opinfo_calls import Call, canonical_call
from bringup.suites.audit._families import FAMILIES, LARGE
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import elements, shape_text, spread, tensors

_MOST = 1500  # inputs of one entry that are looked at; the longest list has a few hundred


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield a spread of the reference inputs that are built otherwise than any sample."""
    known = {_build(sample.call) for sample in subject.samples}
    fresh: list[Draft] = []
    for entry in subject.entries:
        if entry.reference_inputs_func is None:
            continue
        inputs = entry.reference_inputs_func(entry, "cpu", subject.torch_dtype, False)
        for sample in itertools.islice(inputs, _MOST):
            name, variant = subject.operator.name, entry.variant_test_name
            try:
                call = canonical_call(name, variant, entry.op, sample.input, sample.args, sample.kwargs)
            except TypeError:  # arguments that the documented signature cannot take in this form
                continue
            if elements((call.args, call.kwargs)) > 8 * LARGE:
                continue
            build = _build(call)
            if build not in known or any(leaf.tensor.dim() == 1 for leaf in tensors(call)[:1]):
                known.add(build)
                what = " and ".join(shape_text(leaf.tensor.shape) for leaf in tensors(call)[:3])
                fresh.append(Draft(what or "no tensor", call, variant, entry, steady=True))
    # What is left out for its behaviour makes room for a neighbour: twice as many are offered as can be kept.
    offered = spread(fresh, 2 * FAMILIES["reference"])
    yield from offered[::2] + offered[1::2]


def _build(call: Call) -> tuple[Any, ...]:
    """Return what two calls share that differ in the values of their tensors only."""
    leaves, spec = pytree.tree_flatten((call.args, call.kwargs))
    found = {leaf.index: leaf.tensor for leaf in tensors(call)}
    parts = tuple(
        (tuple(found[i].shape), found[i].stride(), found[i].dtype) if i in found else repr(leaf)
        for i, leaf in enumerate(leaves)
    )
    return str(spec), *parts
