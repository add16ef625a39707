"""Runs: outcomes, denominators, budgets, stops, resumption, faults."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import subprocess

import pytest
from engine_doubles import FakeJudge, config, reply, until
from run_doubles import MIX, Assembly, dice, operators, plan, resume, start

from bringup.clients import Reply, Usage
from bringup.errors import (
    ClientError,
    ClientRefused,
    ConfigError,
    DialogDiverged,
    EnvironmentFault,
    StoreError,
    Unanswered,
    UnknownName,
    UnknownOperator,
)
from bringup.runs import Board, Runner, make_plan, settled
from bringup.runs import runner as runner_module
from bringup.runs.ids import new_run_id
from bringup.runs.plan import Plan
from bringup.runs.recordings import record_run
from bringup.store import CallFinished, RunFinished, RunInterrupted, create_run, list_runs, open_run


def events(folder, kind):
    with open_run(folder) as run:
        return [s.event for s in run.events() if isinstance(s.event, kind)]


async def test_a_run_covers_what_can_be_covered_and_keeps_both_denominators(tmp_path):
    result = await start(tmp_path, Assembly(dice(1, MIX)), 14)
    assert (result.asked, result.applicable, result.covered, result.complete) == (14, 12, 12, True)
    assert not result.resumable
    assert result.summaries["op006"].reason == "complex results"
    assert [e.outcomes for e in events(result.folder, RunFinished)] == [{"covered": 12, "not_applicable": 2}]


async def test_sessions_run_at_once_but_no_more_than_configured(tmp_path):
    class Counting(FakeJudge):
        now = most = 0

        async def judge(self, *args, **kwargs):
            Counting.now += 1
            Counting.most = max(Counting.most, Counting.now)
            try:
                await asyncio.sleep(0.01)
                return await super().judge(*args, **kwargs)
            finally:
                Counting.now -= 1

    await start(tmp_path, Assembly(lambda *_: reply("passed"), judge=Counting()), 12, sessions=4)
    assert Counting.most == 4


async def test_a_finished_run_resumed_does_nothing(tmp_path):
    result = await start(tmp_path, Assembly(dice(1, MIX)), 5)
    again = Assembly(dice(1, MIX))
    second = await resume(result.folder, again)
    assert again.client.calls == 0
    assert second.summaries == result.summaries


async def test_a_token_budget_stops_all_and_a_larger_one_finishes(tmp_path):
    result = await start(tmp_path, Assembly(dice(3, MIX)), 10, budget={"tokens": 300}, sessions=2)
    assert "token budget used up" in result.interrupted
    assert result.resumable
    assert not result.complete
    more = Assembly(dice(3, MIX))
    second = await resume(result.folder, more, changes=lambda data: config(**{**data, "budget": {}}))
    assert second.complete
    whole = await start(tmp_path, Assembly(dice(3, MIX)), 10)
    assert {n: s.without_times() for n, s in second.summaries.items()} == {
        n: s.without_times() for n, s in whole.summaries.items()
    }
    keys = [e.key for e in events(result.folder, CallFinished)]
    assert len(keys) == len(set(keys))


async def test_calls_in_flight_count_before_they_land(tmp_path):
    """Twenty sessions ask at once; without holding back, every one of them would overshoot the limit."""

    def script(messages, sampling, call):
        return Reply(text=reply("wrong", call.turn), usage=Usage(input_tokens=100, output_tokens=400), model="scripted")

    limit = 6000
    result = await start(tmp_path, Assembly(script, delay=0.01), 20, budget={"tokens": limit}, sessions=20)
    spent = sum(s.tokens for s in result.summaries.values())
    assert limit <= spent <= limit + 500, "more than one call beyond the limit"
    assert f"token budget used up: {spent} of {limit}" in result.interrupted
    prices = {"scripted": {"input": 0.0, "output": 1000.0}}  # 0.4 a call
    result = await start(tmp_path, Assembly(script, delay=0.01), 20, budget={"money": 2.0}, prices=prices, sessions=20)
    assert 2.0 <= sum(s.cost or 0.0 for s in result.summaries.values()) <= 2.4 + 1e-9


async def test_a_time_budget_stops_a_judge_that_never_ends(tmp_path):
    result = await start(
        tmp_path, Assembly(lambda *_: reply("passed"), judge=FakeJudge(delay=60)), 3, budget={"seconds": 0.5}
    )
    assert result.interrupted == "time budget used up: 0.5 s"
    assert {s.outcome for s in result.summaries.values()} == {"stopped"}


async def test_what_an_earlier_process_spent_counts(tmp_path):
    result = await start(tmp_path, Assembly(dice(3, MIX)), 6)
    spent = sum(s.tokens for s in result.summaries.values())
    log = create_run(tmp_path, "other")
    with open_run(result.folder) as run:
        runner = Runner(log, config(budget={"tokens": spent}), plan(6), run.events())
    log.close()
    assert runner.budget.tokens == spent
    assert runner.budget.used_up() == f"token budget used up: {spent} of {spent}"
    assert runner.budget.seconds > 0


@pytest.mark.parametrize("second", [False, True])
async def test_ctrl_c_stops_cleanly_and_a_second_one_at_once(tmp_path, second):
    assembly = Assembly(lambda *_: reply("wrong"), delay=1.5 if second else 0.6)
    task = asyncio.create_task(
        runner_module.start(config(suite="made-up"), tmp_path, plan=plan(4), assemble=assembly, signals=True)
    )
    await until(lambda: assembly.client.calls == 4)
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.05)
    if second:
        os.kill(os.getpid(), signal.SIGTERM)
    result = await asyncio.wait_for(task, 10)
    assert result.interrupted == "interrupted by SIGINT"
    answered = sum(s.calls for s in result.summaries.values())
    assert answered == (0 if second else 4)
    assert events(result.folder, RunInterrupted)[0].reason == "interrupted by SIGINT"
    assert result.resumable


async def test_a_refusing_endpoint_stops_the_run_at_once(tmp_path):
    assembly = Assembly(lambda *_: ClientRefused("401: the key is not valid"))
    result = await start(tmp_path, assembly, 10, sessions=1)
    assert result.interrupted == "401: the key is not valid"
    assert isinstance(result.fault, ClientRefused)
    assert assembly.client.calls == 1


async def test_an_endpoint_that_is_down_stops_the_run_after_a_few(tmp_path):
    assembly = Assembly(lambda *_: ClientError("connection refused"))
    result = await start(tmp_path, assembly, 20, sessions=1)
    assert result.interrupted == "5 sessions in a row stopped, the last with: connection refused"
    assert assembly.client.calls == 5
    assert (await resume(result.folder, Assembly(lambda *_: reply("passed")))).complete


async def test_a_broken_judge_stops_the_run_though_the_model_answers(tmp_path):
    class Broken(FakeJudge):
        async def judge(self, *args, **kwargs):
            raise EnvironmentFault("no device")

    result = await start(tmp_path, Assembly(lambda *_: reply("passed"), judge=Broken()), 20, sessions=1)
    assert "5 sessions in a row stopped, the last with: no device" in result.interrupted
    assert (await resume(result.folder, Assembly(lambda *_: reply("passed")))).complete


async def test_operators_without_a_recording_stop_alone(tmp_path):
    def script(messages, sampling, call):
        number = int(call.operator[2:])
        return reply("passed") if number % 2 else DialogDiverged(f"{call.operator} has no recorded dialog")

    result = await start(tmp_path, Assembly(script), 20, sessions=1)
    assert result.interrupted is None
    assert result.summaries["op000"].reason == "op000 has no recorded dialog"
    assert result.summaries["op000"].outcome == "unanswered"
    assert result.covered == 9


def picky(messages, sampling, call):
    """An endpoint that answers everybody but op001 and op003."""
    return Unanswered("HTTP 400: flagged") if call.operator in {"op001", "op003"} else reply("passed")


async def test_a_dialog_that_is_refused_ends_alone_and_is_not_met_again(tmp_path):
    result = await start(tmp_path, Assembly(picky), 6, sessions=1)
    assert (result.covered, result.unanswered, result.interrupted) == (4, ["op001", "op003"], None)
    assert not result.resumable
    assert events(result.folder, RunFinished)[0].outcomes == {"covered": 4, "unanswered": 2}
    same = Assembly(picky)
    assert (await resume(result.folder, same)).unanswered == ["op001", "op003"]
    assert same.client.calls == 0


async def test_an_unanswered_operator_is_asked_again_by_name_or_of_another_client(tmp_path):
    result = await start(tmp_path, Assembly(picky), 6, sessions=1)
    named = Assembly(lambda *_: reply("passed"))
    result = await resume(result.folder, named, ops=["op003"])
    assert (result.unanswered, named.client.calls) == (["op001"], 1)
    changed = {"client": {"name": "scripted", "model": "another"}}
    other = Assembly(lambda *_: reply("passed"))
    result = await resume(result.folder, other, changes=lambda data: config(**{**data, **changed}))
    assert result.complete
    assert other.client.calls == 1


async def test_ops_and_skip_choose_what_a_resumption_works_on(tmp_path):
    result = await start(tmp_path, Assembly(lambda *_: ClientRefused("no")), 6, sessions=1)
    some = Assembly(lambda *_: reply("passed"))
    result = await resume(result.folder, some, ops=["op00[0-3],op005"], skip=["op001", "op003"])
    assert [name for name, s in result.summaries.items() if s.covered] == ["op000", "op002", "op005"]
    assert result.resumable
    with open_run(result.folder) as run:
        last = [s.event for s in run.events() if s.event.kind == "run_resumed"][-1]
    assert last.operators == ("op000", "op002", "op005")
    assert events(result.folder, RunInterrupted)[-1].reason == "3 operators left out of this part of the run"
    with pytest.raises(UnknownName, match="unknown operator 'op99' in run"):
        await resume(result.folder, some, skip=["op99"])
    with pytest.raises(ConfigError, match="no operator of the run is left"):
        await resume(result.folder, some, skip=["op*"])
    assert (await resume(result.folder, Assembly(lambda *_: reply("passed")))).complete


async def test_an_endpoint_that_refuses_every_first_dialog_stops_the_run(tmp_path):
    assembly = Assembly(lambda *_: Unanswered("HTTP 400: no such parameter"))
    result = await start(tmp_path, assembly, 20, sessions=1)
    assert "5 sessions in a row got no answer, and no other has got one" in result.interrupted
    assert assembly.client.calls == 5
    assert isinstance(result.fault, Unanswered)


def test_operators_that_are_skipped_are_not_planned(tmp_path):
    made = make_plan(config(suite="made-up", ops=["op00*"], skip=["op00[1-9],op010"]), tmp_path)
    assert [op.name for op in made.operators] == ["op000"]
    with pytest.raises(UnknownOperator, match="unknown operator 'nope'"):
        make_plan(config(suite="made-up", ops=["op00*"], skip=["nope"]), tmp_path)


def test_paths_are_settled_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chip.yaml").write_text("extends: pe64\nname: mine\n")
    (tmp_path / "dialogs").mkdir()
    given = config(target="vpe:chip.yaml", client={"name": "recorded", "path": "dialogs"}, refine_from="some-run")
    found = settled(given)
    assert found.target == f"vpe:{tmp_path}/chip.yaml"
    assert found.client.path == f"{tmp_path}/dialogs"
    assert found.refine_from == "some-run"
    assert settled(found) == found
    assert settled(config(target="vpe:pe64")).target == "vpe:pe64"
    (tmp_path / "bad.yaml").write_text("name: [\n")
    for target, words in (("vpe:bad.yaml", "not valid YAML"), ("vpe:missing.yaml", "cannot be read")):
        with pytest.raises(ConfigError, match=words):
            settled(config(target=target))


async def test_disk_full_ends_the_run_with_one_line_and_the_rest_goes_on_later(tmp_path, monkeypatch):
    from bringup.store import blobs

    real, left = os.fsync, [40]

    def fsync(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(blobs.os, "fsync", fsync)
    with pytest.raises(StoreError, match="No space left on device; free some space") as caught:
        await start(tmp_path, Assembly(dice(3, MIX)), 10)
    assert caught.value.exit_code == 3
    monkeypatch.undo()
    [folder] = list(tmp_path.iterdir())
    result = await resume(folder, Assembly(dice(3, MIX)))
    whole = await start(tmp_path / "whole", Assembly(dice(3, MIX)), 10)
    assert {n: s.without_times() for n, s in result.summaries.items()} == {
        n: s.without_times() for n, s in whole.summaries.items()
    }


async def test_a_disk_that_is_really_full(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()

    def mount(*arguments, command="mount"):
        return subprocess.run([command, *arguments, str(disk)], check=False, capture_output=True).returncode == 0

    if os.getuid() != 0 or not mount("-t", "tmpfs", "-o", "size=200k", "tmpfs"):
        pytest.skip("needs the right to mount a small disk")
    try:
        with pytest.raises(StoreError, match=r"^store .*(No space left on device|disk is full); free some space"):
            await start(disk, Assembly(dice(3, MIX)), 20)
        assert mount("-o", "remount,size=50m")
        [folder] = list_runs(disk)
        result = await resume(folder, Assembly(dice(3, MIX)))
        assert result.covered == 18
        keys = [e.key for e in events(folder, CallFinished)]
        assert len(keys) == len(set(keys))
    finally:
        mount(command="umount")


async def test_two_processes_cannot_work_on_one_run(tmp_path):
    result = await start(tmp_path, Assembly(dice(3, MIX)), 2)
    from bringup.store import resume_run

    log = resume_run(result.folder)
    try:
        with pytest.raises(StoreError, match=rf"process {os.getpid()} on .* is working on it"):
            await resume(result.folder, Assembly(dice(3, MIX)))
    finally:
        log.close()


async def test_other_cases_than_when_the_run_began_are_refused(tmp_path):
    result = await start(tmp_path, Assembly(lambda *_: ClientRefused("no")), 3)
    other = [op.model_copy(update={"case_counts": {"float32": 99}}) for op in plan(3).operators]
    with pytest.raises(ConfigError, match=r"operator op000 has other cases .*--retry-failed"):
        await resume(result.folder, Assembly(dice(1)), operators=other)


def test_plans(tmp_path):
    made = make_plan(config(suite="made-up", ops=["op00*, op011", "random_one"]), tmp_path)
    assert [op.name for op in made.operators] == [*(f"op{i:03d}" for i in range(10)), "op011"]
    assert made.excluded == {"random_one": "its results are random"}
    with pytest.raises(ConfigError, match=r"no eligible operator .*its results are random"):
        make_plan(config(suite="made-up", ops=["random_one"]), tmp_path)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"dtypes": ["float8"]}, "'float8' is not a dtype of the suite"),
        ({"dtypes": []}, "dtypes: is empty"),
        ({"states": {"summarise": True}}, "without a summariser"),
        ({"budget": {"money": 1.0}}, "price of model 'scripted' (client) is not known"),
        ({"then": [{"name": "scripted"}] * 3}, "then: 4 clients in turn for 3 attempts"),
        ({"then": [{"base_url": "https://me:secret@host/v1"}]}, "then.0.base_url: holds a password"),
        ({"client": {"name": "openai", "base_url": "https://me:secret@host/v1"}}, "client.base_url: holds a password"),
    ],
)
def test_settings_that_cannot_work_are_told_before_anything_starts(tmp_path, sections, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        make_plan(config(suite="made-up", **sections), tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_refine_from_a_folder_and_from_a_run(tmp_path):
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "op001.py").write_text("def wrapper(x):\n    return 'old', 1\n")
    made = make_plan(config(suite="made-up", ops=["op00*"], refine_from=str(kernels)), tmp_path)
    assert list(made.refine) == ["op001"]
    result = await start(tmp_path / "runs", Assembly(lambda *_: reply("passed")), 4)
    made = make_plan(config(suite="made-up", ops=["op00*"], refine_from=result.run), tmp_path / "runs")
    assert list(made.refine) == ["op000", "op001", "op002", "op003"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no kernel of the chosen operators"):
        made = make_plan(config(suite="made-up", ops=["op010"], refine_from=str(kernels)), tmp_path)


async def test_a_replay_of_refining_sessions_begins_from_the_same_kernels(tmp_path):
    old = "def wrapper(x):\n    return 'wrong', 1\n"
    made = Plan(operators(3), refine={"op001": old})
    settings = config(suite="made-up", ops=["op00*"])
    result = await runner_module.start(settings, tmp_path, plan=made, assemble=Assembly(lambda *_: reply("passed")))
    with open_run(result.folder) as run:
        assert record_run(run, tmp_path / "set") == ["op000", "op001", "op002"]
    client = {"name": "recorded", "path": str(tmp_path / "set")}
    assert make_plan(config(suite="made-up", ops=["op00*"], client=client), tmp_path).refine == {"op001": old}


async def test_the_board_counts_what_the_store_counts(tmp_path):
    board = Board(live=True)
    result = await runner_module.start(
        config(suite="made-up", states={"summarise": True}, summariser={"name": "scripted"}),
        tmp_path,
        plan=plan(14),
        assemble=Assembly(dice(5, MIX)),
        observers=[board.add],
    )
    assert board.covered == result.covered
    assert board.applicable == result.applicable
    assert board.calls == sum(s.calls for s in result.summaries.values())
    assert board.summariser_calls == sum(s.summariser_calls for s in result.summaries.values()) > 0
    assert board.tokens == sum(s.tokens for s in result.summaries.values())
    assert board.phases() == {"covered": 12, "not applicable": 2}
    assert board.seconds_left() == 0


def test_names_of_runs_sort_by_time():
    first, second = new_run_id(1_000_000_000), new_run_id(1_000_000_001)
    assert first < second
    assert re.fullmatch(r"20010909-014640-[a-z]+-[a-z]+", first)


def test_runs_that_begin_in_one_second_have_other_names(tmp_path):
    names = []
    for _ in range(200):  # of some 1,400
        names.append(new_run_id(1_000_000_000, root=tmp_path))
        (tmp_path / names[-1]).mkdir()
    assert len(set(names)) == 200
