"""Text for language models: bytes of a text that every installation has."""

from __future__ import annotations

import functools
from typing import Any

VOCABULARY = 256


@functools.cache
def corpus() -> Any:
    """Return int64 bytes of PyTorch's docstrings of common functions, in a fixed order."""
    import torch

    names = ("add", "matmul", "softmax", "conv2d", "gather", "scatter", "cumsum", "topk", "sort", "where", "einsum")
    text = "\n".join(str(getattr(torch, name).__doc__) for name in names)
    return torch.tensor(list(text.encode()), dtype=torch.int64)


def pieces(step: int, batch: int, length: int) -> Any:
    """Return pieces of the text, int64 (batch, length), chosen by the step's number."""
    import torch

    text = corpus()
    draw = torch.Generator().manual_seed(1000 + step)
    starts = torch.randint(0, len(text) - length, (batch,), generator=draw)
    return torch.stack([text[at : at + length] for at in starts.tolist()])
