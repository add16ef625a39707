"""Calls of OpInfo's generic classes with tensors of any shape: elementwise, broadcasting, reducing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bringup.suites._opinfo_calls import REARRANGED_OPERATORS, Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import names_of
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import Leaf, shape_text, tensors

Kind = Literal["unary", "binary", "reduction"]
_KINDS: dict[str, Kind] = {"UnaryUfuncInfo": "unary", "BinaryUfuncInfo": "binary", "ReductionOpInfo": "reduction"}


@dataclass(frozen=True)
class Form:
    """One entry of a generic class with a sample of it as the pattern of its calls."""

    kind: Kind
    entry: Any
    sample: Sample
    pool: Pool
    leaves: tuple[Leaf, ...]

    def elementwise(self, *shapes: Sequence[int]) -> Draft:
        """Return the call with the tensors in the given shapes, the last one for all that are left."""
        found = self.leaves
        chosen = {leaf.index: shapes[min(i, len(shapes) - 1)] for i, leaf in enumerate(found)}
        call = self.pool.with_shapes(self.sample.call, chosen)
        what = " and ".join(shape_text(shapes[min(i, len(shapes) - 1)]) for i in range(len(found)))
        return Draft(what, call, self.sample.variant, self.entry)

    def reduction(self, shape: Sequence[int], dim: Any = None, keepdim: bool = False) -> Iterator[Draft]:
        """Yield the reductions of a tensor of `shape`: one for each set of other arguments that OpInfo gives."""
        tensor = self.pool.like(self.leaves[0], shape)
        given = {} if dim is None else {"dim": dim, "keepdim": keepdim}
        try:
            generated = list(self.entry.generate_args_kwargs(tensor, **given))
        except (IndexError, RuntimeError, TypeError):  # OpInfo's generator has nothing for this shape
            return
        names = names_of(self.pool.subject.operator.signature)
        for args, kwargs in generated:
            named = {**kwargs, **given}
            if "keepdim" not in names:  # `count_nonzero`
                named.pop("keepdim", None)
            call = Call(self.sample.call.reference, (tensor, *args), named)
            words = f" over {dim}" if dim is not None else ""
            yield Draft(f"{shape_text(shape)}{words}", call, self.sample.variant, self.entry)


def forms(subject: Subject, pool: Pool) -> list[Form]:
    """Return a form for every generic entry of the operator that has a sample with the tensors of its class."""
    if subject.operator.name in REARRANGED_OPERATORS:
        return []
    found = []
    for entry in subject.entries:
        kind = next((_KINDS[base.__name__] for base in type(entry).__mro__ if base.__name__ in _KINDS), None)
        wanted = 2 if kind == "binary" else 1
        for sample in subject.samples:
            leaves = tuple(tensors(sample.call))
            if kind and sample.entry is entry and len(leaves) == wanted:
                found.append(Form(kind, entry, sample, pool, leaves))
                break
    return found


def others(subject: Subject, made: list[Form]) -> list[Sample]:
    """Return samples (`distinct`) of the entries that have no form."""
    entries = [form.entry for form in made]
    return [sample for sample in distinct(subject) if all(sample.entry is not entry for entry in entries)]
