"""Finds out what problem files are, each in a fork: `python -m bringup.suites.problems._survey OUT BUNDLE`."""

from __future__ import annotations

import inspect
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import torch

from bringup.suites.problems._bundle import Bundle, Contract, Options
from bringup.suites.problems._facts import Facts
from bringup.suites.problems._limits import limit_memory
from bringup.suites.problems._program import KEPT, Call, Problem, ProblemError

SECONDS = 120  # for one file
_TRIED = 1 << 24  # bytes at which references are tried out
_DIVISORS = tuple(1 << power for power in range(15))
_KEPT = (KEPT, 16, 8, 4)  # what is not cut; less of it only where it must be
_NEAR_ZERO = 1e-6
_SAME = 1e-6  # relative: what another order of a sum may change


def examine(contract: Contract, name: str, text: str, options: Options) -> Facts:
    """Return the facts of one file; never raises for what the file does, short of ending the process."""
    try:
        return _examined(contract, name, text, options)
    except ProblemError as error:
        return Facts(error=str(error))
    except MemoryError:
        return Facts(error="needs more memory than there is; cut its sizes with ?memory=16M")
    except Exception as error:  # whatever PyTorch or the file raises
        line = str(error).strip().splitlines()[0] if str(error).strip() else ""
        what = "needs more memory than there is" if "can't allocate memory" in str(error) else "fails"
        return Facts(error=f"{what}: {type(error).__name__}: {line}"[:300])


def _examined(contract: Contract, name: str, text: str, options: Options) -> Facts:
    divisor, kept, nbytes = _cut(contract, name, text, options)
    problem = Problem(contract, name, text, divisor, kept)
    training = options.training or problem.training
    sizes = problem.sizes(options.sizes)
    tried = problem
    if contract == "kernelbench" and nbytes > _TRIED:  # smaller ones tell as much
        less = options.model_copy(update={"memory": _TRIED})
        tried = Problem(contract, name, text, *_cut(contract, name, text, less, soft=True)[:2])
    model, inputs = tried.build(tried.sizes("checks")[0], 0)
    call = Call(tried, model, inputs, training)
    arguments = call.data(inputs)
    arguments += call.gradients(arguments, 0)
    results = _tensors(call(*arguments))
    random = not _same(results, _tensors(call(*arguments)))
    init = problem.init(sizes[0])
    names, keywords = call.argument_names(init)
    gradients = len(arguments) - len(names)
    copies = _copies(arguments[: call.inputs], results)
    counts = len(sizes) if contract == "modules" else (2 if options.scaled or copies else 1)
    return Facts(
        error="its result is random: two calls on the same inputs differ" if random else "",
        vacuous="" if random else _vacuous(tried, call, arguments, results),
        names=(*names, *(f"grad_{number}" for number in range(gradients))),
        types=tuple(
            "Tensor" if isinstance(one, torch.Tensor) else type(one).__name__ for one in [*arguments, *init.values()]
        ),
        keywords=tuple(keywords),
        inputs=call.inputs,
        gradients=gradients,
        results=len(results),
        cases=counts,
        dtypes=options.dtypes or problem.dtypes(),
        divisor=divisor,
        kept=kept,
        nbytes=nbytes,
        copies=copies,
        document=inspect.getdoc(problem.root) or "" if problem.root.__doc__ else "",
        init={key: value for key, value in init.items() if isinstance(value, int | float | str | bool | list | tuple)},
    )


def _cut(contract: Contract, name: str, text: str, options: Options, soft: bool = False) -> tuple[int, int, int]:
    """Return by what sizes are divided, which ones are kept, and the bytes of the largest case: the least cut.

    `soft`: the smallest case there is where none is small enough.
    """
    if contract == "modules":
        problem = Problem(contract, name, text)
        return 1, KEPT, max(_nbytes(problem, sizes) for sizes in problem.sizes(options.sizes))
    least = options.scale
    if not options.memory:
        return least, KEPT, _nbytes(Problem(contract, name, text, least), {})
    best: tuple[int, int, int] | None = None
    for kept in _KEPT:
        for divisor in (one for one in _DIVISORS if one >= least):
            try:
                size = _nbytes(Problem(contract, name, text, divisor, kept), {})
            except Exception:
                if divisor == 1:
                    raise
                continue  # sizes of this scale do not fit together
            if size <= options.memory:
                return divisor, kept, size
            if best is not None and (divisor, size) == (2 * best[0], best[2]):
                break  # nothing is left to cut
            if best is None or size < best[2]:
                best = (divisor, kept, size)
    assert best is not None
    if soft:
        return best
    raise ProblemError(
        f"cannot be cut to {options.memory:,} bytes: its smallest sizes that work take {best[2]:,}; its numbers stand "
        "inside functions, or are small"
    )


def _nbytes(problem: Problem, sizes: dict[str, Any]) -> int:
    """Return the bytes of inputs, parameters and results, without making them where PyTorch can do without."""
    try:
        return _bytes_on(problem, sizes, "meta")
    except (RuntimeError, NotImplementedError):  # what is made hangs on values
        return _bytes_on(problem, sizes, "cpu")


