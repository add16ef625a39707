"""Training a model of the zoo on one device: losses, the first step's gradients, what it generates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from bringup.models.recipe import Generated, Recipe

SEED = 0


@dataclass
class Trained:
    """What a training left."""

    losses: list[float] = field(default_factory=list)
    gradients: dict[str, Any] = field(default_factory=dict)
    """Of the first step, before clipping, by parameter: dense float32 tensors of the CPU; None where there is none."""
    sparse: frozenset[str] = frozenset()
    """The parameters whose gradients were sparse tensors."""
    generated: Generated | None = None
    seconds: float = math.nan
    """Of a step, the median."""
    parameters: int = 0


def train(
    recipe: Recipe, device: str, steps: int, told: Callable[[int, float], None] | None = None, *, generates: bool = True
) -> Trained:
    """Train `recipe` for some steps on a device; `told(step, loss)` is called after each.

    The weights are those that torch's CPU generator draws with one seed, whatever the device.
    """
    torch.manual_seed(SEED)
    model = recipe.model()
    model.to(device)
    optimizers = recipe.optimizers(model)
    schedules = recipe.schedules(optimizers)
    found = Trained(parameters=sum(p.numel() for p in model.parameters()))
    seconds = []
    for step in range(steps):
        began = time.perf_counter()
        batch = tuple(one.to(device) for one in recipe.batch(step))
        loss = recipe.loss(model, batch)
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if step == 0:
            found.gradients = {name: _on_host(p.grad) for name, p in model.named_parameters()}
            found.sparse = frozenset(n for n, p in model.named_parameters() if p.grad is not None and p.grad.is_sparse)
        if recipe.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        for one in (*optimizers, *schedules):
            one.step()
        found.losses.append(loss.item())
        seconds.append(time.perf_counter() - began)
        if told is not None:
            told(step, found.losses[-1])
    if seconds:
        found.seconds = sorted(seconds)[len(seconds) // 2]
    if generates:
        model.eval()
        with torch.no_grad():
            found.generated = recipe.generate(model, torch.device(device))
    return found


def _on_host(gradient: Any) -> Any:
    if gradient is None:
        return None
    if gradient.is_sparse:
        rows, values = gradient._indices().cpu(), gradient._values().cpu()
        return torch.zeros(gradient.shape).index_put_(tuple(rows), values.float(), accumulate=True)
    return gradient.detach().to("cpu").float().clone()
