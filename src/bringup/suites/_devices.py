"""Device arguments of a case: OpInfo's cases name the host, the judge runs them on a target."""

from __future__ import annotations

from typing import Any

from bringup.suites._base import CaseInputs


def on_device(case: CaseInputs, device: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the case's arguments with every device argument replaced by `device`; tensors are left as they are.

    `case.notes["device_places"]` lists the places: an int is a position in `args`, a str a keyword. A factory's cases
    (`notes["factory"]`: no tensor among the arguments) always have one where the operator makes a tensor at all.
    """
    places = case.notes.get("device_places", ())
    args = tuple(device if index in places else value for index, value in enumerate(case.args))
    return args, {name: device if name in places else value for name, value in case.kwargs.items()}
