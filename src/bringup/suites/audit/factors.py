"""Family `factors`: Cholesky factors far from the identity, for operators that take one.

OpInfo's factors differ from the identity by a thousandth and its tolerance for `cholesky_inverse` is five times that,
so that returning the input passes; no other family may change the values of a factor.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._subject import Draft, Subject

_SHAPES = ((5, 5), (33, 33), (2, 3, 4, 4))
_TAKING = frozenset({"cholesky_inverse", "cholesky_solve"})


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield lower and upper factors with a diagonal between 1 and 2, so that they are well conditioned."""
    if subject.operator.name not in _TAKING or not subject.samples:
        return
    sample = subject.samples[0]
    for number, shape in enumerate(_SHAPES):
        upper = number == 1
        size = shape[-1]
        factor = torch.rand(shape, dtype=subject.torch_dtype).sub(0.5).div(size**0.5).tril(-1)
        factor = factor + torch.diag_embed(1 + torch.rand(shape[:-1], dtype=subject.torch_dtype))
        factor = factor.mT.contiguous() if upper else factor
        args: tuple[torch.Tensor, ...] = (factor,)
        if subject.operator.name == "cholesky_solve":
            args = (torch.randn((*shape[:-1], 3), dtype=subject.torch_dtype), factor)
        call = Call(sample.call.reference, args, {"upper": upper})
        what = f"{'upper' if upper else 'lower'} {'x'.join(map(str, shape))}"
        yield Draft(what, call, sample.variant, sample.entry)
