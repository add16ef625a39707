"""One run of a user's program in a forked process, with chosen kernels ours and the CPU computing the rest."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import time
import traceback
import types
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bringup.library.bisecting import Setting
from bringup.library.errors import LibraryError

POLL_SECONDS = 0.02


@dataclass
class Outcome:
    """What came of a trial."""

    values: list[Any] | None = None
    """The metric, flattened: NumPy arrays and numbers; None when the program ended with an error."""
    error: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    """By kernel: how often it was its turn, whoever computed."""
    unserved: Counter[str] = field(default_factory=Counter)
    described: str = ""
    """Of the call that was asked about: arguments, place in the program, difference from the CPU."""


@dataclass(frozen=True)
class Program:
    """What is run: a script with its arguments, and an expression in its variables."""

    script: Path
    arguments: tuple[str, ...]
    metric: str
    library: Path
    device: str
    unjudged: bool
    seconds: float
    log: Path


class Switch:
    """Decides for every call who computes it; installed in an `Enabled`."""

    def __init__(self, setting: Setting, describe: tuple[str, int] | None) -> None:
        self.ours = setting.ours
        self.first = dict(setting.first)
        self.describe = describe
        self.calls: Counter[str] = Counter()
        self.described = ""

    def __call__(self, kernel: str, overload: str, form: Any, args: Any, kwargs: Any) -> Any:
        """Compute a call."""
        from bringup.library.schemas import operator
        from bringup.vpe.device import fallback

        number = self.calls[kernel]
        self.calls[kernel] += 1
        if kernel not in self.ours or number >= self.first.get(kernel, number + 1):
            return fallback.compute_on_cpu(operator(overload), args, kwargs)
        if (kernel, number) == self.describe:
            return self._described(overload, form, args, kwargs)
        return form(*args, **kwargs)

    def _described(self, overload: str, form: Any, args: Any, kwargs: Any) -> Any:
        from torch.utils import _pytree

        from bringup.library._call import tensors_in
        from bringup.library.schemas import operator, schema_of
        from bringup.vpe.device import fallback

        schema = schema_of(overload)
        names = [p.name for p in schema.parameters]
        written = {p.name for p in schema.parameters if p.written}
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in given.items())
        where = _place()
        copies = {n: _pytree.tree_map(_copied, v) if n in written else v for n, v in given.items()}
        expected = fallback.compute_on_cpu(
            operator(overload),
            [copies[n] for n in names[: len(args)]],
            {n: copies[n] for n in kwargs},
        )
        try:
            result = form(*args, **kwargs)
        except Exception as error:
            self.described = f"{overload}({shown})\n{where}\nraises {type(error).__name__}: {error}"
            raise
        pairs = zip(tensors_in([result]), tensors_in([expected]), strict=False)
        differences = [_difference(one, other) for one, other in pairs]
        self.described = f"{overload}({shown})\n{where}\n" + "\n".join(filter(None, differences))
        return result


def _copied(value: Any) -> Any:
    import torch

    from bringup.vpe.device import host_view, mark_written
    from bringup.vpe.device.tensors import is_device_tensor

    if not is_device_tensor(value):
        return value
    copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
    host_view(copy).copy_(host_view(value))
    mark_written(copy)
    return copy


def _shown(value: Any) -> str:
    import torch

    if isinstance(value, torch.Tensor):
        dense = "" if value.is_contiguous() else f", strides {list(value.stride())}"
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{dense}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def _place() -> str:
    """The innermost line of the user's program, as far as a call can be traced: backward runs on another thread."""
    ours = str(Path(__file__).parents[1])
    import torch

    others = (ours, str(Path(torch.__file__).parent), "<frozen")
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(others):
            return f"called at {frame.filename}:{frame.lineno}: {frame.line}"
    return "called in the backward pass"


def _difference(ours: Any, expected: Any) -> str:
    import numpy as np

    if not hasattr(expected, "shape"):
        return ""
    left, right = (np.asarray(one.cpu().double().numpy()) for one in (ours, expected))
    if left.shape != right.shape:
        return f"ours has shape {list(left.shape)}, the CPU's {list(right.shape)}"
    if left.size == 0:
        return ""
    with np.errstate(all="ignore"):
        gap = np.abs(left - right)
        gap = np.where(np.isnan(left) & np.isnan(right) | (left == right), 0.0, np.where(np.isnan(gap), np.inf, gap))
    index = np.unravel_index(int(np.argmax(gap)), gap.shape)
    place = [int(i) for i in index]
    wrong = int((gap > 0).sum())
    return (
        f"largest difference from the CPU's {gap[index]:.6g} at {place}: ours {left[index]:.9g}, "
        f"the CPU's {right[index]:.9g}; {wrong} of {left.size} elements differ"
    )


