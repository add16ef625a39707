"""Guards that are part of the comparison of every case."""

from __future__ import annotations

from bringup.judge.guards._base import Check


class Mutation(Check):
    """Inputs after the call are what the reference leaves, bit for bit where it does not write."""

    id = "mutation"
    catches = "inputs changed where the operator leaves them alone"
    misses = "a change that is undone before the wrapper returns"


class Aliasing(Check):
    """Outputs share memory with inputs, and with each other, exactly where the operator's schema says so."""

    id = "aliasing"
    catches = "inputs returned as outputs, one buffer returned twice, copies where a view is promised"
    misses = "a result kept for an object that is given again: `rehearsed`"


class Outputs(Check):
    """Outputs are plain tensors on the target's device."""

    id = "outputs"
    catches = "tensor subclasses, results on another device"
    misses = "nothing that the comparison of dtype, shape and values would not see"


class Provenance(Check):
    """Every byte of a result was written by a kernel, or copied from such.

    A byte that came from an input by copies alone is accepted only where the operator is a copy or a view by
    definition, or where the right answer leaves that element of the input as it is.
    """

    id = "provenance"
    catches = "results put together by copies or uploads, kernels launched for show, memory that nothing has written"
    misses = "on targets whose map is not exact (a GPU), a kernel that was given a buffer and wrote only part of it"
    advice = "write the result in a kernel; copies may prepare its inputs"


class Launches(Check):
    """A candidate whose every case passed must have launched a kernel, where the operator computes."""

    id = "launches"
    catches = "answers that no kernel computed"
    misses = "kernels launched for show; `provenance` sees them"
