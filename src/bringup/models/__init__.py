"""Small models of each common kind, trained beside the CPU on a device with a kernel library behind it.

`catalog` and `records` import no torch; `running.run` trains on both, compares, and says what served each operator.
"""

from bringup.models.catalog import chosen, get, names
from bringup.models.records import GradientError, ModelResult, OperatorUse

__all__ = ["GradientError", "ModelResult", "OperatorUse", "chosen", "get", "names"]
