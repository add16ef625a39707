"""The survey of a bare device: which overloads reach its key when OpInfo's samples run on it.

Run as a program (`python -m bringup.suites._aten_survey OUT [SECONDS]`) in a process of its own. What one public
operator causes is written to a folder of the cache at once, so that an interrupted survey goes on where it stopped; a
public operator that kills the process is noted as such, and left out by the next try. About ten minutes on one core.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from bringup.operators import DTYPES
from bringup.suites._aten import read_allowance
from bringup.suites._aten_call import described, kind_of, signature_of
from bringup.suites._aten_facts import FORMAT, AtenSurvey, Overload, Recipe, write_aten
from bringup.suites._aten_record import Direction, Recorded, overload_name, prepare, run
from bringup.suites._aten_undefined import undefined_call
from bringup.suites._cache import cache_directory, torch_build
from bringup.suites._opinfo_samples import samples
from bringup.suites._opinfo_source import OpInfoSource
from bringup.suites._opinfo_types import merged_types

DIRECTIONS: tuple[Direction, ...] = ("f", "b")
MOST = 16  # cases of one overload in one dtype
EXAMPLES = 6
Note = dict[str, Any]


def notes_folder() -> Path:
    """Return where the notes on single public operators are kept."""
    return cache_directory() / f"aten-survey-{FORMAT}-{torch_build()}"


def surveyed() -> list[str]:
    """Return the public operators whose samples are run: the eligible ones that every device can be judged on."""
    source = OpInfoSource()
    return [op.name for op in source.operators() if op.exclusion is None and "cpu_reference" not in op.needs]


def note_of(public: str) -> Note:
    """Run all samples of one public operator, forward and backward; return the different calls that they cause."""
    calls: dict[str, dict[str, Any]] = {}
    failed: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    silent = True
    for dtype in DTYPES:
        for direction in DIRECTIONS:
            if direction == "b" and not getattr(torch, dtype).is_floating_point:
                continue
            for index, sample in enumerate(samples(public, dtype)):
                try:
                    recorded = run(public, dtype, index, sample, direction, values=False)
                except Exception as error:  # whatever PyTorch raises is a fact about the sample
                    failed[f"{direction} {type(error).__name__}: {error}".splitlines()[0][:160]] += 1
                    continue
                runs[direction] += 1
                silent = silent and not (recorded and direction == "f")
                for ordinal, call in enumerate(recorded):
                    _add(calls, call, dtype, [public, index, direction, ordinal])
    return {"public": public, "calls": list(calls.values()), "failed": failed, "runs": runs, "silent": silent}


def _add(calls: dict[str, dict[str, Any]], call: Recorded, dtype: str, recipe: list[Any]) -> None:
    form = signature_of(call)
    if form is not None and not undefined_call(call.overload, call.args):
        add_call(calls, call, form, dtype, recipe)


def add_call(
    calls: dict[str, dict[str, Any]], call: Recorded, form: str, dtype: str, recipe: list[Any], times: int = 1
) -> None:
    """Note a call whose `signature_of` is `form`: a new one, or an equal one once more."""
    key = f"{call.overload}\0{dtype}\0{form}"
    if key in calls:
        calls[key]["times"] += times
        calls[key]["forward"] |= recipe[2] == "f"
        return
    calls[key] = {
        "overload": call.overload,
        "dtype": dtype,
        "key": hashlib.sha256(form.encode()).hexdigest()[:16],
        "call": described(call, getattr(torch, dtype)),
        "recipe": recipe,
        "forward": recipe[2] == "f",
        "times": times,
    }


def notes(names: Sequence[str]) -> Iterator[Note]:
    """Yield the note on each public operator: kept, or made now. One that killed the process before has none."""
    folder = notes_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        file, trying = folder / f"{name}.json", folder / f"{name}.trying"
        if file.is_file():
            yield json.loads(file.read_text(encoding="utf-8"))
            continue
        if trying.is_file() and not _alive(trying):
            yield {"public": name, "calls": [], "failed": {"f the process died": 1}, "runs": {}, "silent": False}
            continue
        trying.write_text(str(os.getpid()))
        note = note_of(name)
        temporary = folder / f".{name}.{os.getpid()}"
        temporary.write_text(json.dumps(note), encoding="utf-8")
        temporary.replace(file)
        trying.unlink(missing_ok=True)
        yield note


def _alive(trying: Path) -> bool:
    """Whether the process that works on an operator still does; an unreadable mark counts as nobody's."""
    try:
        os.kill(int(trying.read_text()), 0)
    except (OSError, ValueError):
        return False
    return True


def merged(found: Sequence[Note]) -> AtenSurvey:
    """Make the survey of the notes: overloads, and of the different calls of each a spread as cases."""
    calls: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for note in found:
        for call in note["calls"]:
            calls[call["overload"]].append(call)
    alone: dict[str, list[str]] = defaultdict(list)
    for note in found:
        forward = {call["overload"] for call in note["calls"] if call["forward"]}
        if len(forward) == 1:
            alone[forward.pop()].append(note["public"])
    return AtenSurvey(
        torch=torch.__version__.partition("+")[0],
        surveyed=tuple(note["public"] for note in found),
        without=tuple(note["public"] for note in found if note["silent"] and note["runs"].get("f")),
        failed={note["public"]: dict(note["failed"]) for note in found if note["failed"]},
        overloads=tuple(overload_of(name, calls[name], tuple(alone[name])) for name in sorted(calls)),
    )