def _bytes_on(problem: Problem, sizes: dict[str, Any], device: str) -> int:
    model, inputs = problem.build(sizes, 0, device)
    tensors = [*inputs, *model.parameters(), *model.buffers()]
    inputs = [t.to(device) if isinstance(t, torch.Tensor) else t for t in inputs]
    with torch.no_grad():
        results = _tensors(model.to(device)(*inputs))
    return sum(t.numel() * t.element_size() for t in (*tensors, *results) if isinstance(t, torch.Tensor))


def _vacuous(problem: Problem, call: Call, arguments: list[Any], results: list[torch.Tensor]) -> str:
    """Say why any fixed answer would do, or "": the reference on other inputs of the same sizes."""
    floats = [t.double() for t in results if t.is_floating_point()]
    if not any(t.numel() for t in results):
        return "its result has no elements"
    if floats and len(floats) == len(results) and all(float(t.abs().max()) < _NEAR_ZERO for t in floats if t.numel()):
        return f"its result is zero, or nearly: no element is larger than {_NEAR_ZERO:g}"
    if all(t.numel() > 1 and bool((t == t.flatten()[0]).all()) for t in results):
        return "its result is constant: all elements are equal"
    _, others = problem.build(problem.sizes("checks")[0], 4711)
    count = call.inputs + len(call.parameters) + len(call.buffers) + len(call.attributes)
    changed = [*others, *arguments[call.inputs : count]]
    changed += call.gradients(changed, 0)
    if _same(results, _tensors(call(*changed)), _SAME):
        return "its result does not depend on its inputs: other values give the same"
    return ""


def _copies(inputs: list[Any], results: list[torch.Tensor]) -> bool:
    """Whether the only result is an input: what ReLU does with numbers from 0 to 1."""
    return len(results) == 1 and any(
        isinstance(one, torch.Tensor) and one.shape == results[0].shape and torch.equal(one, results[0])
        for one in inputs
    )


def _tensors(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value)


def _same(one: list[torch.Tensor], other: list[torch.Tensor], relative: float = 0.0) -> bool:
    return all(
        a.shape == b.shape
        and bool(torch.isclose(a.double(), b.double(), rtol=relative, atol=0.0, equal_nan=True).all())
        for a, b in zip(one, other, strict=True)
    )


class _Fork:
    """One file, examined in a fork of this process, which it may end."""

    def __init__(self, bundle: Bundle, name: str) -> None:
        self.name, self.data = name, b""
        self.deadline = time.monotonic() + SECONDS
        self.pipe, writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(self.pipe)
            _answer(writing, bundle.contract, name, bundle.files[name], bundle.options)
        os.close(writing)

    def read(self) -> bool:
        """Take what has come; False where nothing more will."""
        part = os.read(self.pipe, 1 << 16)
        self.data += part
        return bool(part)

    def end(self, late: bool) -> Facts:
        """Return what was found out. `late`: its time is over."""
        os.close(self.pipe)
        os.kill(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        if late:
            return Facts(error=f"took longer than {SECONDS} seconds; cut its sizes with ?memory=16M")
        try:
            return Facts.model_validate_json(self.data)
        except ValueError:
            ended = (
                f"by signal {os.WTERMSIG(status)}"
                if os.WIFSIGNALED(status)
                else f"with code {os.waitstatus_to_exitcode(status)}"
            )
            return Facts(error=f"ended its process {ended}; it may need more memory than there is")


def _answer(writing: int, contract: Contract, name: str, text: str, options: Options) -> NoReturn:
    try:
        limit_memory()
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        data = examine(contract, name, text, options).model_dump_json().encode()
        while data:
            data = data[os.write(writing, data) :]
    finally:
        os._exit(0)


def _together(bundle: Bundle, names: Iterable[str], most: int) -> Iterator[tuple[str, Facts]]:
    """Examine files, `most` at once, in the order in which they end."""
    left, running = list(names), dict[int, _Fork]()
    while left or running:
        while left and len(running) < most:
            fork = _Fork(bundle, left.pop(0))
            running[fork.pipe] = fork
        wait = max(min(fork.deadline for fork in running.values()) - time.monotonic(), 0.0)
        ready = select.select(list(running), [], [], wait)[0]
        late = [pipe for pipe, fork in running.items() if pipe not in ready and time.monotonic() >= fork.deadline]
        for pipe in (*late, *(pipe for pipe in ready if not running[pipe].read())):
            fork = running.pop(pipe)
            yield fork.name, fork.end(pipe in late)


def survey(bundle: Bundle, most: int) -> Iterator[tuple[str, Facts]]:
    """Examine all files of a bundle, `most` at once; what was refused beside others is examined alone again.

    So what a file is does not depend on how many processors examine, which share memory and time.
    """
    again: list[str] = []
    for name, facts in _together(bundle, bundle.files, most):
        if facts.error and most > 1:
            again.append(name)
        else:
            yield name, facts
    yield from _together(bundle, again, 1)


def main() -> None:
    """Write the facts of every file as JSON."""
    out, where = sys.argv[1:3]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a judge's processes ignore it, and so would this one
    bundle = Bundle.model_validate_json(Path(where).read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    found = {}
    for number, (name, facts) in enumerate(survey(bundle, len(os.sched_getaffinity(0))), start=1):
        found[name] = facts.model_dump(mode="json")
        print(json.dumps({"done": number, "total": len(bundle.files), "name": name}), flush=True)
    Path(out).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
