"""The words of front matter: platforms, concerns, kinds of operators; and what of them a target or an operator has."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Literal, get_args

Concern = Literal["memory", "compute", "special", "latency", "launch", "correctness", "debugging"]
"""What a file helps with. The first five are the bounds of a diagnosis, as `bringup.judge.measuring` names them."""
CONCERNS: tuple[Concern, ...] = get_args(Concern)

Kind = Literal[
    "elementwise", "reduction", "softmax", "normalisation", "matmul", "convolution", "attention", "scan", "sort",
    "gather", "scatter", "loss", "random", "copy",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)

Specificity = Literal["general", "platform", "device", "operator"]
Evidence = Literal["documented", "tested", "measured", "run"]
"""What stands behind a file: its sources say so; a test of this project runs it; a figure of this project's
documentation; a run that `bringup distill` read."""

ANY = "any"

_PLATFORMS = {"cuda": "nvidia", "nvidia": "nvidia", "hip": "amd", "rocm": "amd", "amd": "amd"}
_DEVICES = {  # marketing names by the architecture that Triton compiles for
    "a100": "sm_80", "a800": "sm_80", "h100": "sm_90", "h200": "sm_90", "h800": "sm_90", "gh200": "sm_90",
    "b200": "sm_100", "gb200": "sm_100", "mi300": "gfx942", "mi325": "gfx942", "mi350": "gfx950", "mi355": "gfx950",
}  # fmt: skip

# Kinds by operator name; the first column of a name's match is not the only one: an operator may have several kinds.
_NAMES: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("softmax", ("*softmax*", "logsumexp", "*logcumsumexp*")),
    ("normalisation", ("*_norm", "*layer_norm*", "*batch_norm*", "*group_norm*", "*instance_norm*", "*rms_norm*",
                       "*normalize*", "renorm")),
    ("attention", ("*attention*",)),
    ("convolution", ("*conv1d*", "*conv2d*", "*conv3d*", "*conv_transpose*", "*convolution*", "*unfold*", "*fold")),
    ("matmul", ("*mm", "*mv", "*matmul*", "*bmm*", "dot", "vdot", "inner", "*linear", "*bilinear*", "einsum",
                "tensordot", "*gemm*", "kron", "outer", "addr", "baddbmm", "*multi_dot*", "chain_matmul")),
    ("loss", ("*_loss", "*cross_entropy*", "*kl_div*", "*nll*")),
    ("scan", ("cum*", "*cumsum*", "*cumprod*", "*cummax*", "*cummin*", "trapz*", "trapezoid*")),
    ("sort", ("sort*", "*argsort*", "msort", "*topk*", "*kthvalue*", "*median*", "*mode", "*unique*", "*quantile*",
              "searchsorted", "bucketize")),
    ("scatter", ("*scatter*", "index_put*", "index_add*", "index_fill*", "index_copy*", "*bincount*", "histc",
                 "histogram*", "put", "*masked_scatter*", "*embedding_bag*")),
    ("gather", ("*gather*", "*index_select*", "take*", "*embedding*", "*masked_select*", "*nonzero*", "roll", "flip*",
                "*grid_sample*", "repeat_interleave*", "*pixel_*shuffle*", "*channel_shuffle*")),
    ("random", ("*dropout*", "rand*", "*normal_*", "*uniform*", "*bernoulli*", "*multinomial*")),
    ("reduction", ("sum*", "mean*", "*amax*", "*amin*", "max_reduction*", "min_reduction*", "argmax", "argmin", "prod*",
                   "var*", "std*", "*norm", "all", "any", "count_nonzero", "nansum", "nanmean", "*_pool*", "aminmax",
                   "cdist", "*pdist*", "*pairwise_distance*", "*cosine_similarity*", "logsumexp")),
    ("copy", ("clone", "contiguous", "*copy*", "cat", "*stack*", "permute*", "transpose*", "t", "*reshape*", "repeat",
              "tile", "expand*", "narrow*", "*split*", "chunk", "*pad*", "tril*", "triu*", "diag*", "*_as")),
)  # fmt: skip

# Kinds by what a kernel calls; a call alone does not make a kernel a softmax.
_CALLS: dict[str, Kind] = {
    "tl.dot": "matmul", "tl.dot_scaled": "matmul", "tl.sum": "reduction", "tl.max": "reduction", "tl.min": "reduction",
    "tl.reduce": "reduction", "tl.argmax": "reduction", "tl.argmin": "reduction", "tl.xor_sum": "reduction",
    "tl.cumsum": "scan", "tl.cumprod": "scan", "tl.associative_scan": "scan", "tl.sort": "sort", "tl.topk": "sort",
    "tl.gather": "gather", "tl.histogram": "scatter", "tl.atomic_add": "scatter", "tl.atomic_max": "scatter",
    "tl.rand": "random", "tl.randn": "random", "tl.randint": "random", "tl.philox": "random", "tl.softmax": "softmax",
}  # fmt: skip


def platform_of(target: str, device: str = "") -> tuple[str, str]:
    """Return platform and device of a target: `cuda:sm_90` is (nvidia, sm_90), `vpe:pe64` is (vpe, pe64).

    `device` is what a measurement calls the device ("NVIDIA H100 80GB HBM3"), or its architecture ("sm_90"). The device
    is "" where it is not known; a profile given as a file is its file's stem.
    """
    name, _, rest = target.strip().partition(":")
    platform = _PLATFORMS.get(name.lower(), name.lower())
    found = rest.rsplit("/", 1)[-1].removesuffix(".yaml").removesuffix(".yml") if rest else ""
    if platform == "vpe" and not found and not device:
        found = "pe64"  # the default chip
    if platform == "nvidia" and found.isdigit():
        found = ""  # the number of a GPU says nothing of what it is
    if re.fullmatch(r"sm_\d+|gfx[0-9a-f]+", device):
        return platform, found or device
    words = re.findall(r"[a-z]+\d+", device.lower())
    return platform, found or next((_DEVICES[word] for word in words if word in _DEVICES), "")


def kinds_of(operator: str, calls: tuple[str, ...] = ()) -> tuple[Kind, ...]:
    """Return the kinds of an operator, from its name and from the Triton functions that its kernels call."""
    name = operator.rsplit(".", 1)[0] if operator.startswith("aten.") else operator
    name = name.rsplit(".", 1)[-1].lower()
    kinds: list[Kind] = [kind for kind, globs in _NAMES if name and any(fnmatchcase(name, glob) for glob in globs)]
    kinds += [_CALLS[call] for call in calls if call in _CALLS]
    return tuple(dict.fromkeys(kinds)) or (("elementwise",) if name else ())
