"""The names that a profile may use: Triton's dtypes and the functions of `triton.language` (3.6 and 3.7 together).

A profile is read where triton need not be imported, so the names are written down here; a test compares them with the
installed triton. Group names are those of Triton's own API reference.
"""

from __future__ import annotations

INTEGER_DTYPES = ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOAT_DTYPES = ("fp16", "bf16", "fp32", "fp64")
FLOAT8_DTYPES = ("fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16", "fp8e4b15")
DTYPES = INTEGER_DTYPES + FLOAT_DTYPES + FLOAT8_DTYPES

BITS = {
    "int1": 1,
    **{f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "fp16": 16,
    "bf16": 16,
    "fp32": 32,
    "fp64": 64,
    **dict.fromkeys(FLOAT8_DTYPES, 8),
}
"""Width of one element, in bits."""

TL_GROUPS: dict[str, tuple[str, ...]] = {
    "programming model": ("program_id", "num_programs", "tensor", "constexpr"),
    "creation": ("arange", "cat", "full", "zeros", "zeros_like", "cast", "to_tensor"),
    "shape": (
        *("broadcast", "broadcast_to", "expand_dims", "unsqueeze", "squeeze", "interleave", "join", "permute"),
        *("ravel", "reshape", "split", "trans", "view"),
    ),
    "linear algebra": ("dot", "dot_scaled"),
    "memory": (
        *("load", "store", "make_block_ptr", "advance"),
        *("make_tensor_descriptor", "load_tensor_descriptor", "store_tensor_descriptor"),
    ),
    "indexing": ("flip", "where", "swizzle2d"),
    "math": (
        *("abs", "add", "sub", "mul", "cdiv", "ceil", "clamp", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor"),
        *("fma", "log", "log2", "maximum", "minimum", "rsqrt", "sigmoid", "sin", "softmax", "sqrt", "sqrt_rn"),
        "umulhi",
    ),
    "reduction": ("argmax", "argmin", "max", "min", "reduce", "reduce_or", "sum", "xor_sum"),
    "scan and sort": (
        *("associative_scan", "cumprod", "cumsum", "histogram", "sort", "topk", "bitonic_merge", "gather"),
    ),
    "atomic": (
        *("atomic_add", "atomic_and", "atomic_cas", "atomic_max", "atomic_min", "atomic_or", "atomic_xchg"),
        "atomic_xor",
    ),
    "random": (
        *("philox", "philox_impl", "rand", "rand4x", "randint", "randint4x", "randn", "randn4x"),
        *("uint_to_uniform_float", "pair_uniform_to_normal"),
    ),
    "iterators": ("range", "static_range", "condition"),
    "inline": ("inline_asm_elementwise", "map_elementwise"),
    "hints": ("assume", "debug_barrier", "max_constancy", "max_contiguous", "multiple_of"),
    "debug": ("static_print", "static_assert", "device_print", "device_assert"),
}
"""Functions of `triton.language` by group; `tl.math.X` counts as `tl.X`."""

TL_NAMES = frozenset(name for names in TL_GROUPS.values() for name in names)
