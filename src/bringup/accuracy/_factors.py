"""Factorisations: the factors are not unique, but functions of them are, and each has its bound.

A backward stable algorithm gives the factors of a matrix that is p(n) unit roundoffs of its norm away, and orthogonal
factors that are as near to orthogonal ones (Higham, *Accuracy and Stability of Numerical Algorithms*, sections 19.3 and
19.5; Golub and Van Loan, *Matrix Computations*, section 8.6). So singular values, eigenvalues, products of the factors
and Gram matrices are off by p(n) roundoffs of the power of the norm that they grow with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from bringup.accuracy._twin import Twin, leaves

Functions = Callable[[Any], Any]


def functions_of(twin: Twin, functions: Functions) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the exact functions of a factorisation's results, and the sizes that their errors are shares of.

    `functions` are of the operator's result. A size broadcasts to its function: a power of the spectral norm of each
    matrix. The power is found by factorising twice the matrix; a function that is zero for both (what is below the
    diagonal of R) counts as an element of the matrix. Raises what PyTorch raises.
    """
    exact = leaves(functions(twin.run()[0]))
    doubled = leaves(functions(twin.run(lambda flat: flat * 2)[0]))
    matrix = next(leaf.double() for leaf in leaves([twin.args, twin.kwargs]) if leaf.is_floating_point())
    norm = (
        torch.linalg.matrix_norm(matrix, 2) if matrix.numel() else torch.zeros(matrix.shape[:-2], dtype=torch.float64)
    )
    sizes = []
    for one, other in zip(exact, doubled, strict=True):
        if not one.numel():  # of a factor that was not asked for, say
            sizes.append(torch.zeros_like(one))
            continue
        before, after = (float(found.abs().max()) if found.numel() else 0.0 for found in (one, other))
        power = round(math.log2(after / before)) if before and after else 1
        sizes.append((norm**power).reshape(*norm.shape, *[1] * (one.dim() - norm.dim())))
    return exact, sizes


def units(twin: Twin) -> float:
    """Return p(n): as many roundoffs as a composite operator on a square matrix of the longer side may have."""
    matrix = next(leaf for leaf in leaves([twin.args, twin.kwargs]) if leaf.is_floating_point())
    return 8.0 + 4.0 * float(max(matrix.shape[-2:]))
