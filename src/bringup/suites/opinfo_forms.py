"""The forms in which PyTorch offers one sample's call: itself, in place, with `out=`, and its gradients. Imports torch.

Which forms an operator has is OpInfo's knowledge; which of its samples a form admits, PyTorch's own call on the host
decides: a sample that raises there is no case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.accuracy import Rule, Standard
from bringup.suites._base import CaseInputs
from bringup.suites._opinfo_calls import REARRANGED_OPERATORS
from bringup.suites._opinfo_cases import case_of
from bringup.suites._opinfo_numbers import portable_numbers
from bringup.suites._opinfo_samples import Sample, reseed, samples, seed_of
from bringup.suites._opinfo_source import OpInfoSource
from bringup.verdict import CaseId

# A gradient is a sum of products of what the forward pass has computed: its error is measured as that of a composite
# operator, by what moving all arguments changes, and against the largest element of the gradient, since terms of that
# size cancel (1 - tanh(x)**2). The figures are the largest that the table of classes has for composite operators.
GRADIENT = Rule("composite", ulps=40, spread=16, largest=16)
SENTINEL = 77  # what an `out=` tensor holds before the call


@dataclass(frozen=True)
class FormCase:
    """One call to be made on a device: `function(*args, **kwargs)`, and by what its results are judged.

    `inputs.args` and `inputs.kwargs` are the host's arguments; `inputs.reference` computes what is right.
    """

    form: str
    inputs: CaseInputs
    function: Callable[..., Any]
    same_as: CaseInputs | None = None
    """Where the form's result is that of another call, if it has its dtype and shape: the limits of that one hold."""
    returned: tuple[str | int, ...] = field(default=())
    """Arguments whose memory the result must be: by position or name."""


def forms_of(source: OpInfoSource, operator: str, dtype: str, *, gradients: bool) -> Iterator[Maker]:
    """Yield what makes each case of an operator in one dtype; it raises NoCase where a form does not admit a sample.

    `gradients`: of float32, the gradients, too.
    """
    imprecise = dtype in source.facts[operator].imprecise
    for index, sample in enumerate(samples(operator, dtype)):
        inputs = case_of(CaseId(operator=operator, dtype=dtype, index=index), sample, imprecise)
        yield Maker(index, "call", partial(FormCase, "call", inputs, sample.call.reference))
        if sample.entry.inplace_variant is not None:
            yield Maker(index, "in-place", partial(_inplace, operator, sample, inputs))
        if sample.entry.supports_out:
            yield Maker(index, "out=", partial(_out, sample, inputs))
        if gradients and dtype == "float32" and sample.entry.supports_autograd:
            yield Maker(index, "gradient", partial(_gradient, operator, sample, inputs))


class NoCase(Exception):
    """A form does not admit a sample: PyTorch itself refuses it."""


@dataclass(frozen=True)
class Maker:
    """Makes one case when called; raises NoCase."""

    index: int
    form: str
    make: Callable[[], FormCase]

    def __call__(self) -> FormCase:
        """Make it."""
        return self.make()


def _inplace(operator: str, sample: Sample, inputs: CaseInputs) -> FormCase:
    method = sample.entry.inplace_variant
    place = 0
    if operator in REARRANGED_OPERATORS:
        # OpInfo's order of arguments has the tensor first, the documented call has it second.
        if operator != "polygamma":
            raise NoCase
        place, plain = 1, method

        def method(n: Any, tensor: Any, **kwargs: Any) -> Any:
            return plain(tensor, n, **kwargs)

    if len(inputs.args) <= place or not isinstance(inputs.args[place], torch.Tensor):
        raise NoCase
    made = _with(inputs, method)
    args, kwargs = copied(inputs.args, inputs.kwargs)
    with torch.no_grad():
        method(*args, **kwargs)
    if args[place].untyped_storage().nbytes() != inputs.args[place].untyped_storage().nbytes():
        # "In-place operations do not allow the in-place tensor to change shape as a result of the broadcast" (PyTorch's
        # notes on broadcasting); the host's addbmm_ does it all the same. Those that make views (t_) keep the memory.
        raise NoCase
    return FormCase("in-place", made, method, same_as=inputs, returned=(place,))


def _out(sample: Sample, inputs: CaseInputs) -> FormCase:
    function = sample.call.reference
    args, kwargs = copied(inputs.args, inputs.kwargs)
    try:
        with torch.no_grad():
            result = inputs.reference(*args, **kwargs)
    except Exception:  # whatever PyTorch raises
        raise NoCase from None
    if isinstance(result, torch.Tensor):
        out: Any = _fresh(result)
    elif isinstance(result, list | tuple) and result and all(isinstance(one, torch.Tensor) for one in result):
        out = tuple(_fresh(one) for one in result)
    else:
        raise NoCase
    made = _with(replace(inputs, kwargs={**inputs.kwargs, "out": out}), function)
    args, kwargs = copied(made.args, made.kwargs)
    with torch.no_grad():
        # A few operators return nothing with `out=`: then the tensors are compared as arguments that were written to.
        nothing = function(*args, **kwargs) is None
    return FormCase("out=", made, function, same_as=inputs, returned=() if nothing else ("out",))


