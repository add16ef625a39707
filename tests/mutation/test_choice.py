"""Which mutants are chosen, and what a mutant says of itself."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from bringup.candidate import Candidate, digest
from bringup.errors import FormatError, UnknownOperator
from bringup.mutation import choose, make_task, mutants_of
from bringup.suites import get_suite

SAMPLE = Candidate(source=Path(__file__).with_name("sample_kernel.py.txt").read_text(encoding="utf-8"))


def test_the_same_seed_chooses_the_same_mutants_and_another_seed_others() -> None:
    mutants = mutants_of("op", SAMPLE)
    first = [m.digest for m in choose(mutants, 20, seed=1)]
    assert first == [m.digest for m in choose(mutants_of("op", SAMPLE), 20, seed=1)]
    assert first != [m.digest for m in choose(mutants, 20, seed=2)]
    assert len(set(first)) == 20


def test_a_higher_limit_only_adds() -> None:
    mutants = mutants_of("op", SAMPLE)
    assert choose(mutants, 40)[:15] == choose(mutants, 15)
    assert choose(mutants, None) == mutants == choose(mutants, 10_000)


def test_classes_take_turns_and_lines_are_spread() -> None:
    chosen = choose(mutants_of("op", SAMPLE), 20)
    assert set(Counter(m.mutator for m in chosen).values()) == {1}
    assert len({m.line for m in chosen}) >= 12


def test_a_mutant_names_its_change() -> None:
    mutant = next(m for m in mutants_of("op", SAMPLE) if m.mutator == "boundary")
    assert mutant.digest == digest(mutant.source)
    assert (mutant.function, mutant.line, mutant.place) == ("kernel_scale", 7, "kernel")
    assert mutant.note == "`<` becomes `<=` in cols < n"
    assert mutant.diff.splitlines() == [
        "@@ -6,3 +6,3 @@",
        "         cols = start + tl.arange(0, BLOCK)",
        "-        mask = (cols < n) & (row < rows)",
        "+        mask = (cols <= n) & (row < rows)",
        "         x = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=0.0).to(tl.float32)",
    ]


def test_traps_stand_before_the_changed_statement() -> None:
    traps = {(m.line, m.mutator): m.trap for m in mutants_of("op", SAMPLE)}
    added = {}
    for place, trap in traps.items():
        if trap is not None:
            ast.parse(trap)
            added[place] = [line for line in trap.splitlines() if "reached" in line]
    static, raised = 'tl.static_assert(False, "reached")', 'raise EOFError("reached")'
    assert added[7, "boundary"] == [f"        {static}; mask = (cols < n) & (row < rows)"]
    assert added[5, "tail-skipped"] == [f"    {static}"]
    assert added[16, "condition-weakened"] == [f"    {raised}"]
    assert added[16, "branch-dropped"] == [f'        {raised}; raise TypeError("scale %d" % 3)']
    assert traps[15, "default-changed"] is None


def test_no_trap_is_put_in_front_of_an_elif() -> None:
    source = "def wrapper(x):\n    if x > 1:\n        return 1\n    elif x < 0: return 2\n    return x\n"
    traps = {m.note: m.trap for m in mutants_of("op", Candidate(source=source))}
    assert traps["`<` becomes `<=` in x < 0"] is None
    assert traps["the else of `if x > 1` is dropped"] is None
    trap = traps["branch `if x < 0` is dropped"]
    assert trap is not None
    assert '    elif x < 0: raise EOFError("reached"); return 2\n' in trap
    ast.parse(trap)


def test_no_mutant_is_made_twice_or_is_the_original() -> None:
    sources = [m.source for m in mutants_of("op", SAMPLE)]
    assert len(set(sources)) == len(sources)
    assert SAMPLE.source not in sources


def test_what_is_not_python_and_what_is_no_operator() -> None:
    suite = get_suite("conformance")
    with pytest.raises(FormatError, match=r"double: .*not valid Python"):
        make_task(suite, "double", Candidate(source="def wrapper(:\n"))
    with pytest.raises(UnknownOperator):
        make_task(suite, "doubble", SAMPLE)
