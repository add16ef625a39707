"""What "right" means: classes of operators, bounds of their errors, exact references.

An operator is exact, rounding or accumulating; some are composite, and for some no exact reference exists. The table
(`data/classes.yaml`) says which, with figures; `Standard.limits` says for one call what each result may be. Nothing
here depends on the instructions, threads or libraries of the host. docs/decisions/0029-what-right-means.md says why.
"""

from bringup.accuracy._limits import COMPLETE, Arithmetic, Limit, Limits, Standard
from bringup.accuracy._numbers import FLOATS, PRECISION
from bringup.accuracy._room import limited_memory
from bringup.accuracy._steps import RUNS, Stepped, Steps, stepwise
from bringup.accuracy._table import KINDS, Kind, Rule, rule_of, table
from bringup.accuracy._twin import copy_arguments

__all__ = [
    "COMPLETE", "FLOATS", "KINDS", "PRECISION", "RUNS", "Arithmetic", "Kind", "Limit", "Limits", "Rule", "Standard",
    "Stepped", "Steps", "copy_arguments", "limited_memory", "rule_of", "stepwise", "table",
]  # fmt: skip
