import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bringup.clients import Call, Message, Sampling
from bringup.clients.mailbox import AlreadyAnswered, Mailbox, MailboxClient
from bringup.errors import BringupError, ClientError, FormatError, UnknownName

DIALOG = [Message(role="system", content="Be exact."), Message(role="user", content="Write exp.\n")]


def call(operator: str = "exp", turn: int = 1) -> Call:
    return Call(run="r1", operator=operator, attempt=1, turn=turn)


@pytest.fixture
def box(tmp_path: Path) -> Mailbox:
    box = Mailbox(tmp_path / "mailbox")
    box.create("r1")
    return box


def cli(directory: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bringup.cli.main", "mailbox", *arguments, "--dir", str(directory)]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)


def test_prompt_files_hold_the_messages_and_nothing_else(box: Mailbox) -> None:
    assert box.post("k", DIALOG)
    assert json.loads((box.prompts / "k.json").read_text()) == [m.model_dump() for m in DIALOG]
    assert (box.prompts / "k.md").read_text() == "<<< system >>>\nBe exact.\n\n<<< user >>>\nWrite exp.\n\n"
    assert box.messages("k") == DIALOG


def test_states(box: Mailbox) -> None:
    box.post("k", DIALOG)
    assert [e.state for e in box.entries()] == ["pending"]
    claimed = box.claim("ann")
    assert claimed is not None
    assert (claimed.key, claimed.state, claimed.worker) == ("k", "claimed", "ann")
    assert box.claim("bob") is None
    box.release("k")
    assert box.entries()[0].state == "pending"
    again = box.claim("bob")
    assert again is not None
    assert again.key == "k"
    box.answer("k", "reply")
    (entry,) = box.entries()
    assert (entry.state, entry.worker) == ("answered", "bob")
    assert box.reply("k") == ("reply", False)
    assert box.claim("ann") is None


def test_oldest_prompt_goes_first(box: Mailbox) -> None:
    for number, key in enumerate(["z", "a", "m"]):
        box.post(key, DIALOG)
        os.utime(box.directory / "pending" / key, (1000 + number, 1000 + number))
    assert [box.claim("w").key for _ in range(3)] == ["z", "a", "m"]  # type: ignore[union-attr]


def test_second_answer_is_refused_and_the_first_stands(box: Mailbox) -> None:
    box.post("k", DIALOG)
    box.answer("k", "one")
    with pytest.raises(AlreadyAnswered, match=r"k: already answered .*the first answer stands"):
        box.answer("k", "two")
    with pytest.raises(AlreadyAnswered):
        box.release("k")
    assert box.reply("k") == ("one", False)


def test_bad_keys_and_answers(box: Mailbox) -> None:
    box.post("r1.exp.a1.t01.generate", DIALOG)
    with pytest.raises(UnknownName, match=r"did you mean r1\.exp"):
        box.answer("r1.exq.a1.t01.generate", "x")
    with pytest.raises(FormatError, match="empty"):
        box.answer("r1.exp.a1.t01.generate", " \n")
    with pytest.raises(BringupError, match="not claimed"):
        box.release("r1.exp.a1.t01.generate")
    with pytest.raises(BringupError, match="no mailbox here"):
        Mailbox.open(box.directory / "nothing")


def test_resolve_never_takes_one_operator_for_another(box: Mailbox) -> None:
    box.post("r1.special.exp.a1.t01.generate", DIALOG)
    with pytest.raises(UnknownName):
        box.resolve("exp.a1.t01")
    box.post("r1.exp.a1.t01.generate", DIALOG)
    assert box.resolve("exp.a1.t01") == "r1.exp.a1.t01.generate"
    assert box.resolve("exp.a1.t01.generate") == "r1.exp.a1.t01.generate"


def test_names_that_are_no_file_names(box: Mailbox) -> None:
    key = "r1.a/b:../c%2F.a1.t01.generate"
    box.post(key, DIALOG)
    assert box.claim("w").key == key  # type: ignore[union-attr]
    box.answer(key, "yes")
    assert box.answered_keys() == {key}
    assert box.keys() == [key]


def test_claims_lapse(box: Mailbox) -> None:
    box.post("k", DIALOG)
    box.claim("gone", lease_seconds=0.0)
    time.sleep(0.01)
    later = box.claim("here")
    assert later is not None
    assert later.worker == "here"


def test_a_claim_and_an_answer_by_hand(box: Mailbox) -> None:
    box.post("k", DIALOG)
    os.rename(box.directory / "pending" / "k", box.directory / "claimed" / "k")
    assert box.claim("w") is None
    (entry,) = box.entries()
    assert entry.state == "claimed"
    assert entry.expires == pytest.approx(time.time() + 3600, abs=60)
    path = box.answers / "k.md"
    path.write_text("by hand")
    assert box.reply("k") is None  # it may still be being written
    os.utime(path, (time.time() - 2,) * 2)
    assert box.reply("k") == ("by hand", False)
    assert box.entries()[0].state == "answered"
    with pytest.raises(AlreadyAnswered):
        box.answer("k", "again")


def _claim_all(directory: str, worker: str, start: "multiprocessing.synchronize.Event", out: str) -> None:
    start.wait()
    box, got, idle = Mailbox(Path(directory)), [], 0
    while idle < 3:
        entry = box.claim(worker)
        if entry is None:
            idle += 1
            time.sleep(0.01)
        else:
            idle = 0
            got.append(entry.key)
            if len(got) % 3 == 0:
                box.answer(entry.key, worker)
    Path(out).write_text(json.dumps(got))


def test_processes_at_once_never_get_the_same_prompt(box: Mailbox, tmp_path: Path) -> None:
    keys = [f"k{n}" for n in range(150)]
    for key in keys:
        box.post(key, DIALOG)
    context = multiprocessing.get_context("fork")
    start = context.Event()
    outs = [tmp_path / f"out{n}" for n in range(6)]
    workers = [
        context.Process(target=_claim_all, args=(str(box.directory), f"w{n}", start, str(out)))
        for n, out in enumerate(outs)
    ]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join(30)
        assert worker.exitcode == 0
    got = [key for out in outs for key in json.loads(out.read_text())]
    assert sorted(got) == sorted(keys)


def test_killed_claimers_lose_no_prompt(box: Mailbox) -> None:
    keys = {f"k{n}" for n in range(40)}
    for key in keys:
        box.post(key, DIALOG)
    program = (
        "import sys; from pathlib import Path; from bringup.clients.mailbox import Mailbox\n"
        "box = Mailbox(Path(sys.argv[1])); print('ready', flush=True)\n"
        "while True:\n"
        "    entry = box.claim('w', 0.0)\n"
        "    if entry: box.release(entry.key) if hash(entry.key) % 2 else None\n"
    )
    for delay in (0.001, 0.01, 0.03, 0.05):
        process = subprocess.Popen([sys.executable, "-c", program, str(box.directory)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    for entry in box.entries():
        if entry.state == "claimed":  # by one who was killed before it could note its lease
            box.release(entry.key)
    got = set()
    while entry := box.claim("last"):  # type: ignore[assignment]
        got.add(entry.key)
    assert got == keys


# -- the client


def client_of(tmp_path: Path, **options: float) -> MailboxClient:
    return MailboxClient(run_dir=tmp_path, poll_seconds=0.01, **options)  # type: ignore[arg-type]


async def until(condition, seconds: float = 10.0) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.005)


async def test_client_gets_answers_in_any_order(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    calls = [call(turn=n) for n in range(1, 31)]
    tasks = [asyncio.create_task(client.complete(DIALOG, Sampling(), c)) for c in calls]
    await until(lambda: len(client.mailbox.keys()) == 30)
    for c in reversed(calls):
        client.mailbox.answer(c.key, f"to {c.turn}", "ann")
    replies = await asyncio.wait_for(asyncio.gather(*tasks), 20)
    assert [r.text for r in replies] == [f"to {c.turn}" for c in calls]
    assert replies[0].usage.estimated
    assert replies[0].usage.input_tokens == 3 + 3  # 9 and 11 characters
    assert replies[0].usage.output_tokens == 1
    assert replies[0].model == "ann"
    assert replies[0].finish_reason == "stop"
    await client.close()
    assert client.mailbox.closed


async def test_an_answer_that_is_there_at_once_is_seen(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    for turn in range(1, 20):  # the answer races with the poller's look at the directory
        task = asyncio.create_task(client.complete(DIALOG, Sampling(), call(turn=turn)))
        await until(lambda turn=turn: client.mailbox.has(call(turn=turn).key))
        client.mailbox.answer(call(turn=turn).key, "x")
        assert (await asyncio.wait_for(task, 10)).text == "x"
    await client.close()


async def test_resume_finds_prompt_and_answer(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from bringup.clients import Call, Message, Sampling; from bringup.clients.mailbox import MailboxClient\n"
        "c = MailboxClient(run_dir=Path(sys.argv[1]))\n"
        "m = [Message(role='user', content='hi')]\n"
        "async def main(): await asyncio.gather(*(c.complete(m, Sampling(), Call(run='r1', operator='exp', attempt=1,"
        " turn=t)) for t in (1, 2)))\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])  # noqa: ASYNC220
    box = Mailbox(tmp_path / "mailbox")
    await until(lambda: len(box.keys()) == 2 and len(box.entries()) == 2, 30)
    assert not box.abandoned()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert box.abandoned()
    assert not box.closed
    first = box.claim("ann")
    assert first is not None
    box.answer(first.key, "answered while nobody ran")

    client = client_of(tmp_path)
    done, left = (call(turn=1), call(turn=2)) if ".t01." in first.key else (call(turn=2), call(turn=1))
    recovered = await client.recover(done)
    assert recovered is not None
    assert recovered.text == "answered while nobody ran"
    assert await client.recover(left) is None
    hi = [Message(role="user", content="hi")]
    again = await client.complete(hi, Sampling(), done)
    assert again.text == recovered.text
    task = asyncio.create_task(client.complete(hi, Sampling(), left))
    await asyncio.sleep(0.05)
    assert len(box.entries()) == 2  # not posted a second time
    box.answer(left.key, "now")
    assert (await asyncio.wait_for(task, 10)).text == "now"
    await client.close()


async def test_claim_survives_the_resume(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    task = asyncio.create_task(client.complete(DIALOG, Sampling(), call()))
    await until(lambda: client.mailbox.has(call().key))
    await until(lambda: client.mailbox.claim("ann") is not None)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await client.close()
    second = client_of(tmp_path)
    task = asyncio.create_task(second.complete(DIALOG, Sampling(), call()))
    await until(lambda: not second.mailbox.closed)
    await asyncio.sleep(0.05)
    assert second.mailbox.claim("bob") is None
    second.mailbox.answer(call().key, "from ann")
    reply = await asyncio.wait_for(task, 10)
    assert (reply.text, reply.model) == ("from ann", "ann")
    await second.close()


async def test_client_gives_lapsed_claims_back(tmp_path: Path) -> None:
    client = client_of(tmp_path, lease_seconds=0.05)
    task = asyncio.create_task(client.complete(DIALOG, Sampling(), call()))
    await until(lambda: client.mailbox.has(call().key))
    await until(lambda: client.mailbox.claim("gone") is not None)
    await until((client.mailbox.directory / "pending" / call().key).exists)
    client.mailbox.answer(call().key, "x")
    await asyncio.wait_for(task, 10)
    await client.close()


async def test_long_empty_and_undecodable_answers(tmp_path: Path) -> None:
    client = MailboxClient(run_dir=tmp_path, poll_seconds=0.01, reply_bytes=1_000_000)
    task = asyncio.create_task(client.complete(DIALOG, Sampling(), call()))
    await until(lambda: client.mailbox.has(call().key))
    path = client.mailbox.answers / f"{call().key}.md"
    path.write_bytes(b"")
    await asyncio.sleep(0.1)
    assert not task.done()
    path.write_bytes(b"\xff" + b"x" * 1_500_000)
    os.utime(path, (time.time() - 2,) * 2)
    reply = await asyncio.wait_for(task, 10)
    assert reply.finish_reason == "length"
    assert len(reply.text) == 1_000_000
    assert reply.text[0] == "\ufffd"
    await client.close()


async def test_faults_of_the_disk_are_client_errors(tmp_path: Path) -> None:
    (tmp_path / "mailbox").write_text("a file is in the way")
    client = client_of(tmp_path)
    with pytest.raises(ClientError, match=r"mailbox .*: File exists|Not a directory"):
        await client.complete(DIALOG, Sampling(), call())
    await client.close()


async def test_a_mailbox_that_vanishes_ends_the_wait(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    task = asyncio.create_task(client.complete(DIALOG, Sampling(), call()))
    await until(lambda: client.mailbox.has(call().key))
    await asyncio.sleep(0.05)
    os.rename(tmp_path / "mailbox", tmp_path / "elsewhere")
    with pytest.raises(ClientError, match="can be resumed"):
        await asyncio.wait_for(task, 10)
    await client.close()


# -- the command


def test_command_line(box: Mailbox, tmp_path: Path) -> None:
    key = "r1.exp.a1.t01.generate"
    box.post(key, DIALOG)
    listed = json.loads(cli(box.directory, "list", "--json").stdout)
    assert [p["key"] for p in listed["prompts"]] == [key]
    waited = cli(box.directory, "wait", "--worker", "ann", "--timeout", "5")
    assert waited.stdout == f"{key}\t{box.prompts / (key + '.md')}\n"
    late = cli(box.directory, "wait", "--timeout", "0")
    assert (late.returncode, late.stdout) == (1, "")
    assert late.stderr == f"no prompt in {box.directory} within 0 seconds\n"
    assert cli(box.directory, "show", "exp.a1.t01").stdout == (box.prompts / f"{key}.md").read_text()
    answered = cli(box.directory, "answer", "exp.a1.t01", "-", text="the reply")
    assert answered.returncode == 0, answered.stderr
    assert box.reply(key) == ("the reply", False)
    assert box.entries()[0].worker == "ann"
    second = cli(box.directory, "answer", key, "-", text="another")
    assert second.returncode == 2
    assert second.stderr.startswith(f"error: {key}: already answered")
    assert second.stderr.count("\n") == 1


def test_command_line_wait_print_release_and_end(box: Mailbox) -> None:
    box.post("r1.exp.a1.t01.generate", DIALOG)
    printed = cli(box.directory, "wait", "--print")
    assert printed.stdout == (box.prompts / "r1.exp.a1.t01.generate.md").read_text()
    assert printed.stderr == "r1.exp.a1.t01.generate\n"
    assert cli(box.directory, "release", "exp.a1.t01").returncode == 0
    assert box.entries()[0].state == "pending"
    box.close()
    ended = cli(box.directory, "wait")
    assert ended.returncode == 3
    assert "the run has ended" in ended.stderr
    assert "1 of its prompts have no answer" in ended.stderr


def test_what_waits_is_listed_last_and_the_newest_at_the_end(box: Mailbox) -> None:
    turns = [f"r1.exp.a1.t{turn:02}.generate" for turn in range(1, 6)]
    for key in turns:
        box.post(key, DIALOG)
        time.sleep(0.01)
    for key in turns[:2]:
        box.answer(key, "a reply")
    assert box.claim("ann") is not None  # the third
    shown = cli(box.directory, "list").stdout.splitlines()
    assert [line.split("\t")[0] for line in shown] == turns
    for options in (["--pending"], ["--state", "pending"], ["--pending", "--state", "pending"]):
        waiting = cli(box.directory, "list", "--json", *options).stdout
        assert [one["key"] for one in json.loads(waiting)["prompts"]] == turns[3:]
    both = cli(box.directory, "list", "--pending", "--state", "claimed")
    assert both.returncode == 2
    assert "--pending" in both.stderr


def test_a_key_without_its_run_is_told_which_run_it_names(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from bringup.cli.main import build_app

    def told(command: str, key: str) -> str:
        arguments = [command, key, *(["-"] if command == "answer" else []), "--runs-dir", str(tmp_path)]
        with pytest.raises(BringupError) as raised:
            CliRunner().invoke(build_app(), ["mailbox", *arguments], input="x", catch_exceptions=False)
        return str(raised.value)

    for command in ("show", "answer", "release"):
        for role in ("", ".generate"):
            text = told(command, f"20260131-142501-quiet-heron.nn.functional.relu.a1.t02{role}")
            assert "names the run 20260131-142501-quiet-heron of nn.functional.relu: say with --runs-dir" in text
        assert "names the run" not in told(command, "nn.functional.relu.a1.t02")


def test_command_line_bad_input(box: Mailbox, tmp_path: Path) -> None:
    for arguments, code, words in [
        (["show", "nothing"], 2, "unknown prompt 'nothing'"),
        (["answer", "nothing", "-"], 2, "unknown prompt 'nothing'"),
        (["list", "--state", "asleep"], 2, "pending, claimed, answered"),
    ]:
        result = cli(box.directory, *arguments, text="x")
        assert (result.returncode, words in result.stderr) == (code, True), result.stderr
        assert "Traceback" not in result.stderr
    missing = cli(tmp_path / "none", "list")
    assert missing.returncode == 2
    assert "no mailbox here" in missing.stderr
    box.post("k", DIALOG)
    unreadable = cli(box.directory, "answer", "k", str(tmp_path / "no-such-file"))
    assert unreadable.returncode == 2
    assert "cannot be read" in unreadable.stderr


def test_command_line_takes_the_newest_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from bringup.cli.main import build_app

    monkeypatch.chdir(tmp_path)
    for number, run in enumerate(["old", "new"]):
        box = Mailbox(tmp_path / "bringup-runs" / run / "mailbox")
        box.create(run)
        box.post(f"{run}.exp.a1.t01.generate", DIALOG)
        os.utime(box.directory / "MAILBOX.json", (number, number))
        if run == "old":
            box.close()
    ended = CliRunner().invoke(build_app(), ["mailbox", "list", "--run", "old"])
    assert ended.stdout == "old.exp.a1.t01.generate\tpending\t\t\n"  # a line a prompt for other programs
    assert "the run has ended" in ended.stderr
    assert "ended" not in CliRunner().invoke(build_app(), ["mailbox", "list"]).output
    result = CliRunner().invoke(build_app(), ["mailbox", "list", "--json"])
    assert [p["key"] for p in json.loads(result.stdout)["prompts"]] == ["new.exp.a1.t01.generate"]
    result = CliRunner().invoke(build_app(), ["mailbox", "list", "--json", "--run", "old"])
    assert [p["key"] for p in json.loads(result.stdout)["prompts"]] == ["old.exp.a1.t01.generate"]
    with pytest.raises(UnknownName, match="did you mean new"):
        CliRunner().invoke(build_app(), ["mailbox", "list", "--run", "nev"], catch_exceptions=False)
    result = CliRunner().invoke(build_app(), ["mailbox", "list", "--json", "--run", "ol"])
    assert [p["key"] for p in json.loads(result.stdout)["prompts"]] == ["old.exp.a1.t01.generate"]
    monkeypatch.setenv("BRINGUP_RUNS", str(tmp_path / "bringup-runs"))
    monkeypatch.chdir("/")
    assert CliRunner().invoke(build_app(), ["mailbox", "list", "--json"]).exit_code == 0


def test_wait_may_come_before_the_run(tmp_path: Path) -> None:
    directory = tmp_path / "run" / "mailbox"
    early = cli(directory, "wait", "--timeout", "0.1")
    assert early.returncode == 1
    assert "no mailbox within 0.1 seconds" in early.stderr
    command = [sys.executable, "-m", "bringup.cli.main", "mailbox", "wait", "--dir", str(directory), "--timeout", "30"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "no mailbox here" in process.stderr.readline()
    box = Mailbox(directory)
    box.create("r1")
    box.post("r1.exp.a1.t01.generate", DIALOG)
    stdout, _ = process.communicate(timeout=30)
    assert stdout.startswith("r1.exp.a1.t01.generate\t")
    assert process.returncode == 0
