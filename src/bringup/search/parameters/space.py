"""What a kernel module's own source leaves open, as a space of choices, and the edits that make one.

`space(source, freedom)` finds the parameters, `apply(source, choice)` writes a choice into the text and changes nothing
else: comments and layout stay. Both are pure functions of the text; no torch, no Triton.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field, field_validator

from bringup.candidate import digest
from bringup.verdict import Record

Value = int | str
Kind = Literal["block", "programs", "num_warps", "num_stages", "operands", "input_precision", "order", "axes"]
DEFAULT = "default"  # the compiler's own choice: the source says nothing


class Freedom(Record):
    """How far the parameters of a target may go: figures of its chip, and the options of its launches that matter."""

    block: int = Field(default=65536, ge=1)  # elements along one axis of a block
    dot: int = Field(default=16, ge=1)  # the shortest side of a matrix for `tl.dot`
    programs: int = Field(default=65535, ge=1)  # of one launch
    processors: int = Field(default=0, ge=0)  # that run programs at one time; 0: unknown
    num_warps: tuple[int, ...] = ()  # choices beside the compiler's own; empty: means nothing on the target
    num_stages: tuple[int, ...] = ()
    warps: int = 4  # the compiler's own choices
    stages: int = 3
    precisions: tuple[str, ...] = ()  # of `tl.dot` on fp32, that a result may be accurate enough with


class Parameter(Record):
    """One thing that the source leaves open. `choices` are in order where they have one, the present one among them."""

    name: str  # unique in the source and the same wherever its text is: "BLOCK@41"
    kind: Kind
    function: str  # the kernel that it concerns
    line: int  # of its first place in the source, from 1
    choices: tuple[Value, ...]
    present: Value

    @property
    def ordered(self) -> bool:
        """Whether neighbours among the choices are alike."""
        return self.kind not in {"operands", "input_precision", "axes"}


class Choice(Record):
    """A value for each parameter that is not left at its present one, by the parameter's name."""

    values: dict[str, Value] = Field(default_factory=dict)

    @field_validator("values")
    @classmethod
    def _in_order(cls, values: dict[str, Value]) -> dict[str, Value]:
        return dict(sorted(values.items()))

    @property
    def digest(self) -> str:
        """SHA-256 of the choice: equal choices of one source, equal digests."""
        return digest(json.dumps(self.values, separators=(",", ":")))

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.values.items()) or "as it is"


class Space(Record):
    """The parameters of one source, and what each may be."""

    source: str  # digest of the text
    parameters: tuple[Parameter, ...] = ()

    @property
    def size(self) -> int:
        """How many choices there are, the present one included."""
        product = 1
        for parameter in self.parameters:
            product *= len(parameter.choices)
        return product

    def parameter(self, name: str) -> Parameter | None:
        """Return a parameter by its name."""
        return next((one for one in self.parameters if one.name == name), None)

    def choice(self, values: dict[str, Value]) -> Choice:
        """Return the choice of these values, without those that are present already."""
        present = {one.name: one.present for one in self.parameters}
        return Choice(values={name: value for name, value in values.items() if present.get(name) != value})
