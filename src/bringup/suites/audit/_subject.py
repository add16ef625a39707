"""What a family knows of the operator that it makes cases for: fresh samples, data and index arguments, its class."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch

from bringup.operators import Operator
from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_facts import Facts
from bringup.suites._opinfo_samples import Sample, entries, samples, seed_of
from bringup.suites.audit._tree import Leaf, tensors


@dataclass(frozen=True)
class Draft:
    """A case that a family proposes; it becomes one if the reference behaves on it (`_vet`)."""

    what: str  # "argument 0 transposed": the title without the family
    call: Call
    variant: str
    entry: Any  # the OpInfo
    fails: bool = False  # the reference must raise
    requires: str = ""
    plain: Call | None = None  # the same call as OpInfo spells it, where `call` is spelt otherwise
    group: str = ""  # of drafts in one group only the first that the reference accepts is kept
    whole: bool = False  # leave it out where a result is floating point
    steady: bool = False  # leave it out where the reference's result depends on the layout of its arguments
    plainly: bool = False  # results are small whole numbers, whatever is near them: held against PyTorch's own
    rounded: torch.dtype | None = None  # what data are rounded to first, so in the exact result too
    wide_out: bool = False  # its `out=` or `dtype=`, and so its result, may be of float64
    doubled: bool = False  # one of its arguments is a tensor of float64 without dimension
    computed: torch.dtype | None = None  # what results are rounded to before they are stored in a wider `out=`


class Subject:
    """One operator in one dtype, under one seed."""

    def __init__(self, operator: Operator, facts: Facts, dtype: str, seed: int) -> None:
        """Draw fresh samples: other values than the gate's under the same seed."""
        self.operator = operator
        self.facts = facts
        self.dtype = dtype
        self.torch_dtype: torch.dtype = getattr(torch, dtype)
        self.drawn_with = seed
        self.seed = seed_of(seed, operator.name, "audit", dtype)

    @functools.cached_property
    def samples(self) -> list[Sample]:
        """Samples whose tensors are all dense; anything else is out of the audit's reach."""
        drawn = samples(self.operator.name, self.dtype, self.seed)
        return [s for s in drawn if all(leaf.tensor.layout is torch.strided for leaf in tensors(s.call))]

    @functools.cached_property
    def entries(self) -> tuple[Any, ...]:
        """The operator's OpInfo entries that support the dtype."""
        return tuple(e for e in entries()[self.operator.name] if self.torch_dtype in e.supported_dtypes("cpu"))

    @functools.cached_property
    def input_dtypes(self) -> frozenset[str]:
        """The names of the dtypes of the samples' tensors."""
        return frozenset(
            str(leaf.tensor.dtype).removeprefix("torch.") for s in self.samples for leaf in tensors(s.call)
        )

    def data(self, call: Call) -> list[Leaf]:
        """List the tensors that hold data: of the case's dtype, and no indices (whose values must stay in range)."""
        indices = _index_places(self.operator.name) if not self.torch_dtype.is_floating_point else frozenset()
        return [leaf for leaf in tensors(call) if leaf.tensor.dtype is self.torch_dtype and leaf.place not in indices]

    @property
    def generic(self) -> bool:
        """Whether every entry is of a generic class, so that inputs of any shape can be made."""
        names = ("UnaryUfuncInfo", "BinaryUfuncInfo", "ReductionOpInfo")
        return bool(self.entries) and all(any(k.__name__ in names for k in type(e).__mro__) for e in self.entries)


@functools.lru_cache(maxsize=16)
def _index_places(operator: str) -> frozenset[str]:
    """Return where the float32 samples have integer tensors: indices, lengths, counts; empty without float32."""
    if not any(torch.float32 in entry.supported_dtypes("cpu") for entry in entries()[operator]):
        return frozenset()
    return frozenset(
        leaf.place
        for sample in samples(operator, "float32")
        for leaf in tensors(sample.call)
        if not leaf.tensor.dtype.is_floating_point and leaf.tensor.dtype is not torch.bool
    )
