"""Position-wise feed-forward network of InterFormer: bmm + bias, GELU, RMSNorm, bmm, RMSNorm, a matrix per position.

KernelEvolve's published result on an H100 at (groups, rows, inner, hidden) = (1024, 200, 256, 160): 2.0 times
PyTorch.
"""

import torch

DTYPES = ("bfloat16",)
CHECKS = [
    {"groups": 2, "rows": 8, "inner": 16, "hidden": 32},
    {"groups": 3, "rows": 5, "inner": 24, "hidden": 20},
]
SIZES = [
    {"groups": 1024, "rows": 200, "inner": 256, "hidden": 160},
    {"groups": 1024, "rows": 200, "inner": 192, "hidden": 96},
]


class Reference(torch.nn.Module):
    def __init__(self, groups, inner, hidden):
        super().__init__()
        self.up = torch.nn.Parameter(torch.randn(groups, inner, hidden) / inner**0.5)
        self.bias = torch.nn.Parameter(torch.randn(groups, 1, hidden))
        self.first = torch.nn.Parameter(torch.rand(hidden) + 0.5)
        self.down = torch.nn.Parameter(torch.randn(groups, hidden, inner) / hidden**0.5)
        self.second = torch.nn.Parameter(torch.rand(inner) + 0.5)

    def forward(self, x):
        x = torch.nn.functional.gelu(torch.bmm(x, self.up) + self.bias)
        x = torch.nn.functional.rms_norm(x, (x.shape[-1],), self.first, 1e-5)
        x = torch.bmm(x, self.down)
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), self.second, 1e-5)


def inputs(groups, rows, inner):
    return [torch.randn(groups, rows, inner)]