def _fresh(like: torch.Tensor) -> torch.Tensor:
    if like.layout is not torch.strided:
        raise NoCase
    return torch.full(like.shape, SENTINEL, dtype=like.dtype)


def _with(inputs: CaseInputs, reference: Callable[..., Any]) -> CaseInputs:
    """The same inputs for another form of the call, if the host admits them."""
    args, kwargs = copied(inputs.args, inputs.kwargs)
    try:
        with torch.no_grad():
            reference(*args, **kwargs)
    except Exception:  # whatever PyTorch raises
        raise NoCase from None
    return replace(inputs, reference=reference)


def dense(value: Any) -> Any:
    """Return a tree with its sparse tensors as dense ones."""
    return pytree.tree_map(lambda v: v.to_dense() if isinstance(v, torch.Tensor) and v.is_sparse else v, value)


def copied(args: Any, kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copy a call's tensors, shared memory kept."""
    from bringup.accuracy import copy_arguments

    made = copy_arguments(tuple(args), dict(kwargs))
    return made[0], made[1]


# ------------------------------------------------------------------------------------------------------- gradients

Leaves = list[torch.Tensor]
WAYS = ("all", "first", "copy")
# all: every floating-point tensor asks for a gradient. first: the first one alone, where PyTorch has none for all.
# copy: the first one asks, and a copy of it is passed on, which the operator may write to.


class Gradient:
    """Computes the gradients of a call: `gradient(cotangents, *args, **kwargs)` returns one for each leaf, or None.

    The gradients that come from above (`cotangents`) are arguments, so that what is measured by moving the arguments
    moves them too.
    """

    def __init__(self, function: Callable[..., Any], way: str, hook: Callable[[Any], Any] | None) -> None:
        """`hook`: OpInfo's function of the result where only that has a gradient."""
        self.function, self.way, self.hook = function, way, hook

    def __call__(self, cotangents: list[Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run forward and backward; raises what PyTorch raises."""
        outputs, leaves = self.forward(args, kwargs)
        given = [one.to(output.dtype) for one, output in zip(cotangents, outputs, strict=True)]
        with torch.enable_grad():
            return tuple(torch.autograd.grad(outputs, leaves, given, allow_unused=True))

    def dense(self, cotangents: list[Any], *args: Any, **kwargs: Any) -> Any:
        """Return the same gradients, sparse ones (of embeddings, where asked for) as dense tensors."""
        return dense(self(cotangents, *args, **kwargs))

    def forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Leaves, Leaves]:
        """Return the differentiable results, and the tensors that ask for gradients.

        These are the arguments' memory under another name: the arguments themselves stay as they came.
        """
        found = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.is_floating_point()]
        asking = {id(t): t.detach().requires_grad_() for t in (found if self.way == "all" else found[:1])}
        leaves = list(asking.values())
        with torch.enable_grad():
            passed = {key: leaf.clone() for key, leaf in asking.items()} if self.way == "copy" else asking
            args, kwargs = pytree.tree_map(lambda value: passed.get(id(value), value), (args, kwargs))
            result = self.function(*args, **kwargs)
            if self.hook is not None:
                result = self.hook(result)
        outputs = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
        return outputs, leaves


def _gradient(operator: str, sample: Sample, inputs: CaseInputs) -> FormCase:
    if not any(
        isinstance(t, torch.Tensor) and t.is_floating_point()
        for t in pytree.tree_leaves((inputs.args, dict(inputs.kwargs)))
    ):
        raise NoCase
    for way in WAYS:
        gradient = Gradient(sample.call.reference, way, sample.output_hook)
        args, kwargs = copied(inputs.args, inputs.kwargs)
        try:
            outputs, _ = gradient.forward(args, kwargs)
            if not outputs:
                raise NoCase
            reseed(seed_of(0, f"{operator} {inputs.case.index}", "gradient", inputs.case.dtype))
            with portable_numbers():
                cotangents = [torch.randn(output.shape).to(output.dtype) for output in outputs]
            args, kwargs = copied(inputs.args, inputs.kwargs)
            gradient([one.clone() for one in cotangents], *args, **kwargs)
        except NoCase:
            raise
        except Exception:  # whatever PyTorch raises
            continue
        made = replace(
            inputs, args=(cotangents, *inputs.args), reference=gradient, rtol=None, atol=None, postprocess=None,
            standard=Standard(operator, gradient.dense, inputs.case.dtype, given=GRADIENT),
        )  # fmt: skip
        return FormCase("gradient", made, gradient)
    raise NoCase


__all__ = ["FormCase", "Gradient", "Maker", "NoCase", "copied", "dense", "forms_of"]
