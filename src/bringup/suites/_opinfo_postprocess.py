"""What is defined of a result that is not unique: reviewed, with the reason for each operator.

The functions here are applied to the expected and to the actual result before they are compared. They keep every
property that the documentation promises (the factors multiply to the input, are orthonormal, triangular; the indices
point at the values, and are a permutation) and drop only what it leaves open (signs, bases of degenerate subspaces,
the order of equal elements). OpInfo's own hook, `output_process_fn_grad`, is made for gradients: it takes absolute
values of the factors, or drops some, and would accept factors that do not multiply to the input; it is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from bringup.suites._opinfo_calls import Call

Result = Any
Function = Callable[[Result], Result]


@dataclass(frozen=True)
class Postprocess:
    """What to compare, and why not the plain result."""

    function: Function
    reason: str


_SVD = "singular vectors are unique only up to sign, or to a basis where singular values repeat"
_EIGH = "eigenvectors are unique only up to sign, or to a basis where eigenvalues repeat"
_QR = "Q and R are unique only up to the signs of R's diagonal, and not even so for a matrix of lower rank"
_TIES = "which of several equal elements an index names is not specified"
_EIG = "eigenvalues come in no specified order, and eigenvectors are unique only up to a factor"


def _svd(result: Result, *, adjoint: bool) -> Result:
    u, s, v = result
    if u.dim() < 2:  # not asked for
        return u, s, v
    vh = v.mH if adjoint else v
    k = s.shape[-1]
    product = (u[..., :, :k] * s.unsqueeze(-2)) @ vh[..., :k, :]
    return s, product, u.mH @ u, vh @ vh.mH


def _eigh(result: Result) -> Result:
    values, vectors = result
    if vectors.dim() < 2:  # not asked for
        return values, vectors
    return values, (vectors * values.unsqueeze(-2)) @ vectors.mH, vectors.mH @ vectors


def _qr(result: Result) -> Result:
    q, r = result
    if not q.numel():  # mode="r": only R's Gram matrix is free of signs
        return q, r.mH @ r, r.tril(-1)
    return q @ r, q.mH @ q, r.tril(-1)


def _geqrf(result: Result) -> Result:
    a, tau = result
    k = tau.shape[-1]
    q = torch.linalg.householder_product(a[..., :k], tau)
    return q @ a[..., :k, :].triu(), q.mH @ q


def _by_size(values: torch.Tensor) -> torch.Tensor:
    """Order complex eigenvalues by real, then imaginary part, both rounded so that noise does not decide."""
    wide = values.to(torch.complex128)
    order = torch.argsort(wide.imag.mul(1e3).round(), dim=-1, stable=True)
    wide = wide.gather(-1, order)
    order = torch.argsort(wide.real.mul(1e3).round(), dim=-1, stable=True)
    return wide.gather(-1, order).to(values.dtype)


def _eig(matrix: torch.Tensor) -> Function:
    def function(result: Result) -> Result:
        values, vectors = result
        return (
            _by_size(values),
            matrix.to(values.dtype) @ vectors - vectors * values.unsqueeze(-2),
            vectors.norm(dim=-2),
        )

    return function


def _pointed_at(source: torch.Tensor, dim: int, *, keepdim: bool) -> Function:
    """For (values, indices) of a reduction: the values, and what the indices name in the input."""

    def function(result: Result) -> Result:
        values, indices = result
        if source.dim() == 0:
            return values, indices
        where = indices if keepdim else indices.unsqueeze(dim)
        return values, source.gather(dim, where)

    return function


def _order(source: torch.Tensor, dim: int, result: Result) -> Result:
    """For indices that order `source`: what they name, and the indices sorted (all different, in range)."""
    if source.dim() == 0:
        return (result,)
    return source.gather(dim, result), result.sort(dim).values


def _sort(source: torch.Tensor, dim: int) -> Function:
    return lambda result: (result[0], *_order(source, dim, result[1]))


def _topk(source: torch.Tensor, dim: int) -> Function:
    def function(result: Result) -> Result:
        values, indices = result
        if source.dim() == 0:
            return values, indices
        ordered = indices.sort(dim).values
        length = max(ordered.shape[dim] - 1, 0)
        repeated = ordered.narrow(dim, 0, length) == ordered.narrow(dim, min(1, ordered.shape[dim]), length)
        # A permitted order of the values is also open when sorted=False; OpInfo has sorted results compared as such.
        return values, source.gather(dim, indices), repeated.any()

    return function


def _source(call: Call) -> torch.Tensor:
    """Return a copy of the first argument, also where all are given by name; raises KeyError where there is none."""
    return (call.args[0] if call.args else call.kwargs["A" if "A" in call.kwargs else "input"]).clone()


def _option(call: Call, position: int, name: str, default: Any) -> Any:
    return call.args[position] if len(call.args) > position else call.kwargs.get(name, default)


def _reduction(call: Call, dim_at: int, keepdim_at: int, default_dim: int | None) -> Function | None:
    dim = _option(call, dim_at, "dim", default_dim)
    if dim is None:  # over all elements: one value, no index
        return None
    return _pointed_at(_source(call), dim, keepdim=_option(call, keepdim_at, "keepdim", False))


def _build(operator: str, call: Call) -> tuple[Function | None, str]:
    match operator:
        case "svd":
            return lambda result: _svd(result, adjoint=True), _SVD
        case "linalg.svd":
            return lambda result: _svd(result, adjoint=False), _SVD
        case "linalg.eigh":
            return _eigh, _EIGH
        case "qr" | "linalg.qr":
            return _qr, _QR
        case "geqrf":
            return _geqrf, _QR
        case "linalg.eig":
            return _eig(_source(call)), _EIG
        case "linalg.eigvals":
            return _by_size, _EIG
        case "sort" | "argsort" if not _option(call, 99, "stable", False):
            source = _source(call)
            dim = _option(call, 1, "dim", -1)
            if operator == "sort":
                return _sort(source, dim), _TIES
            return lambda result: _order(source, dim, result), _TIES
        case "topk":
            return _topk(_source(call), _option(call, 2, "dim", -1)), _TIES
        case "kthvalue":
            return _reduction(call, 2, 3, -1), _TIES
        case "mode":
            return _reduction(call, 1, 2, -1), _TIES
        case "median" | "nanmedian":
            return _reduction(call, 1, 2, None), _TIES
        case "cummax" | "cummin":
            return _pointed_at(_source(call), _option(call, 1, "dim", None), keepdim=True), _TIES
    return None, ""


def postprocess_of(operator: str, call: Call) -> Postprocess | None:
    """Return what to compare of one call's result, or None where the result is unique.

    The function never raises on a malformed result: it then returns the result as it is, which differs in structure
    from what the expected result becomes.
    """
    function, reason = _build(operator, call)
    if function is None:
        return None

    def guarded(result: Result) -> Result:
        try:
            return function(result)
        except (RuntimeError, IndexError, TypeError, ValueError, AttributeError):
            return result

    return Postprocess(guarded, reason)


OPERATORS = frozenset({
    "svd", "linalg.svd", "linalg.eigh", "qr", "linalg.qr", "geqrf", "linalg.eig", "linalg.eigvals", "sort", "argsort",
    "topk", "kthvalue", "mode", "median", "nanmedian", "cummax", "cummin",
})  # fmt: skip
