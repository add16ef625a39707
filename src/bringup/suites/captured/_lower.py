"""From captured calls to what a bare device is asked for. Imports torch, and registers the device in its process.

What the dispatcher hands to one device it takes apart on another: `add.Tensor` is the CPU's own, a device from outside
is asked for `add.out`. So each captured call is made on a device without kernels, as the suite `aten` does with
OpInfo's samples, and what arrives there is noted.

Run as a program (`python -m bringup.suites.captured._lower OUT FILE`) it writes the facts of all overloads.
"""

from __future__ import annotations

import functools
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from bringup.suites import _opinfo_calls as opinfo_calls
from bringup.suites._aten_call import signature_of
from bringup.suites._aten_facts import AtenSurvey, write_aten
from bringup.suites._aten_record import Recorded, prepare, run_call
from bringup.suites._aten_survey import add_call, overload_of
from bringup.suites._opinfo_samples import reseed
from bringup.suites.captured._file import Call, Capture, CaptureError, read_capture, value_class
from bringup.suites.captured._values import rebuild

DTYPES = ("float32", "bfloat16", "float16", "int32", "int64", "bool", "uint8", "int8", "int16")
MOST = 64  # cases of one overload in one dtype


def operator_named(name: str) -> Any:
    """Return an overload by its name; raises CaptureError for one that this torch does not have."""
    packet, _, variant = name.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, packet), variant or "default")
    except AttributeError:
        raise CaptureError(f"torch {torch.__version__} has no overload aten::{name}") from None


def arguments(call: Call, number: int, path: Path, seed: int) -> tuple[opinfo_calls.Call, frozenset[int]]:
    """Return a captured call with host tensors, and the `id`s of those that stay on the host beside a device's."""
    tensors = rebuild(call, number, path, seed)

    def decode(value: Any) -> Any:
        if isinstance(value, list):
            return [decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, held),) = value.items()
        if kind == "tensor":
            return tensors[held]
        if kind == "float":
            return float.fromhex(held)
        return torch.device("cpu") if kind == "device" else getattr(torch, held)

    operator = operator_named(call.overload)
    try:
        args = tuple(decode(value) for value in call.args)
        kwargs = {name: decode(value) for name, value in call.kwargs.items()}
    except (ValueError, AttributeError, IndexError, TypeError) as error:
        raise CaptureError(f"{path}: damaged at calls.{number} ({call.overload}): {error}") from None
    creates = any(argument.name == "device" for argument in operator._schema.arguments)
    if creates and not any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves((args, kwargs))):
        kwargs["device"] = torch.device("cpu")
    stay = frozenset(id(made) for made, facts in zip(tensors, call.tensors, strict=True) if facts.host)
    return opinfo_calls.Call(operator, args, kwargs), stay


def lowered(call: Call, number: int, path: Path, seed: int, *, values: bool) -> list[Recorded]:
    """Make a captured call on a device without kernels; return what arrived there. Raises what PyTorch raises."""
    given, stay = arguments(call, number, path, seed)
    reseed(number)
    return run_call(given, values=values, stay=stay)


def dtype_of(call: Recorded) -> str:
    """Return the dtype that a call counts under: of the first floating-point tensor, else of the first one."""
    tensors = [leaf for leaf in pytree.tree_leaves((call.args, dict(call.kwargs))) if isinstance(leaf, torch.Tensor)]
    floats = [tensor for tensor in tensors if tensor.is_floating_point()]
    for tensor in [*floats, *tensors]:
        name = str(tensor.dtype).removeprefix("torch.")
        if name in DTYPES:
            return name
    return DTYPES[0]


def survey(path: Path, capture: Capture) -> AtenSurvey:
    """Work out what a bare device is asked for; progress goes to stdout."""
    prepare()
    calls: dict[str, dict[str, Any]] = {}
    failed: dict[str, Counter[str]] = defaultdict(Counter)
    for number, call in enumerate(capture.calls):
        times = sum(call.times.values())
        try:
            found = lowered(call, number, path, 0, values=False)
        except CaptureError:
            raise
        except Exception as error:  # whatever PyTorch raises is a fact about the call
            failed[call.overload][f"{type(error).__name__}: {error}".splitlines()[0][:160]] += times
            continue
        forward = "forward" in call.times
        for ordinal, one in enumerate(found):
            form = signature_of(one)
            if form is None:
                failed[one.overload]["tensors of dtypes that no case has"] += times
                continue
            # Calls of one layout are different ones where their values are of other kinds: zeros, sorted, ...
            form += json.dumps([value_class(tensor.values) for tensor in call.tensors])
            recipe = ["", number, "f" if forward else "b", ordinal]
            add_call(calls, one, form, dtype_of(one), recipe, times)
        print(json.dumps({"done": number + 1, "total": len(capture.calls), "name": call.overload}), flush=True)
    by_name: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for noted in calls.values():
        by_name[noted["overload"]].append(noted)
    make = functools.partial(overload_of, alone=(), dtypes=DTYPES, most=MOST, counted=True)
    return AtenSurvey(
        torch=torch.__version__.partition("+")[0],
        surveyed=(),
        failed={name: dict(reasons) for name, reasons in failed.items()},
        overloads=tuple(make(name, by_name[name]) for name in sorted(by_name)),
    )


def main(arguments: Sequence[str]) -> None:
    """Write the facts on the captured calls of the second argument into the file given as the first one."""
    torch.set_num_threads(1)
    out, path = Path(arguments[0]), Path(arguments[1])
    try:
        write_aten(out, survey(path, read_capture(path)))
    except CaptureError as error:
        out.write_text(json.dumps({"error": str(error)}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