def overload_of(
    name: str,
    calls: list[dict[str, Any]],
    alone: tuple[str, ...],
    *,
    dtypes: Sequence[str] = DTYPES,
    most: int = MOST,
    counted: bool = False,
) -> Overload:
    """Make the facts of one overload of the different calls of it, of which at most `most` a dtype become cases.

    `counted`: how often each case's call was made is kept with it.
    """
    packet, _, variant = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), variant or "default")
    assert overload_name(operator) == name
    schema, tags = operator._schema, {tag.name for tag in operator.tags}
    tags |= {tag.name for tag in getattr(getattr(torch.ops.aten, packet), "default", operator).tags}
    parents: Counter[str] = Counter()
    for call in calls:
        parents[call["recipe"][0]] += call["times"]
    by_dtype: dict[str, dict[str, dict[str, Any]]] = {dtype: {} for dtype in dtypes}
    for call in calls:
        by_dtype[call["dtype"]].setdefault(call["key"], call)
    chosen = {dtype: _chosen(list(found.values()), most) for dtype, found in by_dtype.items() if found}
    forms: dict[tuple[int, tuple[str, ...]], list[list[tuple[str, str]]]] = {}
    for call in calls:
        shown = call["call"]
        places = forms.setdefault((shown["positional"], tuple(shown["keywords"])), [[] for _ in shown["types"]])
        for place, kind in zip(places, shown["types"], strict=True):
            place.append((kind, call["dtype"]))
    first = chosen[next(iter(chosen))]
    return Overload(
        name=name,
        schema_text=str(schema),
        positional=tuple(a.name for a in schema.arguments if not a.kwarg_only),
        keywords=tuple(a.name for a in schema.arguments if a.kwarg_only),
        forward=any(call["forward"] for call in calls),
        parents=dict(sorted(parents.items(), key=lambda item: (-item[1], item[0]))),
        alone_of=alone,
        mutates=bool(schema.is_mutable),
        writes=tuple(a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write),
        random="nondeterministic_seeded" in tags,
        views=any(item.alias_info is not None for item in schema.returns),
        # Not every release of PyTorch has the tags that the reviewed list goes by.
        dynamic=bool(tags & {"dynamic_output_shape", "data_dependent_output"})
        or bool(read_allowance([f"aten.{packet}.{variant or 'default'}"]).nbytes),
        results=len(schema.returns),
        counts={dtype: len(found) for dtype, found in by_dtype.items() if found},
        call_shapes=tuple((n, keywords, tuple(map(merged_types, forms[n, keywords]))) for n, keywords in sorted(forms)),
        examples=tuple(dict.fromkeys(call["call"]["text"] for call in first))[:EXAMPLES],
        cases={dtype: tuple(_recipe(call) for call in found) for dtype, found in chosen.items()},
        times={dtype: tuple(call["times"] for call in found) for dtype, found in chosen.items()} if counted else {},
    )


def _recipe(call: dict[str, Any]) -> Recipe:
    public, sample, direction, ordinal = call["recipe"]
    return Recipe(public=public, sample=sample, direction=direction, ordinal=ordinal)


def _chosen(calls: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return at most `most` calls, in the order that they came.

    First different ways of calling take turns (arguments given, with their types), in each of them kinds, the frequent
    ones first, and in each of these the public operators that cause the calls.
    """
    ways = _groups(calls, lambda call: json.dumps([call["call"][part] for part in ("positional", "keywords", "types")]))
    ordered = _in_turns(
        [
            _in_turns(
                [
                    _in_turns(_groups(kind, lambda call: call["recipe"][0]))
                    for kind in _groups(way, lambda call: kind_of(call["call"]["text"]))
                ]
            )
            for way in ways
        ]
    )
    keys = {call["key"] for call in ordered[:most]}
    return [call for call in calls if call["key"] in keys]


def _groups(calls: Sequence[dict[str, Any]], key: Callable[[dict[str, Any]], str]) -> list[list[dict[str, Any]]]:
    """Group calls, the groups with most calls seen first; equal ones in order of appearance."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for call in calls:
        found[key(call)].append(call)
    return sorted(found.values(), key=lambda group: -sum(call["times"] for call in group))


def _in_turns(groups: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Take one call of each group in turn, until none is left."""
    left = max(map(len, groups), default=0)
    return [group[turn] for turn in range(left) for group in groups if turn < len(group)]


def main(arguments: Sequence[str]) -> None:
    """Survey everything into the file given as the first argument, with progress on stdout.

    The second argument is a number of seconds after which no other operator is begun; the file is then empty.
    """
    torch.set_num_threads(1)
    prepare()
    until = time.monotonic() + float(arguments[1]) if len(arguments) > 1 else float("inf")
    names = surveyed()
    found = []
    for done, note in enumerate(notes(names), 1):
        found.append(note)
        print(json.dumps({"done": done, "total": len(names), "name": note["public"]}), flush=True)
        if time.monotonic() > until and done < len(names):
            Path(arguments[0]).write_bytes(b"")
            return
    write_aten(Path(arguments[0]), merged(found))


if __name__ == "__main__":
    main(sys.argv[1:])
