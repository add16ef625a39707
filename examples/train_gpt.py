"""Train a small GPT on a device whose kernels come from a kernel library, beside the same training on the CPU.

    python examples/train_gpt.py [--device vpe|cpu] [--library DIR] [--fallback] [--steps 50]

Plain PyTorch, nothing of it written for the device: embeddings, causal attention, layer norms, GELU, cross entropy,
AdamW, clipping of gradients. Both trainings start from the same weights and see the same text, this file's. Prints the
losses side by side, the largest difference, and what served the calls; exit code 1 if a loss is further off than 1 %,
or if a call went to the CPU (without `--fallback` that is an error).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 32, 32, 4, 2, 4


class Block(nn.Module):
    """Attention and a two-layer network, each behind a layer norm and beside a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_network = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.register_buffer("mask", torch.ones(CONTEXT, CONTEXT).tril() == 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x`: (batch, time, width)."""
        batch, time_, _ = x.shape
        q, k, v = (
            part.reshape(batch, time_, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.qkv(self.before_attention(x)).split(WIDTH, dim=2)
        )
        scores = q @ k.transpose(-2, -1) * (WIDTH // HEADS) ** -0.5
        scores = scores.masked_fill(self.mask[:time_, :time_], float("-inf"))
        mixed = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, time_, WIDTH)
        x = x + self.out(mixed)
        return x + self.network(self.before_network(x))


class GPT(nn.Module):
    """A decoder over bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(256, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """`tokens`: int64 (batch, time); logits (batch, time, 256)."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.positions(places))))


def batches(steps: int) -> list[torch.Tensor]:
    """Pieces of this file, int64 (batch, context + 1), the same in every run."""
    text = torch.tensor(list(Path(__file__).read_bytes()), dtype=torch.int64)
    draw = torch.Generator().manual_seed(1)
    starts = [torch.randint(0, len(text) - CONTEXT - 1, (BATCH,), generator=draw) for _ in range(steps)]
    return [torch.stack([text[at : at + CONTEXT + 1] for at in chosen.tolist()]) for chosen in starts]


def train(device: str, steps: int) -> tuple[list[float], float]:
    """Return the losses, and the seconds of a step in the middle."""
    torch.manual_seed(0)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses, seconds = [], []
    for batch in batches(steps):
        began = time.perf_counter()
        x, y = batch[:, :-1].to(device), batch[:, 1:].contiguous().to(device)
        loss = F.cross_entropy(model(x).reshape(-1, 256), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - began)
        if sys.stderr.isatty():
            print(f"\r{device}: step {len(losses)} of {steps}, loss {losses[-1]:.4f}", end="", file=sys.stderr)
    return losses, sorted(seconds)[len(seconds) // 2]


def main() -> int:
    """Train on both, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="vpe")
    parser.add_argument("--profile", default="vpe:pe64", help="what is enabled as the device")
    parser.add_argument("--library", help="folder of the kernel library (default: the one that ships)")
    parser.add_argument("--fallback", action="store_true", help="let the CPU compute what the library lacks")
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    right, step = train("cpu", options.steps)
    print(f"cpu: loss {right[0]:.4f} to {right[-1]:.4f}, {step * 1e3:.0f} ms a step")
    if options.device == "cpu":
        return 0
    import bringup

    with bringup.enable(options.library, options.profile, fallback="cpu" if options.fallback else None) as enabled:
        found, step = train(options.device, options.steps)
    print(f"{options.device}: loss {found[0]:.4f} to {found[-1]:.4f}, {step * 1e3:.0f} ms a step")
    for at in range(0, options.steps, max(1, options.steps // 10)):
        print(f"step {at:4d}   cpu {right[at]:.6f}   {options.device} {found[at]:.6f}")
    worst = max(abs(a - b) / abs(a) for a, b in zip(right, found, strict=True))
    print(f"largest relative difference of a loss: {worst:.2e}")
    print(enabled.report())
    return 0 if worst < 0.01 and not enabled.fallbacks else 1


if __name__ == "__main__":
    raise SystemExit(main())
