"""Compositions of our own: of what PyTorch asks devices from outside for and neither has for the CPU nor composes, or
composes otherwise than the CPU computes it.

They call other operators, which kernels serve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _lstm_cell(
    input_gates: Any, hidden_gates: Any, cx: Any, input_bias: Any = None, hidden_bias: Any = None
) -> tuple[Any, Any, Any]:
    """`_thnn_fused_lstm_cell`: gates (batch, 4 hidden) in the order input, forget, cell, output; `cx` (batch, hidden).

    Returns the new hidden state, the new cell state, and the gates after their activations for the backward pass.
    Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000), as `torch.nn.LSTM` documents it.
    """
    import torch

    gates = input_gates + hidden_gates
    if input_bias is not None:
        gates = gates + input_bias + hidden_bias
    before = gates.chunk(4, dim=1)
    enter, forget, leave = (torch.sigmoid(before[place]) for place in (0, 1, 3))
    new = torch.tanh(before[2])
    cy = forget * cx + enter * new
    return leave * torch.tanh(cy), cy, torch.cat((enter, forget, new, leave), dim=1)


def _lstm_cell_backward(
    grad_hy: Any, grad_cy: Any, cx: Any, cy: Any, workspace: Any, has_bias: bool
) -> tuple[Any, Any, Any]:
    """`_thnn_fused_lstm_cell_backward_impl`: gradients of the gates, of `cx`, and of the bias (None without)."""
    import torch

    enter, forget, new, leave = workspace.chunk(4, dim=1)
    through = torch.tanh(cy)
    cell = grad_cy
    if grad_hy is not None:
        reached = grad_hy * leave * (1 - through * through)
        cell = reached if cell is None else cell + reached
        left = grad_hy * through * leave * (1 - leave)
    if cell is None:
        return None, None, None
    gates = torch.cat(
        (
            cell * new * enter * (1 - enter),
            cell * cx * forget * (1 - forget),
            cell * enter * (1 - new * new),
            left if grad_hy is not None else torch.zeros_like(cell),
        ),
        dim=1,
    )
    return gates, cell * forget, gates.sum(0) if has_bias else None


def _gru_cell(
    input_gates: Any, hidden_gates: Any, hx: Any, input_bias: Any = None, hidden_bias: Any = None
) -> tuple[Any, Any]:
    """`_thnn_fused_gru_cell`: gates (batch, 3 hidden) in the order reset, update, new; `hx` (batch, hidden).

    Returns the new state, and for the backward pass (batch, 5 hidden): reset, update, new, `hx`, new's hidden part.
    Cho et al. 2014, as `torch.nn.GRU` documents it.
    """
    import torch

    if input_bias is not None:
        input_gates, hidden_gates = input_gates + input_bias, hidden_gates + hidden_bias
    first, second = input_gates.chunk(3, dim=1), hidden_gates.chunk(3, dim=1)
    reset, update = torch.sigmoid(first[0] + second[0]), torch.sigmoid(first[1] + second[1])
    new = torch.tanh(first[2] + reset * second[2])
    return new + update * (hx - new), torch.cat((reset, update, new, hx, second[2]), dim=1)


def _gru_cell_backward(grad_hy: Any, workspace: Any, has_bias: bool) -> tuple[Any, Any, Any, Any, Any]:
    """`_thnn_fused_gru_cell_backward`: gradients of both kinds of gates, of `hx`, and of both biases (None without)."""
    import torch

    reset, update, new, hx, hidden = workspace.chunk(5, dim=1)
    by_new = grad_hy * (1 - update) * (1 - new * new)
    by_update = grad_hy * (hx - new) * update * (1 - update)
    by_reset = by_new * hidden * reset * (1 - reset)
    first = torch.cat((by_reset, by_update, by_new), dim=1)
    second = torch.cat((by_reset, by_update, by_new * reset), dim=1)
    biases = (first.sum(0), second.sum(0)) if has_bias else (None, None)
    return first, second, grad_hy * update, *biases


def _multinomial(probabilities: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """`multinomial`: draw indices of the last dimension of (n,) or (m, n) by weights that need not add up to one.

    The largest of weight / e, with e drawn exponentially, is an index drawn by the weights; the k largest are k indices
    drawn without putting back (Efraimidis and Spirakis 2006).
    """
    import torch

    weights = probabilities.unsqueeze(-2).expand(*probabilities.shape[:-1], num_samples, probabilities.shape[-1])
    if not replacement and num_samples != 1:
        weights = probabilities
    drawn = torch.empty(weights.shape, dtype=weights.dtype, device=weights.device).uniform_(generator=generator)
    waits = torch.clamp(torch.log1p(drawn * -1) * -1, min=torch.finfo(drawn.dtype).tiny)
    if replacement or num_samples == 1:
        return (weights / waits).argmax(dim=-1)
    return torch.topk(weights / waits, num_samples, dim=-1).indices


# ------------------------------------------------------------------------------------------------ normalisation


def _batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """`native_batch_norm`: PyTorch's decomposition, with what the backward pass needs as the CPU's kernel returns it.

    The decomposition follows CUDA there (mean and 1 / deviation in float32, without training the running ones); the
    CPU returns them in the dtype of the parameters, and without training empty ones. It rounds running ones of a half
    precision twice where they are updated; here they are kept in float32 until the end.
    """
    from torch._decomp.decompositions import native_batch_norm_helper
    from torch._prims_common import get_computation_dtype

    wide = get_computation_dtype(input.dtype)
    running = [(one, one.to(wide) if one is not None and training else one) for one in (running_mean, running_var)]
    result, mean, deviation, _, _ = native_batch_norm_helper(
        input, weight, bias, *(new for _, new in running), training, momentum, eps, functional=False
    )
    for one, new in running:
        if new is not one:
            one.copy_(new)
    parameters = (weight, bias, running_mean, running_var)
    dtype = next((one.dtype for one in parameters if one is not None), input.dtype)
    if not training:
        mean = deviation = input.new_empty((0,), dtype=dtype)
        return result, mean, deviation.clone()
    return result, mean.to(dtype), deviation.to(dtype)


def _batch_norm_no_stats(
    input: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """`_native_batch_norm_legit.no_stats`."""
    return _batch_norm(input, weight, bias, None, None, training, momentum, eps)


def _batch_norm_with_update(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> tuple[Any, Any, Any, Any]:
    """`_batch_norm_with_update`: in training; the fourth result is memory for cuDNN, empty elsewhere."""
    import torch

    found = _batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, torch.empty(0, dtype=torch.uint8, device=input.device)


def _group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """`native_group_norm`, in float32 up to the end."""
    import torch

    found: tuple[Any, Any, Any] = torch._refs.native_group_norm(input, weight, bias, N, C, HxW, group, eps)
    return found


# --------------------------------------------------------------------------------------- resizing and pooling


def _upsample_nearest2d(
    input: Any, output_size: list[int], scales_h: float | None = None, scales_w: float | None = None
) -> Any:
    """`upsample_nearest2d`: PyTorch's decomposition, where an axis keeps its size or doubles it as the CPU's kernel.

    That one takes each index once or twice then, whatever the factor is: the size is rounded down from 1.1 or 2.2 times
    the axis. For one axis and for three the CPU follows the factor, too.
    """
    from torch._decomp.decompositions import upsample_nearest2d

    def factor(given: float | None, axis: int) -> float | None:
        before, after = input.shape[axis], output_size[axis]
        return None if after in (before, 2 * before) else given

    return upsample_nearest2d(input, output_size, factor(scales_h, -2), factor(scales_w, -1))


def _factors(input: Any, output_size: list[int], *given: float | None) -> list[float | None]:
    """Factors of axes for a linear resampling: None for one that keeps its size.

    The CPU's kernels leave such an axis as it is, whatever its factor; PyTorch's decomposition samples it by that.
    """
    sizes = zip(input.shape[-len(given) :], output_size, given, strict=True)
    return [None if before == after else factor for before, after, factor in sizes]


def _upsample_linear1d(input: Any, output_size: list[int], align_corners: bool, scales: float | None = None) -> Any:
    """`upsample_linear1d`: PyTorch's decomposition, see `_factors`."""
    from torch._decomp.decompositions import upsample_linear1d

    return upsample_linear1d(input, output_size, align_corners, *_factors(input, output_size, scales))


