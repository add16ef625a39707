"""How far a training on a device is from the CPU's."""

from __future__ import annotations

import math

import torch

from bringup.models.recipe import Recipe
from bringup.models.records import GradientError
from bringup.models.training import Trained

NEGLIGIBLE = 1e-3
"""Gradients are measured by no less than this share of the model's largest: some are zero but for rounding."""


def loss_errors(right: Trained, found: Trained) -> list[float]:
    """Relative differences of the losses, one a step; infinity where only one of the two is finite."""
    return [_relative(one, other) for one, other in zip(right.losses, found.losses, strict=True)]


def _relative(right: float, found: float) -> float:
    if right == found or (math.isnan(right) and math.isnan(found)):
        return 0.0
    gap = abs(right - found) / max(abs(right), torch.finfo(torch.float32).tiny)
    return gap if math.isfinite(gap) else math.inf


def gradient_errors(right: Trained, found: Trained) -> list[GradientError]:
    """Compare the first step's gradients, parameter by parameter."""
    largest = {n: float(g.abs().max()) if g is not None and g.numel() else 0.0 for n, g in right.gradients.items()}
    floor = NEGLIGIBLE * max(largest.values(), default=0.0)
    rows = []
    for name, gradient in right.gradients.items():
        ours = found.gradients.get(name)
        if gradient is None and ours is None:
            continue
        if gradient is None or ours is None or gradient.shape != ours.shape:
            error = math.inf
        else:
            gap = torch.where(gradient == ours, 0.0, (gradient - ours).abs())
            gap = torch.where(gap.isnan(), torch.inf, gap)
            error = float(gap.max()) / max(largest[name], floor) if gap.numel() and float(gap.max()) else 0.0
        shape = list(next(one for one in (gradient, ours) if one is not None).shape)
        sparse = name in right.sparse
        if sparse != (name in found.sparse):
            error = math.inf
        rows.append(GradientError(parameter=name, shape=shape, error=error, largest=largest[name], sparse=sparse))
    return rows


def generation(recipe: Recipe, right: Trained, found: Trained) -> tuple[str, bool | None]:
    """Say in words how what was generated compares, and whether it is right; None for models that generate nothing."""
    ours, expected = found.generated, right.generated
    if ours is None or expected is None:
        return "", None
    said, good = [], True
    if expected.tokens is not None:
        equal = bool(ours.tokens.shape == expected.tokens.shape and torch.equal(ours.tokens, expected.tokens))
        said.append(f"{expected.tokens.numel()} tokens {'equal' if equal else 'differ from'} the CPU's")
        good &= equal
    if ours.sampled is not None:
        allowed = ours.allowed.gather(-1, ours.sampled.unsqueeze(-1))
        outside = int((~allowed).sum())
        said.append(f"{ours.sampled.numel()} drawn tokens, {outside or 'none'} outside the likeliest")
        good &= outside == 0
    if expected.output is not None:
        scale = float(expected.output.abs().max())
        gap = float((ours.output - expected.output).abs().max()) / scale
        said.append(f"{recipe.generates} within {gap:.1e} of the CPU's")
        good &= gap <= recipe.tolerance.output
    return ", ".join(said), good
