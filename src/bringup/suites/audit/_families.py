"""The families of audit cases and how many cases each may have; no torch here.

The sum of the caps bounds the audit of one operator in one dtype. A family that finds more keeps a spread of them.
"""

from __future__ import annotations

# family -> most cases an operator and dtype, in the order in which they are judged
FAMILIES: dict[str, int] = {
    "calls": 8,
    "layout": 10,
    "empty": 5,
    "values": 13,
    "promotion": 8,
    "out": 9,
    "random": 5,
    "accuracy": 10,
    "reference": 6,
    "factors": 3,
    "matrices": 5,
    "options": 8,
    "errors": 12,
    "sizes": 10,
    "dims": 6,
    "omitted": 7,
    "mixed": 4,
    "mismatch": 6,
    "shapes": 7,
    "numbers": 12,
    "alignment": 3,
    "ranks": 5,
    "scales": 3,
    "scalars": 8,
    "alone": 6,
    "stores": 3,
    "precisions": 9,
    "pivots": 3,
    "edges": 7,
    "unfit": 10,
    "lengths": 3,
    "pairs": 7,
    "offsets": 4,
    "written": 8,
    "doubles": 4,
    "formats": 12,
    "unlisted": 3,
    "equations": 8,
    "masks": 7,
    "rare": 16,
    "indefinite": 2,
    "magnitudes": 3,
    "gaps": 3,
    "limits": 10,
    "singles": 18,
    "words": 3,
    "lone": 6,
    "forms": 8,
    "indices": 5,
    "given": 8,
    "combined": 14,
    "beside": 12,
    "ends": 14,
    "places": 12,
    "borders": 14,
    "corners": 14,
}
MAX_CASES = sum(FAMILIES.values())

MAX_INPUT = 3 << 20  # elements of all tensors among the arguments of one case
MAX_OUTPUT = 1 << 22  # elements of all its results
MOST_DIMENSIONS = 63  # of a result: PyTorch copies tensors of 64, and so do drivers that map a tensor's bytes
LARGE = 1 << 16  # a case with more input elements is large: at most two in an operator and dtype for each family
