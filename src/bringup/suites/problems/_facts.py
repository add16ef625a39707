"""What a problem file turns out to be: its call, its sizes, and why it may be of no use. Imports no torch."""

from __future__ import annotations

from pydantic import Field

from bringup.verdict import Record

FORMAT = 2


class Facts(Record):
    """Facts of one problem file under one set of options."""

    format: int = FORMAT
    error: str = ""  # why it cannot be judged, in one line
    vacuous: str = ""  # why a right answer means nothing
    names: tuple[str, ...] = ()  # of the positional arguments
    types: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    inputs: int = 0  # positional arguments that are inputs of `forward`
    gradients: int = 0  # positional arguments that are gradients of results
    results: int = 1
    cases: int = 0  # of each dtype
    dtypes: tuple[str, ...] = ("float32",)
    divisor: int = 1  # of the sizes that are larger than `kept`
    kept: int = 64
    nbytes: int = 0  # of inputs, parameters and results of the largest case
    document: str = ""  # docstring of the reference
    copies: bool = False  # the result is one of the inputs as it is: only inputs of other signs tell
    init: dict[str, str] = Field(default_factory=dict)  # plain arguments of `__init__` as Python text
    defaults: tuple[str, ...] = ()  # further parameters of `__init__`, which keep their defaults