def run(program: Program, setting: Setting, describe: tuple[str, int] | None = None) -> Outcome:
    """Run the program once in a forked process; raises LibraryError only for what is not the trial's outcome."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 1
        try:
            _child(program, setting, describe, writing)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    return _received(child, reading, program.seconds)


def _received(child: int, reading: int, seconds: float) -> Outcome:
    deadline = time.monotonic() + seconds
    data = bytearray()
    os.set_blocking(reading, False)
    ended = False
    try:
        while True:
            try:
                piece = os.read(reading, 1 << 20)
            except BlockingIOError:
                piece = None
            if piece == b"":
                break
            if piece:
                data += piece
            elif time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                ended = True
                return Outcome(error=f"did not end within {seconds:g} s")
            else:
                time.sleep(POLL_SECONDS)
        _, status = os.waitpid(child, 0)
        ended = True
    finally:
        os.close(reading)
        if not ended:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
    if not data:
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"code {os.waitstatus_to_exitcode(status)}"
        return Outcome(error=f"the process ended with {how}")
    outcome: Outcome = pickle.loads(bytes(data))  # from our own child
    return outcome


def _child(program: Program, setting: Setting, describe: tuple[str, int] | None, writing: int) -> None:
    from bringup.library import enabling

    log = os.open(program.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # A wrong call is what is looked for, not a reason to end.
    enabled = enabling.enable(program.library, program.device, fallback="cpu", unjudged=program.unjudged, checked=False)
    enabled.compose_first = True
    enabling.keep_enabled()
    switch = Switch(setting, describe)
    enabled.switch = switch
    outcome = Outcome()
    sys.argv = [str(program.script), *program.arguments]
    sys.path.insert(0, str(program.script.parent))
    try:
        names = _run_script(program.script)
        try:
            outcome.values = flatten(eval(program.metric, names))
        except NameError as error:
            known = ", ".join(sorted(n for n in names if not n.startswith("_"))[:20])
            raise LibraryError(f"the metric '{program.metric}': {error}; the program has {known}") from None
    except BaseException as error:
        outcome.error = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    outcome.calls = switch.calls
    outcome.unserved = enabled.fallbacks
    enabled.fallbacks = Counter()
    outcome.described = switch.described
    with os.fdopen(writing, "wb") as pipe:
        pickle.dump(outcome, pipe)


def _run_script(script: Path) -> dict[str, Any]:
    """Run a program as Python does; returns its variables, those of a program that ends by `sys.exit()` too."""
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    code = compile(script.read_bytes(), str(script), "exec")
    try:
        exec(code, module.__dict__)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise RuntimeError(f"the program ended with code {end.code}") from None
    return module.__dict__


def flatten(value: Any) -> list[Any]:
    """Return the numbers of a metric as NumPy arrays; raises LibraryError for what holds none."""
    import numpy as np
    import torch
    from torch.utils import _pytree

    found = []
    for leaf in _pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            kept = leaf.detach().cpu()
            found.append((kept.double() if kept.is_floating_point() else kept).numpy().copy())
        elif isinstance(leaf, bool | int | float | complex | np.ndarray | np.number):
            found.append(np.asarray(leaf))
        elif leaf is not None and not isinstance(leaf, str):
            raise LibraryError(f"the metric holds a {type(leaf).__name__}; give numbers or tensors")
    if not found:
        raise LibraryError("the metric holds no number")
    return found


def gap(values: Sequence[Any], reference: Sequence[Any], rtol: float, atol: float) -> float:
    """Return how far a metric is from the reference's: above 1 is too far. Not-a-numbers in the same place agree."""
    import numpy as np

    if [one.shape for one in values] != [one.shape for one in reference]:
        return float("inf")
    worst = 0.0
    for one, other in zip(values, reference, strict=True):
        with np.errstate(all="ignore"):
            equal = (one == other) | (_nan(one) & _nan(other))
            far = np.where(equal, 0.0, np.abs(one - other) / (atol + rtol * np.abs(other)))
        far = np.where(np.isnan(far), np.inf, far)
        worst = max(worst, float(far.max(initial=0.0)))
    return worst


def _nan(value: Any) -> Any:
    import numpy as np

    return np.isnan(value) if value.dtype.kind in "fc" else np.zeros(value.shape, bool)


def warm(device: str) -> None:
    """Import once what every trial needs; starts no threads, and computes nothing."""
    import torch
    import triton  # noqa: F401

    from bringup import vpe
    from bringup.library import _forms, _kernel, _replay, compositions, enabling  # noqa: F401
    from bringup.targets import vpe as _vpe  # noqa: F401
    from bringup.vpe.device import autocast, fallback, module, patches, sparse  # noqa: F401

    # The first question for a shape imports PyTorch's tracer and SymPy: seconds.
    torch.broadcast_shapes((1,), (1,))
    torch.relu(torch.empty(0, device="meta"))
    vpe.activate(device.partition(":")[2] or None)
    vpe.warm()
