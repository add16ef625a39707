"""A program of many operators in double precision, each step off by what float32 arithmetic may lose in it.

The table of classes says what that is: of a sum of n terms, in any order with float32 accumulators, about √n unit
roundoffs of the sum of the terms' sizes. Rounding errors behave like independent ones of mean zero, so that they stay
below λ √n u Σ|terms| with probability 1 - 2 exp(-λ²/2) (Higham and Mary, *A new approach to probabilistic rounding
error analysis*, SIAM J. Sci. Comput. 41(5), 2019); `MARGIN` is that λ. The bound that holds for certain, n u Σ|terms|,
would forgive lower precisions in long sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from bringup.accuracy._conditions import DRAWS, SIZES, UNIT, spread
from bringup.accuracy._table import UNKNOWN, Rule, rule_of
from bringup.accuracy._twin import Twin, leaves, perturbation, shares

MARGIN = 3.0
RUNS = 2 + 2 * DRAWS  # of the program, at most, that `stepwise` takes
UNITS = 4.0  # of the arguments of a function of which nothing else is known
# Operators of ATen below the ones that the table names.
_BELOW = {
    "convolution": Rule("accumulating"),
    "convolution_backward": Rule("accumulating"),
    "max_pool2d_with_indices": Rule("exact"),
    "max_pool3d_with_indices": Rule("exact"),
    "_to_copy": Rule("exact"),
    "_unsafe_view": Rule("exact"),
    "convert_element_type": Rule("exact"),
}
_PREFIXES = ("", "nn.functional.", "special.", "linalg.")
# What PyTorch says of these steps takes memory of the square of their length.
_WHOLE = frozenset({"cumprod", "logcumsumexp"})


class Stepped(NamedTuple):
    """What a program's results are, and by how much they may be off: float64 tensors of the results' shapes."""

    exact: list[torch.Tensor]
    moved: list[torch.Tensor]  # by its steps, in unit roundoffs of float32
    halves: list[torch.Tensor]  # by arguments that are one unit roundoff off, for units of 1; empty unless asked for


def stepwise(
    program: Callable[..., Any], args: Sequence[Any], *, integers: bool, scalars: bool, halves: bool
) -> Stepped:
    """Compute a program in float64, and by how much its results move when each step is off (`Steps`).

    The largest change in a few fixed draws, times `MARGIN`; 0 where a result ceases to be finite. Computed is where the
    tensors of `args` are, which stay as they are; `integers` and `scalars` as `Twin` takes them. Raises what PyTorch
    raises.
    """
    twin = Twin(program, tuple(args), {}, integers=integers, scalars=scalars)
    result, *after = twin.run()
    exact = leaves(result)
    moved = [torch.zeros_like(one) for one in exact]
    for draw in range(DRAWS):
        off = Twin(_off(program, draw), twin.args, {}, scalars=False)
        for size, one, other in zip(moved, exact, leaves(off.run(perturbation(UNIT, draw))[0]), strict=True):
            if one.shape == other.shape and one.dtype is torch.float64 and other.dtype is torch.float64:
                change = ((other - one).abs() / UNIT).nan_to_num(nan=0.0, posinf=0.0)
                torch.maximum(size, change, out=size)
    near = spread(twin, [*exact, *leaves(after)])[: len(exact)] if halves else []
    return Stepped(exact, [MARGIN * size for size in moved], near)


def _off(program: Callable[..., Any], draw: int) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        with Steps(draw):
            return program(*args)

    return run


class Steps(TorchDispatchMode):  # type: ignore[misc]  # untyped in PyTorch
    """While it is entered, every result in float64 is off by what float32 arithmetic may lose in its step.

    `draw` chooses the directions; beside it they follow from positions of elements and the number of the step alone.
    """

    def __init__(self, draw: int) -> None:
        super().__init__()
        self._draw, self._step = draw, 0
        self._lengths: dict[Any, list[float]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler, which takes seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operator of ATen or of what its decompositions are made of."""
        kwargs = kwargs or {}
        rule = _rule(func._schema.name)
        if rule.kind == "exact" or not any(_data(leaf) for leaf in leaves([args, kwargs])):
            return func(*args, **kwargs)
        if rule.kind in ("composite", "factors", "undefined"):
            return self._composite(func, args, kwargs)
        writes = func._schema.is_mutable
        given, named = _mapped(torch.clone, args, kwargs) if writes else (args, kwargs)
        result = func(*args, **kwargs)
        made = leaves(result)
        if rule.kind == "accumulating":
            sizes = self._sums(func, given, named, made)
        else:
            sizes = self._rounding(func, rule, given, named, made)
        moved = [one + size * self._shares(one) if _data(one) else one for one, size in zip(made, sizes, strict=True)]
        if writes:
            for one, other in zip(made, moved, strict=True):
                one.copy_(other)
            return result
        rest = iter(moved)
        return pytree.tree_map(lambda leaf: next(rest) if isinstance(leaf, torch.Tensor) else leaf, result)

    def _next(self) -> int:
        self._step += 1
        return self._step * DRAWS + self._draw

    def _shares(self, like: torch.Tensor) -> torch.Tensor:
        """Return numbers in ±[1/2, 1]: the bound of a last step must not hang on a draw that is nearly 0."""
        drawn = shares(like.numel(), self._next(), like.device)
        return (drawn.sign() * (1 + drawn.abs()) / 2).reshape(like.shape)

    def _rounding(self, func: Any, rule: Rule, args: Any, kwargs: Any, made: list[torch.Tensor]) -> list[Any]:
        """Return the error of an elementwise function: units of its result, of 1 and of its arguments."""
        extra: Any = rule.one + (SIZES[rule.sizes](args, kwargs) if rule.sizes else 0.0)
        if rule.argument:
            extra = extra + rule.argument * sum(leaf.abs() for leaf in leaves([args, kwargs]) if _data(leaf))
        # A unit in the last place is two unit roundoffs at most.
        sizes = [UNIT * (2 * rule.ulps * one.abs() + extra) for one in made]
        if rule.spread:
            others = leaves(func(*self._nearby(args, rule.spread), **self._nearby(kwargs, rule.spread)))
            sizes = [size + (one - other).abs() for size, one, other in zip(sizes, made, others, strict=True)]
        return sizes

    def _sums(self, func: Any, args: Any, kwargs: Any, made: list[torch.Tensor]) -> list[Any]:
        """Return the error of a function that is linear in each tensor: from what it makes of sizes, and of ones."""
        given = [leaf for leaf in leaves([args, kwargs]) if _data(leaf)]
        if all(bool((leaf >= 0).all()) for leaf in given):
            sizes = made
        else:
            sizes = leaves(_called(func, *_mapped(torch.abs, args, kwargs)))
        key = repr([func, *pytree.tree_map(lambda v: v.shape if isinstance(v, torch.Tensor) else v, [args, kwargs])])
        if key not in self._lengths:
            most = max(leaf.numel() for leaf in given)
            # A mean counts 1 in all; what it adds up is as many times longer as its result is shorter.
            self._lengths[key] = [
                max(1.0, most / max(1, one.numel()), float(one.abs().max()) if one.numel() else 1.0)
                for one in leaves(_called(func, *_mapped(torch.ones_like, args, kwargs)))
            ]
        lengths = self._lengths[key]
        return [UNIT * (2 + math.sqrt(length)) * size.abs() for size, length in zip(sizes, lengths, strict=True)]

    def _composite(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Take several steps one by one where PyTorch says what they are; else the function of nearby arguments."""
        from torch._decomp import decomposition_table

        if func in decomposition_table and _name(func._schema.name) not in _WHOLE:
            with self:
                made = decomposition_table[func](*args, **kwargs)
            if made is not NotImplemented:
                return made
        if func._schema.is_mutable:
            return func(*args, **kwargs)
        most = max(leaf.numel() for leaf in leaves([args, kwargs]))
        made = leaves(func(*args, **kwargs))
        length = most / max(1, min([leaf.numel() for leaf in made if _data(leaf)], default=most))
        units = UNITS + math.sqrt(max(1.0, length))
        return func(*self._nearby(args, units), **self._nearby(kwargs, units))

    def _nearby(self, tree: Any, units: float) -> Any:
        """Return arguments that are so many unit roundoffs off."""
        return _mapped(lambda leaf: leaf * (1 + units * UNIT * self._shares(leaf)), tree)[0]


def _name(name: str) -> str:
    plain = name.rpartition("::")[2]
    return plain if plain.startswith("__") else plain.removesuffix("_")


def _rule(name: str) -> Rule:
    plain = _name(name)
    if plain in _BELOW:
        return _BELOW[plain]
    names = (*(prefix + plain for prefix in _PREFIXES), plain.replace("linalg_", "linalg."))
    return next((rule for rule in map(rule_of, names) if rule is not UNKNOWN), UNKNOWN)


def _data(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype is torch.float64


def _mapped(change: Callable[[torch.Tensor], torch.Tensor], *trees: Any) -> Any:
    return pytree.tree_map(lambda leaf: change(leaf) if _data(leaf) else leaf, trees)


def _called(func: Any, args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs)
