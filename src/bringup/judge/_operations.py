"""The arithmetic of a case, as far as the suite's own reference tells: its matrix products."""

from __future__ import annotations

import torch
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

from bringup.suites import CaseInputs


def reference_operations(inputs: CaseInputs) -> int:
    """Operations of the matrix products that the reference makes; 0 where it makes none, or cannot be asked.

    PyTorch counts them by the shapes alone, nothing is computed; a multiply-add is two.
    """
    if inputs.raises:
        return 0
    try:
        args, kwargs = pytree.tree_map_only(
            torch.Tensor, lambda one: one.to("meta"), (tuple(inputs.args), dict(inputs.kwargs))
        )
        with FlopCounterMode(display=False) as counted, torch.no_grad():
            inputs.reference(*args, **kwargs)
    except Exception:  # a reference that looks at values, or takes no such tensors
        return 0
    return int(counted.get_total_flops())
