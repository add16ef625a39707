"""Repairs that answer with edits of the module before."""

from __future__ import annotations

import pytest
from engine_doubles import Bench, bench, reply

from bringup.session import State
from bringup.session.history import shortened
from bringup.store import CallStarted, Parsed, open_run

START = "def wrapper(x):\n    return 'wrong', 'the old one'\n"


def patch(search: str, replace: str) -> str:
    return f"```patch\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n```\n"


def becomes(old: str, new: str, note: object = 1) -> str:
    return patch(f"    return '{old}', {note!r}", f"    return '{new}', {note!r}")


def parsed(b: Bench) -> list[Parsed]:
    with open_run(b.log.folder) as run:
        return [stored.event for stored in run.events() if isinstance(stored.event, Parsed)]


def prompts(b: Bench) -> list[str]:
    with open_run(b.log.folder) as run:
        return [run.blob(s.event.prompt) for s in run.events() if isinstance(s.event, CallStarted)]


async def test_edits_of_the_module_before_are_the_next_module(tmp_path):
    replies = [reply("wrong", 1), becomes("wrong", "compile"), becomes("compile", "passed")]
    async with bench(tmp_path, lambda messages, sampling, call: replies[call.turn - 1]) as b:
        state = await b.run()
        assert state.at is State.COVERED
        assert [p.patch for p in parsed(b)] == [False, True, True]
        source = b.log.blobs.get(state.candidate)
    assert source == "def wrapper(x):\n    return 'passed', 1\n"


async def test_a_kernel_to_refine_can_be_edited_at_once(tmp_path):
    script = lambda *_: becomes("wrong", "passed", "the old one")  # noqa: E731
    async with bench(tmp_path, script) as b:
        state = await b.run(refine=START)
        assert state.at is State.COVERED
        assert b.client.calls == 1


async def test_edits_that_do_not_fit_are_told_with_the_module_as_it_stands(tmp_path):
    replies = [reply("wrong", 1), becomes("compile", "passed"), becomes("wrong", "passed")]
    async with bench(tmp_path, lambda messages, sampling, call: replies[call.turn - 1]) as b:
        assert (await b.run()).at is State.COVERED
        assert parsed(b)[1].problem.kind == "edit_not_found"
        told = prompts(b)[2]
    assert told.startswith("[format] What edit 1 looks for does not stand in the module")
    assert "module:\ndef wrapper(x):\n    return 'wrong', 1\n" in told


async def test_switched_off_edits_are_no_module(tmp_path):
    replies = [reply("wrong", 1), becomes("wrong", "passed")]
    limits = {"attempts": 1, "calls": 2}
    script = lambda messages, sampling, call: replies[call.turn - 1]  # noqa: E731
    async with bench(tmp_path, script, attempts=limits, prompts={"patches": False}) as b:
        assert (await b.run()).at is State.EXHAUSTED
        assert parsed(b)[1].problem.kind == "no_block"


async def test_a_new_attempt_has_no_module_to_edit(tmp_path):
    """The model of the second attempt has not seen the module of the first."""
    script = lambda messages, sampling, call: reply("wrong", 1) if call.attempt == 1 else becomes("wrong", "passed")  # noqa: E731
    async with bench(tmp_path, script, attempts={"attempts": 2, "calls": 1}) as b:
        assert (await b.run()).at is State.EXHAUSTED
        assert parsed(b)[-1].problem.kind == "no_block"


async def test_a_resumed_session_edits_the_module_that_was_stored(tmp_path):
    replies = [reply("wrong", 1), becomes("wrong", "passed")]

    def script(messages, sampling, call):
        if call.turn == 2 and not b.stop.reason and not stopped:
            stopped.append(True)
            b.stop.request("test")
        return replies[call.turn - 1]

    stopped: list[bool] = []
    async with bench(tmp_path, script) as b:
        with pytest.raises(Exception, match="test"):
            await b.run()
        b.stop = type(b.stop)()
        state = await b.run()
        assert state.at is State.COVERED


async def test_the_dialog_keeps_the_module_that_edits_are_of(tmp_path):
    seen = []

    def script(messages, sampling, call):
        seen.append([m.content for m in messages if m.role != "system"])
        if call.turn == 1:
            return reply("wrong", 1)
        return patch("def wrapper(x):", f"def wrapper(x):\n    # {call.turn}") if call.turn < 6 else reply("passed", 2)

    async with bench(tmp_path, script, attempts={"whole_replies": 2}) as b:
        assert (await b.run()).at is State.COVERED
    assert "def wrapper(x):\n    return 'wrong', 1" in seen[-1][1]
    assert all("SEARCH" in seen[-1][place] for place in (3, 5, 7, 9))


def test_what_stands_before_the_module_is_still_left_out():
    task, report = ("user", "task"), ("user", "It is wrong: x\n\nmore")
    module, other, edits, prose = (
        ("assistant", reply("wrong", 1)), ("assistant", reply("wrong", 2)), ("assistant", becomes("a", "b")),
        ("assistant", "nothing"),
    )  # fmt: skip
    left_out = ("assistant", "(Module 1 of this dialog, left out. What became of it:)")
    dialog = [task, module, report, other, report, edits, report, edits]
    assert shortened(dialog, 2) == [task, left_out, ("user", "It is wrong: x"), other, *dialog[4:]]
    # A reply that is neither is no module to go on from.
    dialog = [task, module, report, other, report, prose, report, edits]
    assert shortened(dialog, 1) == [task, left_out, ("user", "It is wrong: x"), other, *dialog[4:]]
    # Edits of the kernel that the task shows.
    dialog = [task, edits, report, edits, report, edits]
    assert shortened(dialog, 1) == dialog
    # A module among the latest: what came before is not needed.
    dialog = [task, module, report, edits, report, other, report, edits]
    assert shortened(dialog, 2)[1] == left_out
