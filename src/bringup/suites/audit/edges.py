"""Family `edges`: orthogonal polynomials of high degree at -1 and 1, where they have plain values, and between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from bringup.suites.audit._generic import Form, forms
from bringup.suites.audit._pool import Pool
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import exchanged

_AT = (-1.0, 1.0)
_ZEROS = (0.0, -0.0)
_NEAR = (-0.75, -0.5, 0.25, 0.5, 0.875)
_DEGREES = (0, 1, 2, 3, 6, 7, 50, 200, 201, 1000, -1)


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield tensors of all pairs, then a number for the degree, and one for the argument."""
    if "polynomial" not in subject.operator.name or not subject.torch_dtype.is_floating_point:
        return
    for form in forms(subject, Pool(subject))[:1]:
        if form.kind != "binary":
            continue
        left, right = form.leaves
        dtype = subject.torch_dtype
        # By the condition of the polynomial, which is counted elsewhere, anything would be right near these values.
        plainly = "chebyshev" in subject.operator.name
        for what, values, degrees, plain in (
            ("at -1 and 1", _AT, _DEGREES, plainly), ("at zeros of both signs", _ZEROS, _DEGREES[:8], plainly),
            ("between, of degrees up to 7", _NEAR, _DEGREES[:6], False),
            ("between, of degree 200", _NEAR, (200,), False),
        ):  # fmt: skip
            yield _of_pairs(form, what, values, degrees, plain)
        x, n = torch.tensor(_AT, dtype=dtype), torch.tensor(_DEGREES, dtype=dtype)
        for what, count, new in (
            ("degree 201 as a number", len(x), {left.index: x, right.index: 201}),
            ("-1 as a number", len(n), {left.index: -1.0, right.index: n}),
        ):
            call = exchanged(form.elementwise((count,)).call, new)
            yield replace(form.elementwise((1,)), what=what, call=call, group=what, plainly=plainly)
        # Beyond what any bound on steps, or a counter in a half precision, lets pass.
        yield _of_pairs(form, "between, of degrees 257 to 600", _NEAR, (257, 300, 511, 600), False)


def _of_pairs(form: Form, what: str, values: Sequence[float], degrees: Sequence[int], plainly: bool) -> Draft:
    """Return the call with every value at every degree."""
    left, right = form.leaves
    pairs = torch.cartesian_prod(torch.tensor(values), torch.tensor(degrees, dtype=torch.float32))
    x, n = (column.clone().to(left.tensor.dtype) for column in pairs.unbind(1))
    call = exchanged(form.elementwise((len(pairs),)).call, {left.index: x, right.index: n})
    return replace(form.elementwise((1,)), what=what, call=call, group=what, plainly=plainly)
