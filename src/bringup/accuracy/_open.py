"""Elements of a result that mean nothing: memory that PyTorch allocates and never writes. Any value is right there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

Open = Callable[[tuple[Any, ...], Mapping[str, Any], Sequence[torch.Tensor]], list[torch.Tensor | None]]


def _ctc_alpha(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """`_ctc_loss(log_probs, targets, input_lengths, target_lengths, ...)`: its second result, log_alpha.

    log_alpha has the shape (batch, longest input, 2 * longest target + 1). Of each sample only the steps of its own
    input and the states of its own target are part of the recursion.
    """
    found: list[torch.Tensor | None] = [None] * len(outputs)
    if len(outputs) < 2 or outputs[1].dim() != 3:
        return found
    inputs, targets = (
        torch.as_tensor(args[place] if len(args) > place else kwargs[name]).reshape(-1, 1, 1)
        for place, name in ((2, "input_lengths"), (3, "target_lengths"))
    )
    _, steps, states = outputs[1].shape
    late = torch.arange(steps).reshape(1, -1, 1) >= inputs
    found[1] = (late | (torch.arange(states) > 2 * targets)).expand(outputs[1].shape)
    return found


OPEN: Mapping[str, Open] = {"ctc_alpha": _ctc_alpha}
