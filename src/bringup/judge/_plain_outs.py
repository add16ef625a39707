"""References whose results and indices lie well: some of PyTorch's kernels write beside such as do not.

`torch.tril` with an `out` of four permuted dimensions corrupts the process's memory (torch 2.13), and so does
`adaptive_max_pool3d_backward` with indices that are not contiguous, whose places it takes for others. What is right
depends on neither. So an `out` that is not contiguous is exchanged for a copy that is, and so are indices; what came of
it is copied back. Where PyTorch refuses how they lie (`take_along_dim` without `dim` takes a `view` of its indices), so
does the reference: that is asked on the meta device, where nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch

from bringup.judge import _codec
from bringup.judge._size_class import without_data
from bringup.suites import CaseInputs

_YES = 1  # as PyTorch answers whether a tensor's elements lie on one another: it refuses to write into such


def with_plain_outs(inputs: CaseInputs, names: Iterable[str]) -> CaseInputs:
    """Return a case whose reference is given contiguous tensors for these parameters, and contiguous indices.

    Left as they are: tensors whose elements share memory, with each other or with another argument.
    """
    named = frozenset(name for name in names if name in inputs.kwargs)
    known = inputs.reference
    if isinstance(known, _Plain):
        if known.names == named:
            return inputs
        known = known.reference
    standard = inputs.standard
    if standard is not None:
        exact = standard.reference
        exact = exact.reference if isinstance(exact, _Plain) else exact
        standard = replace(standard, reference=_Plain(exact, named))
    return replace(inputs, reference=_Plain(known, named), standard=standard)


class _Plain:
    def __init__(self, reference: Callable[..., Any], names: frozenset[str]) -> None:
        self.reference, self.names = reference, names

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        every = [tensor for _, tensor in _codec.tensors_of([args, kwargs], "")]
        odd = self._odd(every, kwargs) if any(map(_is_odd, every)) else []
        if not odd:
            return self.reference(*args, **kwargs)
        plain = {id(tensor): tensor.clone(memory_format=torch.contiguous_format) for tensor in odd}
        given = iter([plain.get(id(tensor), tensor) for tensor in every])
        new_args, new_kwargs = _codec.with_tensors([args, kwargs], given)
        refusal = self._raised(args, kwargs)
        if refusal is not None and self._raised(new_args, new_kwargs) is None:
            raise refusal
        result = self.reference(*new_args, **new_kwargs)
        own = {id(made): tensor for tensor in odd for made in [plain[id(tensor)]]}
        tensors = [tensor for _, tensor in _codec.tensors_of(result, "")]
        storages = {made.untyped_storage()._cdata for made in plain.values()}
        if any(id(t) not in own and t.untyped_storage()._cdata in storages for t in tensors):
            return self.reference(*args, **kwargs)  # a view: where that lies is for PyTorch to say
        for tensor in odd:
            made = plain[id(tensor)]
            if made.shape != tensor.shape:
                tensor.resize_(made.shape)
            tensor.copy_(made)
        return _codec.with_tensors(result, iter([own.get(id(tensor), tensor) for tensor in tensors]))

    def _raised(self, args: Any, kwargs: Any) -> Exception | None:
        """What PyTorch raises for tensors that lie so, whatever is in them."""
        try:
            self.reference(*without_data(args), **without_data(kwargs))
        except Exception as error:  # whatever it raises, and what meta kernels lack
            return error
        return None

    def _odd(self, every: list[torch.Tensor], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        outs = {id(t) for name in self.names for _, t in _codec.tensors_of(kwargs.get(name), name)}
        floats = any(tensor.is_floating_point() for tensor in every)
        users = [tensor.untyped_storage()._cdata for tensor in every]
        return [
            tensor for tensor, storage in zip(every, users, strict=True)
            if (id(tensor) in outs or (floats and tensor.dtype in (torch.int32, torch.int64)))
            and _is_odd(tensor) and users.count(storage) == 1
        ]  # fmt: skip


def _is_odd(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout is torch.strided
        and tensor.numel() > 1
        and not tensor.is_contiguous()
        and torch._debug_has_internal_overlap(tensor) != _YES
    )
