"""The 1-D convolution of `../conv1d.py` by way of `conv2d`, over images of one line: the faster way in PyTorch.

KernelEvolve's published result on an H100 is 1.62 times as fast as this.
"""

import torch

DTYPES = ("float16",)
CHECKS = [
    {"batch": 2, "inner": 16, "outer": 24, "length": 40, "kernel": 3},
    {"batch": 1, "inner": 96, "outer": 96, "length": 33, "kernel": 3},
    {"batch": 3, "inner": 5, "outer": 7, "length": 9, "kernel": 1},
]
SIZES = [
    {"batch": 2048, "inner": 96, "outer": 96, "length": 200, "kernel": 3},
    {"batch": 64, "inner": 768, "outer": 768, "length": 1024, "kernel": 3},
]


class Reference(torch.nn.Module):
    def __init__(self, inner, outer, kernel):
        super().__init__()
        self.conv = torch.nn.Conv1d(inner, outer, kernel, padding=kernel // 2)

    def forward(self, x):
        weight, padding = self.conv.weight.unsqueeze(2), (0, self.conv.padding[0])
        return torch.nn.functional.conv2d(x.unsqueeze(2), weight, self.conv.bias, padding=padding).squeeze(2)


def inputs(batch, inner, length):
    return [torch.randn(batch, inner, length)]
