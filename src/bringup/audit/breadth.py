"""The breadth of a gate: audit cases of every kind that OpInfo's samples lack, for every operator.

OpInfo's samples are small, contiguous and well-formed: a kernel that forgets its last program, reads a transposed input
flat or accepts a dimension that is not there passes them. So every gate gets some cases of the audit's families,
drawn under a seed that is not the audit's: they are public, the audit's own stay unseen. `scripts/gate_breadth.py`
writes the file that ships.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bringup.operators import Operator
from bringup.suites import CaseInputs, torch_build
from bringup.suites._additions import family_of
from bringup.suites._aten_audited import dtypes_wanted
from bringup.suites._aten_retyped import FAMILY as DTYPES_FAMILY
from bringup.suites.aten_audit import AtenAuditSuite
from bringup.suites.audit import FAMILIES
from bringup.suites.audit._draws import cases_by_key, cases_of_family
from bringup.suites.audit._tree import elements

SEED = 1  # the audit's is 0 unless it is asked for another
MOST = 1 << 16  # elements of a case: a gate is judged often, and on slow simulators too


@dataclass(frozen=True)
class Kind:
    """What is wanted of one family: cases whose titles contain a text, one for each, or a number of any."""

    family: str
    containing: Sequence[str] = ()
    number: int = 0  # spread over what there is
    largest: int = 0  # those with the most elements
    dtype: int | str = 0  # 0: the operator's first dtype, 1: a half precision, 2: an integer type; or one by its name


KINDS = (
    Kind("sizes", ("odd rows",), largest=1, number=2),
    Kind("matrices", largest=2),
    Kind("layout", ("transposed", "at an odd offset", "expanded")),
    Kind("calls", ("every argument by name",)),
    Kind("calls", ("left to its default",), number=1),
    Kind("out", ("of the right shape", "transposed", "without elements", "another shape", "cannot be", "can be cast")),
    Kind("out", ("inplace=True",)),
    Kind("errors", number=3),
    Kind("promotion", ("and int64", "and bfloat16", "and 0-d", "float as second", "as first operand"), number=1),
    Kind("accuracy", number=2),
    Kind("accuracy", number=1, dtype=1),
    Kind("reference", number=1),
    Kind("factors", number=1),
    Kind("values", ("NaN", "infinities", "ascending"), dtype=1),
    Kind("values", ("largest and smallest integers",), dtype=2),
    Kind("empty", number=1, dtype=1),
    Kind("random", number=1, dtype=1),
    Kind("options", number=1),
    Kind("dims", ("lowest", "highest")),
    Kind("omitted", ("all missing",), number=1),
    Kind("mixed", number=1),
    Kind("mismatch", (" with ",), number=2),
    Kind("shapes", number=2),
    Kind("numbers", number=2),
    Kind("alignment", ("odd offset", "wider rows")),
    Kind("ranks", ("65 tensors", "many tensors", "8 dimensions", "6 dimensions, reversed")),
    Kind("scales", ("near overflow", "near underflow")),
)

# Arguments as no sample has them; they stand in a file of their own (`scripts/gate_arguments.py`).
ARGUMENTS = (
    Kind("scalars", (" 0", "nan", "1.2345678")),
    Kind("scalars", ("refused", "1.2345678"), dtype=2),
    Kind("alone", ("left out where",), number=2),
    Kind("stores", ("float64", "float16")),
    Kind("stores", ("float64",), dtype=2),
    Kind("precisions", ("dtype=float16", "dtype=int32")),
    Kind("precisions", ("float32 parameters",), dtype=1),
    Kind("pivots", number=1),
    Kind("edges", ("at -1 and 1", "degree 201")),
    Kind("unfit", (" in ",), number=3),
    Kind("lengths", number=1),
    Kind("omitted", ("without elements",)),
    Kind("out", ("float64",)),
    Kind("values", ("the largest finite",)),
    Kind("pairs", number=2),
    Kind("pairs", (" 0-d ",), dtype=1),
    Kind("pairs", (" 0-d ",), dtype="int32"),
    Kind("offsets", ("channels last, behind",), number=1),
    Kind("written", number=2),
    Kind("written", ("the largest numbers",), dtype="float16"),
    Kind("written", ("all data and out=",)),
    Kind("doubles", number=2),
    Kind("formats", ("channels_last, 4", "channels_last_3d, 5", "refused"), number=1),
    Kind("unlisted", number=1),
    Kind("equations", number=8),
    Kind("masks", number=2),
    Kind("rare", ("no elements", "for a list one", "no dimension"), number=1),
    Kind("indefinite", number=1),
    Kind("magnitudes", number=2),
    Kind("gaps", ("transposed",), number=1),
    Kind("limits", ("first operand", "operand, refused", "above the largest", "at the smallest"), number=1),
    Kind("limits", ("first operand", "above the largest", "below the smallest", "at the smallest"), dtype="int32"),
    Kind("singles", number=2),
    Kind("words", number=2),
    Kind("lone", (" in ", " of "), number=1),
    Kind("dims", ("counted from the end",)),
    Kind("edges", ("degrees 257",)),
    Kind("accuracy", ("64x5",)),
    Kind("masks", ("beside indices",)),
    Kind("forms", number=4),
    Kind("precisions", ("large values",), number=2),
    Kind("formats", ("one element",), number=1),
    Kind("options", number=4),
    Kind("singles", ("a lone 0-d float64 minus 0.0", "a lone 0-d float64 1.5e-40")),
    Kind("singles", (" 0-d float64 1.5e-40",), number=1, dtype="float16"),
    Kind("singles", ("5e-324 beside integers",), number=1, dtype="int32"),
    Kind("indices", number=2),
    Kind("given", number=3),
    Kind("matrices", ("rows to 11",), number=1),
    Kind("shapes", ("each of two",)),
    Kind("combined", number=4),
    Kind("combined", ("limits of",), number=2, dtype="int64"),
    Kind("beside", number=4),
    Kind("beside", ("in tall matrices", "running_mean missing", "running_var missing"), number=1),
    Kind("beside", ("come back",), number=1, dtype="float16"),
    Kind("ends", number=4),
    Kind("ends", number=2, dtype="int64"),
    Kind("places", number=4),
    Kind("borders", ("the largest number, a number", "nearly half", "the largest number, half", "next to"), number=3),
    Kind("borders", ("argument 0 0-d", "next to"), dtype="float16"),
    Kind("borders", ("operand, refused", "number, refused"), dtype="float16"),
    Kind("borders", ("largest as first", "largest as second", "number, data as large", "dx just", "number, refused")),
    Kind("corners", ("weight, no", "weight, 3000", "weight, 1000", "in turn", "every list one"), number=3),
    Kind("corners", ("with 0 alone",)),
)

# What a kernel must not do in its first dtype alone: go on behind its first programs, and take all values.
EACH_DTYPE = (
    *(Kind("sizes", ("odd rows",), dtype=dtype) for dtype in ("bfloat16", "float16", "int32", "int64")),
    Kind("values", ("NaN", "infinities"), dtype="float16"),
    Kind("values", ("largest and smallest integers",), dtype="int32"),
)


Build = Callable[[str, str, int], Sequence[CaseInputs]]  # (operator, dtype, seed) -> all that the families have


def breadth_of(operator: Operator, build: Build) -> dict[str, list[str]]:
    """Choose the cases of one operator: keys of the audit suite, drawn with `SEED`, by dtype.

    `build` is the audit's way to its cases.
    """
    built: dict[str, Sequence[CaseInputs]] = {}
    chosen: dict[str, list[str]] = {}
    for kind in KINDS:
        dtype = _dtype(operator.dtypes, kind.dtype)
        if dtype is None:
            continue
        if dtype not in built:
            built[dtype] = build(operator.name, dtype, SEED)
        cases = [c for c in built[dtype] if c.notes["family"] == kind.family and _elements(c) <= MOST]
        keys = chosen.setdefault(dtype, [])
        keys += [key for key in dict.fromkeys(c.notes["key"] for c in _wanted(kind, cases)) if key not in keys]
    for dtype, key in _missing(built, chosen):
        chosen.setdefault(dtype, []).append(key)
    steady = {dtype: found for dtype, keys in chosen.items() if (found := _steady(operator, dtype, keys))}
    return with_each_dtype(steady, operator, build if operator.suite == AtenAuditSuite.name else None)


def with_each_dtype(
    chosen: Mapping[str, Sequence[str]], operator: Operator, build: Build | None = None
) -> dict[str, list[str]]:
    """Return an operator's choice with what is wanted of each dtype behind it, where it is not there yet.

    `build`: as for `breadth_of`; by default the families of the suite `audit` are built alone, of `sizes` the first
    case, which has the odd rows.
    """
    found = {dtype: list(keys) for dtype, keys in chosen.items()}
    for kind in EACH_DTYPE:
        dtype = _dtype(operator.dtypes, kind.dtype)
        if dtype is None:
            continue
        if build is None:
            cap = 1 if kind.family == "sizes" else None
            cases = cases_of_family(operator.name, dtype, SEED, kind.family, cap)
        else:
            cases = [c for c in build(operator.name, dtype, SEED) if c.notes["family"] == kind.family]
        wanted = [c.notes["key"] for c in _wanted(kind, [c for c in cases if _elements(c) <= MOST])]
        new = [key for key in dict.fromkeys(wanted) if key not in found.get(dtype, ())]
        found.setdefault(dtype, []).extend(_steady(operator, dtype, new))
    return {dtype: keys for dtype, keys in found.items() if keys}


def with_families(
    chosen: Mapping[str, Sequence[str]], operator: Operator, families: Sequence[str]
) -> dict[str, list[str]]:
    """Return an operator's choice with that of some families made anew, behind all others."""
    found = {dtype: [key for key in keys if family_of(key) not in families] for dtype, keys in chosen.items()}
    for kind in KINDS:
        dtype = _dtype(operator.dtypes, kind.dtype)
        if kind.family in families and dtype is not None:
            built = cases_of_family(operator.name, dtype, SEED, kind.family)
            keys = [c.notes["key"] for c in _wanted(kind, [c for c in built if _elements(c) <= MOST])]
            found.setdefault(dtype, []).extend(_steady(operator, dtype, list(dict.fromkeys(keys))))
    return with_each_dtype(found, operator)


