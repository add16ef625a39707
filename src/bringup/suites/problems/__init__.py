"""Suites of problems: files that hold a PyTorch module and its inputs, loaded unmodified. docs/problems.md says more.

`kernelbench:PATH` takes KernelBench's format (`Model`, `get_inputs`, `get_init_inputs`), `modules:PATH` our own, with
several sizes and gradients. PATH is a file, a folder, or what a job took along.
"""

from bringup.suites.problems._suite import WORDS, ProblemSuite

__all__ = ["KernelBenchSuite", "ModulesSuite", "ProblemSuite"]


class KernelBenchSuite(ProblemSuite):
    """Problems in KernelBench's format; `kernelbench:PATH?memory=16M` cuts their sizes."""

    contract = "kernelbench"
    words = WORDS


class ModulesSuite(ProblemSuite):
    """Problems in our own format: `Reference`, `inputs`, `CHECKS`, `SIZES`, `DTYPES`, `TRAINING`."""

    contract = "modules"
    words = WORDS
