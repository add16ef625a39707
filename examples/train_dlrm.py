"""Train a small DLRM on a device whose kernels come from a kernel library, beside the same training on the CPU.

    python examples/train_dlrm.py [--device vpe|cpu] [--library DIR] [--fallback] [--steps 50] [--sparse]

Plain PyTorch, nothing of it written for the device: embedding bags of three categories, a network for the numbers,
pairwise products, a network over these, binary cross entropy; batches come from a data loader that pins memory. With
`--sparse` the tables have sparse gradients, which Adagrad, SparseAdam and SGD take, a table each. Both trainings start
from the same weights and see the same batches. Prints the losses side by side, the largest difference, and what served
the calls; exit code 1 if a loss is further off than 1 %, or if a call went to the CPU (without
`--fallback` that is an error).
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F

NUMBERS, WIDTH, BATCH = 8, 8, 32
ROWS = (100, 50, 20)  # of each table


class DLRM(nn.Module):
    """Numbers and categories to the logit of a click."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, WIDTH, mode="sum", sparse=sparse) for rows in ROWS)
        self.bottom = nn.Sequential(nn.Linear(NUMBERS, 32), nn.ReLU(), nn.Linear(32, WIDTH), nn.ReLU())
        pairs = (len(ROWS) + 1) * len(ROWS) // 2
        self.top = nn.Sequential(nn.Linear(WIDTH + pairs, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, numbers: torch.Tensor, categories: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
        """Numbers (batch, 8), and for each table rows and where each example's begin; logits (batch,)."""
        dense = self.bottom(numbers)
        looked_up = [table(rows, starts) for table, (rows, starts) in zip(self.tables, categories, strict=True)]
        vectors = torch.stack([dense, *looked_up], dim=1)
        products = vectors @ vectors.transpose(1, 2)
        pairs = [products[:, i, j] for i in range(vectors.shape[1]) for j in range(i)]
        return self.top(torch.cat([dense, torch.stack(pairs, dim=1)], dim=1)).squeeze(1)


class Clicks(torch.utils.data.Dataset):
    """Drawn examples: numbers, categories (none to three for each table), and whether there was a click."""

    def __init__(self, count: int) -> None:
        draw = torch.Generator().manual_seed(1)
        self.numbers = torch.randn(count, NUMBERS, generator=draw)
        self.chosen, clicks = [], self.numbers[:, 0] * 2
        for at in range(count):
            lengths = torch.randint(0, 4, (len(ROWS),), generator=draw).tolist()
            tables = zip(ROWS, lengths, strict=True)
            self.chosen.append([torch.randint(0, rows, (length,), generator=draw) for rows, length in tables])
            clicks[at] += sum(int((rows % 3 - 1).sum()) for rows in self.chosen[-1])
        self.clicks = (torch.rand(count, generator=draw) < clicks.sigmoid()).float()

    def __len__(self) -> int:
        return len(self.clicks)

    def __getitem__(self, at: int) -> tuple:
        return self.numbers[at], self.chosen[at], self.clicks[at]


def collate(examples: list[tuple]) -> tuple:
    """A batch: numbers, for each table rows and where each example's begin, clicks."""
    numbers, chosen, clicks = zip(*examples, strict=True)
    categories = []
    for rows in zip(*chosen, strict=True):
        lengths = torch.tensor([len(one) for one in rows])
        categories.append((torch.cat(rows), lengths.cumsum(0) - lengths))
    return torch.stack(numbers), categories, torch.stack(clicks)


def train(device: str, steps: int, sparse: bool) -> tuple[list[float], float]:
    """Return the losses, and the seconds of a step in the middle."""
    torch.manual_seed(0)
    model = DLRM(sparse).to(device)
    networks = [*model.bottom.parameters(), *model.top.parameters()]
    if sparse:
        first, second, third = (table.weight for table in model.tables)
        optimizers = [
            torch.optim.Adagrad([first, *networks], lr=0.05),
            torch.optim.SparseAdam([second], lr=0.01),
            torch.optim.SGD([third], lr=0.5),
        ]
    else:
        optimizers = [torch.optim.Adagrad(model.parameters(), lr=0.05)]
    loader = torch.utils.data.DataLoader(
        Clicks(steps * BATCH), batch_size=BATCH, collate_fn=collate, pin_memory=device != "cpu"
    )
    losses, seconds = [], []
    for numbers, categories, clicks in loader:
        began = time.perf_counter()
        moved = [(rows.to(device), starts.to(device)) for rows, starts in categories]
        loss = F.binary_cross_entropy_with_logits(model(numbers.to(device), moved), clicks.to(device))
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(networks, 1.0)
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - began)
    return losses, sorted(seconds)[len(seconds) // 2]


def main() -> int:
    """Train on both, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="vpe")
    parser.add_argument("--profile", default="vpe:pe64", help="what is enabled as the device")
    parser.add_argument("--library", help="folder of the kernel library (default: the one that ships)")
    parser.add_argument("--fallback", action="store_true", help="let the CPU compute what the library lacks")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--sparse", action="store_true", help="sparse gradients of the tables")
    options = parser.parse_args()
    right, step = train("cpu", options.steps, options.sparse)
    print(f"cpu: loss {right[0]:.4f} to {right[-1]:.4f}, {step * 1e3:.0f} ms a step")
    if options.device == "cpu":
        return 0
    import bringup

    with bringup.enable(options.library, options.profile, fallback="cpu" if options.fallback else None) as enabled:
        found, step = train(options.device, options.steps, options.sparse)
    print(f"{options.device}: loss {found[0]:.4f} to {found[-1]:.4f}, {step * 1e3:.0f} ms a step")
    for at in range(0, options.steps, max(1, options.steps // 10)):
        print(f"step {at:4d}   cpu {right[at]:.6f}   {options.device} {found[at]:.6f}")
    worst = max(abs(a - b) / abs(a) for a, b in zip(right, found, strict=True))
    print(f"largest relative difference of a loss: {worst:.2e}")
    print(enabled.report())
    return 0 if worst < 0.01 and not enabled.fallbacks else 1


if __name__ == "__main__":
    raise SystemExit(main())
