"""`torch.autocast("vpe")`: matrix products in the lower dtype, what loses too much there in fp32, the rest untouched.

The lists are those of torch's CPU autocast, shortened to what models meet (pytorch.org/docs/stable/amp.html).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree

from bringup.vpe.device import tensors
from bringup.vpe.device.ops import overload

_LOWER = (
    *("mm", "bmm", "addmm", "matmul", "linear", "baddbmm", "addbmm", "conv1d", "conv2d", "conv3d"),
    "scaled_dot_product_attention",
)
_SINGLE = (
    *(
        "cross_entropy_loss",
        "nll_loss",
        "layer_norm",
        "binary_cross_entropy_with_logits",
        "exp",
        "log",
        "pow.Tensor_Scalar",
    ),
    *("mse_loss", "softplus", "cumsum", "cumprod", "prod", "norm.Scalar"),
)


def register(aten: Any, every: Any) -> None:
    """Register in libraries of the namespaces aten and `_`."""
    every.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for names, single in ((_LOWER, False), (_SINGLE, True)):
        for name in names:
            aten.impl(name, _casting(overload(name), single), "AutocastPrivateUse1")


def _casting(operator: Any, single: bool) -> Any:
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def cast(value: Any) -> Any:
        if not tensors.is_device_tensor(value) or not value.is_floating_point() or value.dtype == torch.float64:
            return value
        return value.to(torch.float32 if single else torch.get_autocast_dtype(tensors.NAME))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(keys):
            args, kwargs = _pytree.tree_map(cast, (args, kwargs))
            return operator(*args, **kwargs)

    return kernel
