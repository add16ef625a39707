"""Coverage as a device: every case of OpInfo runs on a device with one kernel library behind it, and nothing else.

A name is covered only if all of its cases pass: the call, its in-place and `out=` forms, and its gradients. What serves
is a library of bringup's, or whatever a function of the user's registers with PyTorch's dispatcher. `records`,
`summary` and `planning` import no torch.
"""

from bringup.coverage._library import chosen_library, kernel_digests
from bringup.coverage.missing import Planned, plan, results_file
from bringup.coverage.records import FORMS, Failure, Header, OperatorResult, Results, Tally
from bringup.coverage.shipping import file_name, ship, stale
from bringup.coverage.summary import Summary, Unlock, summarise

__all__ = [
    "FORMS",
    "Failure",
    "Header",
    "OperatorResult",
    "Planned",
    "Results",
    "Summary",
    "Tally",
    "Unlock",
    "chosen_library",
    "file_name",
    "kernel_digests",
    "plan",
    "results_file",
    "ship",
    "stale",
    "summarise",
]