def _upsample_bilinear2d(
    input: Any, output_size: list[int], align_corners: bool,
    scales_h: float | None = None, scales_w: float | None = None,
) -> Any:  # fmt: skip
    """`upsample_bilinear2d`: PyTorch's decomposition, see `_factors`."""
    from torch._decomp.decompositions import upsample_bilinear2d

    return upsample_bilinear2d(input, output_size, align_corners, *_factors(input, output_size, scales_h, scales_w))


def _upsample_trilinear3d(
    input: Any, output_size: list[int], align_corners: bool,
    scales_d: float | None = None, scales_h: float | None = None, scales_w: float | None = None,
) -> Any:  # fmt: skip
    """`upsample_trilinear3d`: PyTorch's decomposition, see `_factors`."""
    from torch._decomp.decompositions import upsample_trilinear3d

    factors = _factors(input, output_size, scales_d, scales_h, scales_w)
    return upsample_trilinear3d(input, output_size, align_corners, *factors)


def _multilabel_margin_loss(input: Any, target: Any, reduction: int) -> tuple[Any, Any]:
    """`multilabel_margin_loss_forward`: `input` and `target` (N, C) or (C,); labels end before the first -1.

    With y the labels of a sample: the sum over y and all j that are none of max(0, 1 - x[y] + x[j]) / C, as
    `torch.nn.MultiLabelMarginLoss` documents it. `reduction`: 0 none, 1 the mean, 2 the sum of the samples' losses.
    Returns that, and 1 where an element's index is a label of its sample, else 0, in the input's dtype.
    """
    import torch

    if input.dim() > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, got: {input.shape}")
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {target.shape} for input of size: {input.shape}")
    x, y = torch.atleast_2d(input), torch.atleast_2d(target)
    index = torch.arange(x.shape[1], device=y.device)
    counts = (y == -1).cumsum(dim=1) == 0
    labels = torch.where(counts, y, 0)
    is_target = ((index == labels.unsqueeze(-1)) & counts.unsqueeze(-1)).any(dim=1)
    margins = (1 - x.gather(1, labels).unsqueeze(-1) + x.unsqueeze(1)).clamp_min(0) / x.shape[1]
    losses = torch.where(counts.unsqueeze(-1) & ~is_target.unsqueeze(1), margins, 0).sum(dim=(1, 2))
    told = is_target.to(input.dtype).reshape(target.shape)
    if reduction == 0:
        return losses if input.dim() > 1 else losses.reshape(()), told
    return losses.mean() if reduction == 1 else losses.sum(), told


