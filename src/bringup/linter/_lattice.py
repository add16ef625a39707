"""The kinds of values that the linter tells apart, how they join, and what PyTorch's functions and methods return."""

from __future__ import annotations

from typing import Final

from bringup.linter._module import words

UNKNOWN: Final = 0
NONE: Final = 1
SCALAR: Final = 2  # numbers, bools, dtypes, devices, sizes and tuples of those
STRING: Final = 3
TENSOR: Final = 4
TENSORS: Final = 5  # a list or tuple of tensors
OBJECT: Final = 6  # certainly no tensor, but its elements may be anything

# Only tensors have these, so a parameter on which one is used is a tensor.
EVIDENCE = words(
    "shape stride dtype device ndim dim is_contiguous contiguous element_size storage_offset view reshape "
    "unsqueeze expand permute transpose detach clone new_empty as_strided numel"
)
SCALAR_METHODS = words(
    "numel dim size stride element_size is_contiguous storage_offset data_ptr item tolist get_device "
    "nelement ndimension is_floating_point is_complex is_signed is_conj is_neg is_same_size bit_length "
    "is_integer"
)
SCALAR_ATTRIBUTES = words(
    "shape dtype device ndim layout itemsize nbytes is_cuda requires_grad eps max min tiny bits "
    "smallest_normal is_floating_point is_complex is_signed type index"
)
TENSOR_ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "data", "grad", "real", "imag"})
SEQUENCE_VIEWS = frozenset(
    {"split", "chunk", "unbind", "tensor_split", "split_with_sizes", "hsplit", "vsplit", "dsplit"}
)
# Only tensors have these methods, and they return tensors.
TENSOR_METHODS = words(
    "contiguous view reshape expand expand_as permute transpose unsqueeze squeeze flatten as_strided "
    "detach clone new_empty narrow select movedim broadcast_to view_as"
)
TORCH_TENSORS = words(
    "empty empty_like empty_strided empty_permuted as_strided broadcast_to clone detach diagonal flatten "
    "moveaxis movedim narrow permute ravel reshape select squeeze swapaxes swapdims t transpose unflatten "
    "unsqueeze zeros ones full zeros_like ones_like full_like tensor arange"
)
TORCH_SEQUENCES = words("broadcast_tensors chunk dsplit hsplit meshgrid split tensor_split unbind vsplit")
TORCH_SCALARS = words(
    "broadcast_shapes can_cast finfo get_default_dtype iinfo is_complex is_floating_point is_same_size "
    "is_tensor numel promote_types result_type Size"
)
SCALAR_BUILTINS = words("int float bool len round divmod pow range isinstance any all repr str slice")
PASSING_BUILTINS = words("abs min max sum list tuple sorted reversed")


def join(a: int, b: int) -> int:
    """The kind of a value that is `a` on one path and `b` on another."""
    if a == b:
        return a
    if NONE in (a, b):
        return a + b - NONE
    if {a, b} == {SCALAR, STRING}:
        return SCALAR
    if {a, b} <= {SCALAR, STRING, OBJECT}:
        return OBJECT
    return UNKNOWN


def arithmetic(left: int, right: int) -> int:
    """The kind of `left op right`."""
    if left in (TENSORS, OBJECT) or right in (TENSORS, OBJECT):
        return TENSORS if left == right == TENSORS else OBJECT if UNKNOWN not in (left, right) else UNKNOWN
    if TENSOR in (left, right):
        return TENSOR
    if STRING in (left, right):
        return STRING if UNKNOWN not in (left, right) else UNKNOWN
    return SCALAR if left == right == SCALAR else UNKNOWN


def torch_result(name: str) -> int:
    """The kind that `torch.<name>(...)` returns."""
    if name in TORCH_TENSORS:
        return TENSOR
    if name in TORCH_SEQUENCES:
        return TENSORS
    return SCALAR if name in TORCH_SCALARS else UNKNOWN


def method_result(method: str, receiver: int) -> int:
    """The kind that a method returns on a receiver of a kind."""
    if receiver == TENSOR:
        if method in SCALAR_METHODS:
            return SCALAR
        return TENSORS if method in SEQUENCE_VIEWS else TENSOR
    if receiver == STRING:
        return UNKNOWN if method == "split" else STRING
    if receiver == UNKNOWN:
        if method in SCALAR_METHODS:
            return SCALAR
        return TENSOR if method in TENSOR_METHODS else UNKNOWN
    return SCALAR if receiver == SCALAR else UNKNOWN
