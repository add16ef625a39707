"""What running a model leaves: numbers beside the CPU's, and what served each operator. As JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from bringup.errors import FormatError
from bringup.files import write_atomically
from bringup.models.catalog import names
from bringup.verdict import Record

FORMAT = 1
Status = Literal["passed", "differs", "lacks", "failed"]
Use = Literal["kernel", "refined", "composed", "cpu", "missing"]


class GradientError(Record):
    """The gradient of one parameter, after the first step's backward pass."""

    parameter: str
    shape: list[int]
    error: float
    """Largest |ours - CPU's|, by the larger of the largest element of the CPU's and a thousandth of the model's."""
    largest: float
    """Largest element of the CPU's, absolute."""
    sparse: bool = False


class OperatorUse(Record):
    """One overload, and who served it."""

    overload: str
    use: Use
    calls: int = 0
    kernels: list[str] = Field(default_factory=list)
    """Folders in the library."""
    note: str = ""


class ModelResult(Record):
    """One model, trained on a device beside the CPU."""

    model: str
    what: str
    optimizer: str
    parameters: int = 0
    steps: int
    target: str
    library: str
    fallback: bool
    unjudged: bool = False
    torch: str
    status: Status
    problem: str = ""
    """Why it did not pass, in one line."""
    losses_cpu: list[float] = Field(default_factory=list)
    losses: list[float] = Field(default_factory=list)
    loss_error: float | None = None
    """The largest relative difference of a loss."""
    loss_tolerance: float
    gradients: list[GradientError] = Field(default_factory=list)
    gradient_tolerance: float
    generated: str = ""
    """What became of generation; empty: the model does not generate."""
    generated_right: bool | None = None
    seconds_cpu: float | None = None
    """Of a step, the median."""
    seconds: float | None = None
    operators: list[OperatorUse] = Field(default_factory=list)
    command: str = ""
    """What would make the missing kernels."""

    def of(self, *uses: Use) -> list[OperatorUse]:
        """The operators that were served in one of these ways."""
        return [one for one in self.operators if one.use in uses]


def as_data(result: ModelResult) -> dict[str, Any]:
    """Return a result as JSON can hold it: numbers that are not finite as words."""

    def plain(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list) else value

    data: dict[str, Any] = plain(result.model_dump(mode="json"))
    return data


def save(results: Sequence[ModelResult], path: Path) -> None:
    """Write results to a file, whole or not at all; what it holds of other models stays. Raises FormatError."""
    made = {one.model: one for one in [*(load(path) if path.exists() else ()), *results]}
    results = [made[name] for name in sorted(made, key=_order)]
    data = {"format": FORMAT, "models": [as_data(one) for one in results]}
    write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())


def _order(model: str) -> tuple[int, str]:
    known = names()
    return (known.index(model) if model in known else len(known), model)


def load(path: Path) -> list[ModelResult]:
    """Read a file of results; raises FormatError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("format") != FORMAT:
            raise FormatError(f"{path}: format {data.get('format')!r} is not {FORMAT}; run `bringup models run` again")
        return [ModelResult.model_validate(one) for one in data["models"]]
    except FileNotFoundError:
        raise FormatError(f"{path}: no such file; `bringup models run all --out {path}` makes it") from None
    except (OSError, ValueError, AttributeError, KeyError, TypeError, ValidationError) as error:
        raise FormatError(f"{path}: no results of `bringup models run`: {str(error).splitlines()[0]}") from None
