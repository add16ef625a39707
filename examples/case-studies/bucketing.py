"""Bucketing with borders of each feature's own (MBDT): Y[f, i] = min { k | X[f, i] < B[k] } over the borders of f.

Borders of all features lie one after the other, each feature's closed by infinity; `offsets` says where each begins.
[[.1, .4, .8], [.2, .5, .9]] with borders [[.3, .6], [.4, .7]] gives [[0, 1, 2], [3, 4, 5]]. KernelEvolve's published
results on MTIA: 2.3 to 9.25 times PyTorch.
"""

import torch

DTYPES = ("float32",)
CHECKS = [
    {"features": 2, "samples": 33, "borders": 5},
    {"features": 5, "samples": 256, "borders": 31},
]
SIZES = [
    {"features": 128, "samples": 65_536, "borders": 63},
    {"features": 1024, "samples": 8_192, "borders": 255},
]


class Reference(torch.nn.Module):
    def __init__(self, borders):
        super().__init__()
        self.most = borders + 1

    def forward(self, x, borders, offsets):
        place = torch.arange(self.most, device=x.device)
        first = offsets[:-1, None]
        inside = place < offsets[1:, None] - first
        own = borders[(first + place).clamp(max=borders.numel() - 1)]
        own = torch.where(inside, own, torch.full_like(own, torch.inf))
        return torch.searchsorted(own, x, right=True) + first


def inputs(features, samples, borders):
    counts = torch.randint(1, borders + 1, (features,))
    parts = [torch.cat([torch.rand(int(n)).sort().values, torch.tensor([torch.inf])]) for n in counts]
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), (counts + 1).cumsum(0)])
    return [torch.rand(features, samples), torch.cat(parts), offsets]
