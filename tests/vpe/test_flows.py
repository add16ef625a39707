"""What a kernel's text says of which memory it writes, and on which others that may hang."""

from __future__ import annotations

import pytest

from bringup.vpe.flows import flows
from bringup.vpe.parse import parse

HEAD = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %o: !tt.ptr<f32>, %n: i32"
LOADED = "%a = tt.load %x : !tt.ptr<f32>\n"
NUMBER = "%c = arith.sitofp %n : i32 to f32\n"
ASKED = "%z = arith.constant 0.0 : f32\n%b = tt.load %y : !tt.ptr<f32>\n%p = arith.cmpf ogt, %b, %z : f32\n"
STORED = "tt.store %o, %a : !tt.ptr<f32>\n"
X, Y, OUT = 0, 1, 2


def of(body: str, *more: str) -> dict[int, set[int]]:
    text = f"module {{\ntt.func public @k({HEAD}) {{\n{body}tt.return\n}}\n{''.join(more)}}}\n"
    return {place: set(others) for place, others in flows(parse(text)).items()}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("", {}),
        (LOADED, {}),
        (LOADED + STORED, {OUT: {X}}),
        (LOADED + NUMBER + "tt.store %o, %c : !tt.ptr<f32>\n", {OUT: set()}),
        (LOADED + ASKED + "tt.store %o, %a, %p : !tt.ptr<f32>\n", {OUT: {X, Y}}),
        (LOADED + ASKED + f"scf.if %p {{\n{STORED}}}\n", {OUT: {X, Y}}),
        (NUMBER + ASKED + "scf.if %p {\ntt.store %o, %c : !tt.ptr<f32>\n}\n", {OUT: {Y}}),
    ],
)
def test_values_masks_and_conditions(body: str, wanted: dict[int, set[int]]) -> None:
    assert of(body) == wanted


def test_addresses_and_what_was_written_before() -> None:
    body = LOADED + (
        "%i = arith.fptosi %a : f32 to i32\n"
        "%q = tt.addptr %y, %i : !tt.ptr<f32>, i32\n"
        "%c = arith.constant 1.0 : f32\n"
        "tt.store %q, %c : !tt.ptr<f32>\n"
        "%d = tt.load %y : !tt.ptr<f32>\n"
        "tt.store %o, %d : !tt.ptr<f32>\n"
    )
    assert of(body) == {Y: {X}, OUT: {X, Y}}


def test_loops_carry() -> None:
    body = (
        "%l = arith.constant 0 : i32\n%s = arith.constant 1 : i32\n%z = arith.constant 0.0 : f32\n"
        "%r:2 = scf.for %i = %l to %n step %s iter_args(%acc = %z, %p = %x) -> (f32, !tt.ptr<f32>)  : i32 {\n"
        "%v = tt.load %p : !tt.ptr<f32>\n%w = arith.addf %acc, %v : f32\n"
        "%q = tt.addptr %p, %s : !tt.ptr<f32>, i32\nscf.yield %w, %q : f32, !tt.ptr<f32>\n}\n"
        "tt.store %o, %r#0 : !tt.ptr<f32>\n"
    )
    assert of(body) == {OUT: {X}}


def test_calls() -> None:
    body = LOADED + "%r = tt.call @f(%o, %a) : (!tt.ptr<f32>, f32) -> f32\ntt.store %y, %r : !tt.ptr<f32>\n"
    callee = (
        "tt.func private @f(%p: !tt.ptr<f32>, %v: f32) -> f32 {\n"
        "tt.store %p, %v : !tt.ptr<f32>\ntt.return %v : f32\n}\n"
    )
    assert of(body, callee) == {OUT: {X}, Y: {X}}


def test_early_returns() -> None:
    body = ASKED + (
        "cf.cond_br %p, ^bb1, ^bb2\n^bb1:\ntt.return\n^bb2:\n"
        "%c = arith.constant 1.0 : f32\ntt.store %o, %c : !tt.ptr<f32>\n"
    )
    assert of(body) == {OUT: {Y}}


def test_atomics_read_what_they_write() -> None:
    body = (
        "%t = arith.constant true\n%c = arith.constant 1.0 : f32\n"
        "%v = tt.atomic_rmw fadd, acq_rel, gpu, %x, %c, %t : (!tt.ptr<f32>, f32, i1) -> f32\n"
        "tt.store %o, %v : !tt.ptr<f32>\n"
    )
    assert of(body) == {X: set(), OUT: {X}}
