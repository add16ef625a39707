"""What a watcher sees: the live view and the log lines."""

from __future__ import annotations

import io

import pytest
from engine_doubles import config
from rich.console import Console
from run_doubles import MIX, Assembly, dice, plan

from bringup.clients import Usage
from bringup.runs import Board, runner
from bringup.runs.progress import duration, lines, live, render
from bringup.store import (
    AttemptStarted,
    CallFinished,
    CallStarted,
    Linted,
    OperatorInfo,
    Parsed,
    RunStarted,
    SessionFinished,
    SessionStarted,
    StoredEvent,
)


def stored(event, operator=None):
    return StoredEvent(run="r", seq=1, time=1.0, operator=operator, event=event)


def started(*names):
    infos = tuple(OperatorInfo(name=n, category="Other") for n in names)
    return stored(RunStarted(run="r", version="0", config={}, operators=infos))


def call(cls, **fields):
    base = {"key": "k", "attempt": 1, "turn": 1}
    if cls is CallStarted:
        base |= {"dialog": 1, "template": "first", "template_digest": "", "prompt": ""}
    else:
        base |= {"reply": ""}
    return cls(**base, **fields)


def text_of(renderable, width=100):
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


def test_phases_follow_the_events():
    board = Board(live=True)
    board.add(started("a", "b", "c", "d"))
    assert board.phases() == {"waiting": 4}
    for event in (SessionStarted(), AttemptStarted(attempt=1), call(CallStarted)):
        board.add(stored(event, "a"))
    assert board.phases() == {"waiting": 3, "model": 1}
    board.add(stored(call(CallFinished, usage=Usage(input_tokens=1200, output_tokens=34), cost=0.5), "a"))
    board.add(stored(Parsed(attempt=1, turn=1, candidate="x"), "a"))
    board.add(stored(Linted(attempt=1, turn=1, candidate="x"), "a"))
    assert board.phases() == {"waiting": 3, "judge": 1}
    board.add(stored(SessionFinished(outcome="covered"), "a"))
    board.add(stored(SessionFinished(outcome="not_applicable", reason="complex"), "b"))
    board.add(stored(SessionFinished(outcome="stopped", cause="error", reason="no line"), "c"))
    assert board.phases() == {"waiting": 1, "covered": 1, "stopped": 1, "not applicable": 1}
    assert (board.covered, board.applicable) == (1, 3)
    assert board.seconds_left() > 0

    view = text_of(render(board, "a title"))
    for part in ("a title", "1 of 3 covered", "calls 1", "tokens 1,234", "cost 0.50", "1  not applicable"):
        assert part in view
    assert "a: covered after 1 call" in view
    assert "c: stopped: no line" in view


def test_no_time_left_is_told_before_anything_has_ended():
    board = Board(live=True)
    board.add(started("a"))
    assert board.seconds_left() is None
    assert "left –" in text_of(render(board, "t"))


@pytest.mark.parametrize(("seconds", "words"), [(None, "–"), (0.4, "0 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")])
def test_durations(seconds, words):
    assert duration(seconds) == words


async def test_log_lines_are_plain_and_say_what_happened(tmp_path):
    board = Board(live=True)
    console = Console(file=io.StringIO(), width=80)
    with lines(board, "the title", console) as observe:
        await runner.start(
            config(suite="made-up"), tmp_path, plan=plan(6), assemble=Assembly(dice(5, MIX)), observers=[observe]
        )
    out = console.file.getvalue()
    assert out.startswith("the title\n")
    assert "\x1b" not in out
    assert all(len(line) < 260 for line in out.splitlines())
    assert sum(": covered after " in line for line in out.splitlines()) == 6
    assert "[6/6]" in out.splitlines()[-1]


async def test_the_live_view_draws_and_clears(tmp_path):
    board = Board(live=True)
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with live(board, "the title", console) as observe:
        await runner.start(
            config(suite="made-up"), tmp_path, plan=plan(3), assemble=Assembly(dice(5, MIX)), observers=[observe]
        )
    assert "3 of 3 covered" in console.file.getvalue().replace("\x1b[1;32m", "").replace("\x1b[0m", "")
