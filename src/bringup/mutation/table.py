"""The table of all classes of mutations. Docs, the command and the reports read it."""

from __future__ import annotations

from bringup.mutation.comparisons import (
    BoundaryShifted,
    BoundOffByOne,
    BranchDropped,
    ComparisonNegated,
    ConditionWeakened,
)
from bringup.mutation.expressions import (
    ArmsSwapped,
    ConstantNudged,
    DefaultChanged,
    MinMaxSwapped,
    OperandsSwapped,
    OperatorReplaced,
    RoundingChanged,
)
from bringup.mutation.kernels import (
    AxisSwapped,
    DtypeBranchBroken,
    LayoutIgnored,
    MaskDropped,
    NeutralChanged,
    PrecisionLowered,
    ProgramsSkipped,
    StridesConfused,
    TailSkipped,
)
from bringup.mutation.mutator import Mutator

# The narrower classes come first: a change that two classes make belongs to the first of them.
MUTATORS: tuple[type[Mutator], ...] = (
    MaskDropped,
    TailSkipped,
    ProgramsSkipped,
    NeutralChanged,
    PrecisionLowered,
    DtypeBranchBroken,
    AxisSwapped,
    StridesConfused,
    LayoutIgnored,
    DefaultChanged,
    BoundOffByOne,
    BoundaryShifted,
    ComparisonNegated,
    ConditionWeakened,
    BranchDropped,
    ArmsSwapped,
    MinMaxSwapped,
    RoundingChanged,
    OperandsSwapped,
    OperatorReplaced,
    ConstantNudged,
)