def _adaptive_avg_pool2d(self: Any, output_size: list[int]) -> Any:
    """`_adaptive_avg_pool2d`: PyTorch's decomposition, which divides by the size asked for, for all sizes but zero."""
    from torch._decomp.decompositions import adaptive_avg_pool2d

    if 0 in output_size and 0 not in self.shape[-2:]:
        return self.new_empty((*self.shape[:-2], *output_size))
    return adaptive_avg_pool2d(self, output_size)


def _max_pool(axes: int) -> Callable[..., Any]:
    """`max_pool2d_with_indices` and that for three axes: PyTorch's decomposition, which takes no empty batch."""
    name = f"max_pool{axes}d_with_indices"

    def pool(
        self: Any, kernel_size: list[int], stride: list[int] | None = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:  # fmt: skip
        import torch
        from torch._decomp import decompositions

        options = (kernel_size, stride or kernel_size, padding, dilation, ceil_mode)
        if self.numel():
            return getattr(decompositions, name)(self, *options)
        sized = getattr(torch.ops.aten, name).default(torch.empty_like(self, device="meta"), *options)
        return tuple(self.new_empty(one.shape, dtype=one.dtype) for one in sized)

    return pool


# ---------------------------------------------------------------------------------------- scaling by powers of two


def _ldexp(self: Any, other: Any) -> Any:
    """`ldexp`: with whole exponents the exact product, rounded once, also where the power alone is no number.

    Scaled in up to three steps. A step down that is not the last leaves room for the whole fraction, so that what it
    rounds off below the normal numbers the last step would make zero. Numbers of float64 are scaled in float32's range,
    as the kernels of a chip without doubles compute. Other exponents: as PyTorch defines it.
    """
    import torch

    device = next((one.device for one in (self, other) if one.device.type != "cpu"), self.device)
    self, other = self.to(device), other.to(device)
    if not self.is_floating_point() or other.is_floating_point() or other.is_complex():
        return self * torch.pow(2.0, other)
    result, left = self.to(torch.float32), other.to(torch.int64)
    for last in (False, False, True):
        step = left.clamp(-126, 127)
        if not last:
            step = torch.where(left < -126, -102, step)
        result = result * ((step + 127) * 2**23).to(torch.int32).view(torch.float32)
        left = left - step
    return result.to(self.dtype)


# ------------------------------------------------------------------------------ `out=` of what PyTorch composes


def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`linear.out`: the functional form's one rounding, and a copy."""
    import torch

    return torch.ops.aten.linear.default(input, weight, bias)


def _mode(self: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """`mode.values`: the functional form, and copies."""
    import torch

    return torch.ops.aten.mode.default(self, dim, keepdim)


def _conj_physical(self: Any) -> Any:
    """`conj_physical.out` of a real tensor: itself, which is copied. The functional form is its argument there."""
    return NotImplemented if self.is_complex() else self


OURS: dict[str, Callable[..., Any]] = {
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_cell_backward,
    "multinomial": _multinomial,
    "native_batch_norm": _batch_norm,
    "native_batch_norm.out": _batch_norm,
    "_native_batch_norm_legit": _batch_norm,
    "_native_batch_norm_legit.out": _batch_norm,
    "_native_batch_norm_legit.no_stats": _batch_norm_no_stats,
    "_native_batch_norm_legit.no_stats_out": _batch_norm_no_stats,
    "_batch_norm_with_update": _batch_norm_with_update,
    "_batch_norm_with_update.out": _batch_norm_with_update,
    "native_group_norm": _group_norm,
    "upsample_nearest2d": _upsample_nearest2d,
    "upsample_nearest2d.out": _upsample_nearest2d,
    "upsample_linear1d": _upsample_linear1d,
    "upsample_linear1d.out": _upsample_linear1d,
    "upsample_bilinear2d": _upsample_bilinear2d,
    "upsample_bilinear2d.out": _upsample_bilinear2d,
    "upsample_trilinear3d": _upsample_trilinear3d,
    "upsample_trilinear3d.out": _upsample_trilinear3d,
    "multilabel_margin_loss_forward": _multilabel_margin_loss,
    "multilabel_margin_loss_forward.output": _multilabel_margin_loss,
    **{f"max_pool2d_with_indices{form}": _max_pool(2) for form in ("", ".out")},
    **{f"max_pool3d_with_indices{form}": _max_pool(3) for form in ("", ".out")},
    "_adaptive_avg_pool2d": _adaptive_avg_pool2d,
    "_adaptive_avg_pool2d.out": _adaptive_avg_pool2d,
    "ldexp.Tensor": _ldexp,
    "ldexp.out": _ldexp,
    "linear.out": _linear,
    "mode.values": _mode,
    "conj_physical.out": _conj_physical,
}
"""By overload: compositions of ours; those of `out=` forms return what is then copied."""
ONLY_OURS = frozenset(name for name in OURS if name.startswith("_thnn"))
"""Those of which the CPU has no kernel."""
INSTEAD = {
    "native_group_norm": "that one rounds to the input's dtype in the middle",
    "ldexp.Tensor": "that one multiplies by a power that may be no number where the product is one",
    "ldexp.out": "that one multiplies by a power that may be no number where the product is one",
    "linear.out": "that one rounds the product before the bias is added",
    "mode.values": "that one refuses devices that PyTorch does not know",
}
"""Of these, the ones that take the place of a composition in PyTorch, and why."""


def _sparse_bag_backward(form: Callable[..., Any]) -> Callable[..., Any]:
    """`_embedding_bag_backward` with `sparse=True` asks for a sparse tensor: no kernel's result can be one."""
    import torch

    aten = torch.ops.aten

    def serve(
        grad: Any, indices: Any, offsets: Any, offset2bag: Any, bag_size: Any, maximum_indices: Any, num_weights: int,
        scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any, padding_idx: int = -1,
    ) -> Any:  # fmt: skip
        if not sparse:
            return form(
                grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
                sparse, per_sample_weights, padding_idx,
            )  # fmt: skip
        if indices.numel() and not offset2bag.numel():
            # A forward pass that did not need to know each index's bag does not say it.
            begins = torch.zeros(indices.numel() + 1, dtype=offsets.dtype, device=offsets.device)
            begins.index_add_(0, offsets, torch.ones_like(offsets))
            offset2bag = begins.cumsum(0)[:-1] - 1
        return aten._embedding_bag_sparse_backward(
            grad, indices, offsets, offset2bag, bag_size, num_weights, scale_grad_by_freq, mode, per_sample_weights,
            padding_idx,
        )  # fmt: skip

    return serve


DETOURS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "_embedding_bag_backward": _sparse_bag_backward,
}
"""By overload: what stands before a kernel and takes the calls that it cannot serve."""
