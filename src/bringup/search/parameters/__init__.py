"""The parameter tuner: searches what a kernel's own source leaves open, without any model.

`space(source, freedom)` finds block sizes, launch options, limits of programs, the operands and precision of matrix
products, and orders of tiles in the syntax tree; `apply(source, choice)` writes a choice into the text; `Tuner`
proposes the next choice from what earlier ones came to. See docs/parameters.md.
"""

from bringup.search.parameters._freedom import freedom_of
from bringup.search.parameters._narrow import apply, space
from bringup.search.parameters.optimiser import Trial, Tuner
from bringup.search.parameters.space import DEFAULT, Choice, Freedom, Parameter, Space, Value

__all__ = [
    "DEFAULT",
    "Choice",
    "Freedom",
    "Parameter",
    "Space",
    "Trial",
    "Tuner",
    "Value",
    "apply",
    "freedom_of",
    "space",
]
