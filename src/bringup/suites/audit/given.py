"""Family `given`: arguments that no sample gives, or never together with others: optional tensors, old flags, ().

`numbers` has numbers and flags with defaults of their own; here the default is None.
"""

from __future__ import annotations

from collections.abc import Iterator

from bringup.suites._opinfo_calls import Call
from bringup.suites._opinfo_samples import Sample
from bringup.suites.audit._pool import Pool, distinct
from bringup.suites.audit._signature import alternatives, argument_of, with_argument
from bringup.suites.audit._structure import structured
from bringup.suites.audit._subject import Draft, Subject
from bringup.suites.audit._tree import Leaf, elements, tensors, turns
from bringup.suites.audit._vet import dense_results, raised

_OLD_FLAGS = ("size_average", "reduce")  # what `reduction` was before, and still overrules it
_CHANNELS = 3
_OPTIONAL = ("bias", "weight", "pos_weight")  # parameters of a network's layer that may be left out


def drafts(subject: Subject) -> Iterator[Draft]:
    """Yield in turn each optional tensor where it is left out, each old flag, an empty list for each list."""
    samples = distinct(subject)
    ways = [{one.name for one in way if one.default is not None} for way in alternatives(subject.operator.signature)]
    names = sorted(set().union(*ways)) if ways else []
    yield from turns(
        *(_tensor(subject, samples, name) for name in names if name in _OPTIONAL),
        *(_flag(samples, name) for name in names if name in _OLD_FLAGS),
        *(_empty(subject, samples, name) for name in names),
        () if subject.generic or structured(subject.operator) else _longer(subject, samples),
    )


def _tensor(subject: Subject, samples: list[Sample], name: str) -> Iterator[Draft]:
    """Yield vectors as long as one of the lengths of a sample's tensors, longer ones first."""
    pool = Pool(subject)
    for sample in samples:
        data = subject.data(sample.call)
        given = sample.call.kwargs.get(name)
        if given is not None or not data or argument_of(subject.operator.signature, sample.call, name) is not None:
            continue
        for length in sorted({n for leaf in data for n in leaf.tensor.shape if n > 1}, reverse=True):
            tensor = pool.like(Leaf(-1, data[0].place, data[0].tensor), (length,))
            call = with_argument(subject.operator.signature, sample.call, name, tensor)
            if call is not None and not raised(call):
                words = f"argument {name}, which the sample leaves out"
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _flag(samples: list[Sample], name: str) -> Iterator[Draft]:
    for value in (False, True):
        for sample in sorted(samples, key=lambda sample: -elements(sample.call.args)):  # of one, a sum is a mean
            kwargs = {key: one for key, one in sample.call.kwargs.items() if key != "reduction"}
            call = Call(sample.call.reference, sample.call.args, {**kwargs, name: value})
            if not raised(call):
                words = f"argument {name} {value}"
                yield Draft(words, call, sample.variant, sample.entry, group=words)


def _empty(subject: Subject, samples: list[Sample], name: str) -> Iterator[Draft]:
    """Yield () where some sample gives a number or a list of numbers, and PyTorch takes it: it may mean "not given"."""
    for sample in samples:
        value = argument_of(subject.operator.signature, sample.call, name)
        numbers = isinstance(value, list | tuple) and all(type(item) is int for item in value)
        if not (type(value) is int or (numbers and value != ())):
            continue
        call = with_argument(subject.operator.signature, sample.call, name, ())
        if call is not None and not raised(call):
            words = f"argument {name} ()"
            yield Draft(words, call, sample.variant, sample.entry, group=words)


def _longer(subject: Subject, samples: list[Sample]) -> Iterator[Draft]:
    """Yield an axis of length 1 made longer, where that makes a result longer; vectors of one element with it, maybe.

    Samples of a layer often have one channel: a parameter for each then is one number.
    """
    pool = Pool(subject)
    for sample in samples:
        before = dense_results(sample.call)
        for leaf in subject.data(sample.call):
            for axis in [axis for axis, length in enumerate(leaf.tensor.shape) if length == 1 < leaf.tensor.dim()]:
                shapes = {leaf.index: (*leaf.tensor.shape[:axis], _CHANNELS, *leaf.tensor.shape[axis + 1 :])}
                vectors = {one.index: (_CHANNELS,) for one in tensors(sample.call) if one.tensor.shape == (1,)}
                words = f"{leaf.place}: {_CHANNELS} along axis {axis} that had one element"
                for chosen in ({**shapes, **vectors}, shapes):
                    call = pool.with_shapes(sample.call, chosen)
                    after = dense_results(call)
                    if before and after and [t.shape for t in before[1]] != [t.shape for t in after[1]]:
                        yield Draft(words, call, sample.variant, sample.entry, group=words)