def arguments_of(operator: Operator, families: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Choose one operator's cases of the families in `ARGUMENTS`: keys of the audit, drawn with `SEED`, by dtype.

    `families`: of these alone.
    """
    found: dict[str, list[str]] = {}
    for kind in ARGUMENTS:
        dtype = _dtype(operator.dtypes, kind.dtype)
        if families is not None and kind.family not in families:
            continue
        if dtype is None or (kind.dtype == 2 and not dtype.startswith("int")):
            continue
        built = cases_of_family(operator.name, dtype, SEED, kind.family)
        keys = [c.notes["key"] for c in _wanted(kind, [c for c in built if _elements(c) <= MOST])]
        known = found.setdefault(dtype, [])
        known += [key for key in dict.fromkeys(keys) if key not in known]
    # What is not there whenever it is asked for shows when the cases are judged: a gate goes without.
    return {dtype: keys for dtype, keys in found.items() if keys}


def _missing(
    built: Mapping[str, Sequence[CaseInputs]], chosen: Mapping[str, Sequence[str]]
) -> Iterable[tuple[str, str]]:
    """Yield, for every family that has cases of which none was chosen, its smallest one: dtype and key."""
    known = {family_of(key) for keys in chosen.values() for key in keys}
    known |= {kind.family for kind in ARGUMENTS} - {kind.family for kind in KINDS}
    for family in FAMILIES:
        found = [(_elements(c), dtype, c.notes["key"]) for dtype, cases in built.items() for c in cases]
        found = [entry for entry in found if family_of(entry[2]) == family]
        if family not in known and found:
            yield min(found, key=lambda entry: entry[0])[1:]


# What shows errors of values: in the operator's first dtype, and the shorter list in its first half precision.
CHOSEN = (
    "accuracy/1500-values/", "accuracy/the-whole-range/", "accuracy/1500-small", "accuracy/from-", "accuracy/41x600",
    "accuracy/a-sample-far", "accuracy/the-first-argument", "values/zeros-of-both", "values/subnormal",
)  # fmt: skip
CHOSEN_HALF = ("accuracy/1500-values/", "accuracy/the-whole-range/", "accuracy/from-", "accuracy/41x600-over-1-far")


def accuracy_of(operator: Operator, build: Build | None = None) -> dict[str, list[str]]:
    """Choose the cases of one operator that show errors of values: keys of the audit suite, drawn with `SEED`.

    `build`: as for `breadth_of`; by default the families of the suite `audit` are built alone.
    """
    half = next((dtype for dtype in ("bfloat16", "float16") if dtype in operator.dtypes), None)
    found: dict[str, list[str]] = {}
    for dtype, families, wanted in (("float32", ("accuracy", "values"), CHOSEN), (half, ("accuracy",), CHOSEN_HALF)):
        if dtype is None or dtype not in operator.dtypes:
            continue
        if build is None:
            built = [case for family in families for case in cases_of_family(operator.name, dtype, SEED, family)]
        else:
            built = [case for case in build(operator.name, dtype, SEED) if case.notes["family"] in families]
        keys = [case.notes["key"] for case in built if case.notes["key"].startswith(wanted) and _elements(case) <= MOST]
        if steady := _steady(operator, dtype, keys):
            found[dtype] = steady
    return found


def overload_breadth(operator: Operator) -> dict[str, list[str]]:
    """Choose the cases of an overload of `aten-audit`: breadth, then values that show errors."""
    wanted: dict[str, set[str]] = {}
    for kind in (*KINDS, *EACH_DTYPE):
        if dtype := _dtype(operator.dtypes, kind.dtype):
            wanted.setdefault(dtype, set()).add(kind.family)
    audit = AtenAuditSuite()

    @functools.cache
    def build(name: str, dtype: str, seed: int) -> Sequence[CaseInputs]:
        return audit.every_case(name, dtype, seed, tuple(wanted.get(dtype, ())))

    chosen = breadth_of(operator, build)
    for dtype, keys in accuracy_of(operator, build).items():
        known = chosen.setdefault(dtype, [])
        known += [key for key in keys if key not in known]
    return overload_dtypes(chosen, operator)


def overload_dtypes(chosen: Mapping[str, Sequence[str]], operator: Operator) -> dict[str, list[str]]:
    """Return an overload's choice with what is wanted of each dtype behind it, where it is not there yet, and the
    dtypes that its arguments take and no sample gives them.
    """
    audit = AtenAuditSuite()

    def build(name: str, dtype: str, seed: int) -> Sequence[CaseInputs]:
        return audit.every_case(name, dtype, seed, ("values",), {"sizes": 1})  # the first one has the odd rows

    chosen = with_each_dtype(chosen, operator, functools.cache(build))
    wanted = dtypes_wanted(audit.overloads[operator.name], audit.parent(operator.name), SEED)
    found = {dtype: [key for key in keys if family_of(key) != DTYPES_FAMILY] for dtype, keys in chosen.items()}
    for dtype, keys in wanted.items():
        found.setdefault(dtype, []).extend(keys)
    return {dtype: keys for dtype, keys in found.items() if keys}


def _steady(operator: Operator, dtype: str, keys: Sequence[str]) -> list[str]:
    """Return the keys that are there whenever they are asked for.

    PyTorch's sums differ a little with the address of the memory: a draft at the edge of what the audit takes may be
    left out the next time. For overloads, whose cases are built twice over, that is left to the gate: it goes without.
    """
    if operator.suite == AtenAuditSuite.name:
        return list(keys)
    for _ in range(2):
        found = cases_by_key(operator.name, dtype, SEED, keys)
        keys = [key for key in keys if key in found]
    return list(keys)


def _dtype(dtypes: Sequence[str], which: int | str) -> str | None:
    if isinstance(which, str):
        return which if which in dtypes else None
    wanted: tuple[tuple[str, ...], ...] = (tuple(dtypes[:1]), ("bfloat16", "float16"), ("int64", "int32"))
    found = next((dtype for dtype in wanted[which] if dtype in dtypes), None)
    return dtypes[0] if found is None and which == 1 else found


def _wanted(kind: Kind, cases: list[CaseInputs]) -> Iterable[CaseInputs]:
    for text in kind.containing:
        yield from [c for c in cases if text in c.title][:1]
    by_size = sorted(cases, key=_elements, reverse=True)[: kind.largest]
    yield from by_size
    taken = {id(c) for c in by_size}
    rest = [c for c in cases if id(c) not in taken and not any(text in c.title for text in kind.containing)]
    if kind.number and rest:
        yield from rest[:: max(1, len(rest) // kind.number)][: kind.number]


def _elements(case: CaseInputs) -> int:
    return elements((case.args, case.kwargs))


def write_breadth(path: Path, chosen: Mapping[str, Mapping[str, Sequence[str]]]) -> int:
    """Write the choice for all operators, one line each; return the number of cases."""
    head: dict[str, Any] = {"torch": ".".join(torch_build().split(".")[:2]), "seed": SEED}
    lines = [f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in chosen.items() if found]
    text = json.dumps(head)[:-1] + ',\n"operators": {\n' + ",\n".join(lines) + "\n}}\n"
    path.write_text(text, encoding="utf-8")
    return sum(len(keys) for found in chosen.values() for keys in found.values())
