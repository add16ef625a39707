import logging
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from bringup.clients import Call, Message, Reply, Sampling, Usage, make_client
from bringup.clients.recorded import RecordedClient
from bringup.clients.recording import (
    Manifest,
    Recording,
    RecordingSet,
    chosen_operators,
    find_set,
    read_recordings,
    recorded_operators,
    recorded_starts,
    shipped_sets,
    write_recordings,
)
from bringup.config import ClientConfig
from bringup.errors import ClientError, ConfigError, DialogDiverged, FormatError

FIRST = [Message(role="user", content="Write it.")]
SECOND = [*FIRST, Message(role="assistant", content="one"), Message(role="user", content="Wrong, again.")]


def call(operator: str, attempt: int = 1, turn: int = 1) -> Call:
    return Call(run="r", operator=operator, attempt=attempt, turn=turn)


def records(operator: str) -> list[Recording]:
    usage = Usage(input_tokens=10, output_tokens=5, reasoning_tokens=2)
    return [
        Recording.of(call(operator, turn=2), SECOND, Reply(text=f"{operator} two\u2028\x00é", usage=usage), "wrong"),
        Recording.of(
            call(operator), FIRST, Reply(text=f"{operator} one", usage=usage, model="m", finish_reason="stop")
        ),
        Recording.of(call(operator, attempt=2), FIRST, Reply(text=f"{operator} anew", usage=usage)),
    ]


OPERATORS = ["T", "exp", "t", "odd/../name%2F"]


def test_the_chosen_operators_are_recorded_and_show_everything() -> None:
    """The list that `make run` replays: scripts/choose_recordings.py makes it by the rule that stands there."""
    from bringup.suites import get_suite

    chosen, recorded = chosen_operators("vpe-pe64"), recorded_operators("vpe-pe64")
    assert len(chosen) == len(set(chosen)) == 100
    assert set(chosen) < set(recorded)
    category = {op.name: op.category for op in get_suite("opinfo").operators()}
    for kind in {category[name] for name in recorded}:
        there = sum(category[name] == kind for name in recorded)
        assert sum(category[name] == kind for name in chosen) >= min(3, there), kind
    dialogs = RecordingSet(find_set("vpe-pe64"))
    assert sum(len(dialogs.dialog(name)) > 1 for name in chosen) >= 10


def test_a_set_without_a_list_is_chosen_whole_and_a_stale_list_is_told(folder: Path) -> None:
    assert chosen_operators(folder) == sorted(OPERATORS)
    (folder / "chosen.txt").write_text("# some\nexp  # this one\n\nT\n")
    assert chosen_operators(folder) == ["exp", "T"]
    (folder / "chosen.txt").write_text("gone\n")
    with pytest.raises(FormatError, match="'gone' has no recorded dialogs"):
        chosen_operators(folder)


def test_candidates_are_what_edits_have_come_to(tmp_path: Path) -> None:
    def edit(old: str, new: str) -> str:
        return f"```patch\n<<<<<<< SEARCH\n    return {old}\n=======\n    return {new}\n>>>>>>> REPLACE\n```\n"

    module = "```python\ndef wrapper(x):\n    return 1\n```\n"
    replies = {
        "from nothing": [module, edit("1", "2"), edit("7", "8"), edit("2", "3")],
        "from a kernel": [edit("0", "4")],
        "edits of nothing": [edit("0", "4")],
    }
    made = []
    for name, texts in replies.items():
        start = "def wrapper(x):\n    return 0\n" if name == "from a kernel" else ""
        for turn, text in enumerate(texts, 1):
            made.append(Recording.of(call(name, turn=turn), FIRST, Reply(text=text), start=start if turn == 1 else ""))
    write_recordings(tmp_path / "set", made, Manifest(target="vpe:permissive", date="2026-01-01"))
    found = RecordingSet(tmp_path / "set").candidates()
    assert {name: candidate.source[-9:] for name, candidate in found.items()} == {
        "from nothing": "return 3\n",
        "from a kernel": "return 4\n",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    manifest = Manifest(target="vpe:permissive", date="2026-01-01", versions={"torch": "2.13.0"})
    write_recordings(tmp_path / "set", (r for op in OPERATORS for r in records(op)), manifest)
    return tmp_path / "set"


def packed(folder: Path, name: str) -> Path:
    path = folder.parent / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            for file in folder.iterdir():
                archive.write(file, f"inner/{file.name}")
    else:
        with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as tar:
            tar.add(folder, "inner")
    return path


@pytest.mark.parametrize("form", ["folder", "a.zip", "a.tar", "a.tar.gz", "a.tgz"])
async def test_round_trip_and_replay(folder: Path, form: str) -> None:
    path = folder if form == "folder" else packed(folder, form)
    assert recorded_operators(path) == sorted(OPERATORS)
    expected = sorted((r for op in OPERATORS for r in records(op)), key=lambda r: (r.operator, r.position))
    assert list(read_recordings(path)) == expected
    opened = RecordingSet(path)
    assert opened.manifest is not None
    assert opened.manifest.versions == {"torch": "2.13.0"}
    client = RecordedClient(path=str(path))
    for op in OPERATORS:
        assert (await client.complete(FIRST, Sampling(), call(op))).text == f"{op} one"
        reply = await client.complete(SECOND, Sampling(), call(op, turn=2))
        assert reply.text == f"{op} two\u2028\x00é"
        assert reply.usage == Usage(input_tokens=10, output_tokens=5, reasoning_tokens=2)
        assert (await client.complete(FIRST, Sampling(), call(op, attempt=2))).text == f"{op} anew"
    assert client.counts.exact == 12
    assert client.counts.prompt_differs == 0


async def test_one_file_is_a_set(folder: Path) -> None:
    client = RecordedClient(path=str(folder / "exp.jsonl"))
    assert client.operators() == ["exp"]
    assert (await client.complete(FIRST, Sampling(), call("exp"))).model == "m"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (call("exp", turn=3), r"exp has no recorded reply beyond turn 2 of attempt 1 \(asked for turn 3\)"),
        (call("exp", attempt=3), r"exp has no recorded reply in attempt 3"),
        (call("mm"), r"operator mm has no recorded dialog in .*--ops recorded"),
    ],
)
async def test_beyond_the_recording(folder: Path, asked: Call, words: str) -> None:
    client = RecordedClient(path=str(folder))
    with pytest.raises(DialogDiverged, match=words) as caught:
        await client.complete(FIRST, Sampling(), asked)
    assert isinstance(caught.value, ClientError)
    assert client.counts.unrecorded == 1
    assert await client.recover(asked) is None


async def test_differing_prompts_are_answered_counted_and_logged_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = RecordedClient(path=str(folder))
    other = [Message(role="user", content="Reworded.")]
    with caplog.at_level(logging.INFO, "bringup.clients"):
        reply = await client.complete(other, Sampling(), call("exp"))
        await client.complete([*other, *SECOND[1:]], Sampling(), call("exp", turn=2))
    assert (reply.text, reply.finish_reason) == ("exp one", "stop")
    assert (client.counts.exact, client.counts.history_differs, client.counts.prompt_differs) == (0, 1, 1)
    assert [r.getMessage() for r in caplog.records] == [
        "recorded: r.exp.a1.t01.generate: the prompt differs from the recorded one; answering as recorded"
    ]
    strict = RecordedClient(path=str(folder), strict=True)
    with pytest.raises(DialogDiverged, match="the prompt differs"):
        await strict.complete(other, Sampling(), call("exp"))
    with pytest.raises(DialogDiverged, match="the dialog before the prompt differs"):
        await strict.complete([*other, *SECOND[1:]], Sampling(), call("exp", turn=2))


async def test_delay(folder: Path) -> None:
    client = RecordedClient(path=str(folder), delay_seconds=0.05)
    started = time.monotonic()
    reply = await client.complete(FIRST, Sampling(), call("exp"))
    assert time.monotonic() - started >= 0.05
    assert reply.seconds >= 0.05


def test_broken_sets_name_file_and_line(folder: Path, tmp_path: Path) -> None:
    path = folder / "exp.jsonl"
    good = path.read_text()
    for bad, words in [
        (good + "{not json\n", r"exp\.jsonl: line 4: not a recorded call"),
        (good + '{"operator": "exp", "attempt": 0, "turn": 1, "text": ""}\n', r"line 4: .*field attempt"),
        (good + good.split("\n")[0] + "\n", r"line 4: a second reply for attempt 1, turn 1"),
        (good.replace('"exp"', '"mm"'), r"line 1: belongs to operator 'mm', not 'exp'"),
    ]:
        path.write_text(bad)
        with pytest.raises(FormatError, match=words):
            RecordingSet(folder).dialog("exp")
    (folder / "MANIFEST.json").write_text('{"format": 99}')
    with pytest.raises(FormatError, match="format 99 is newer"):
        RecordingSet(folder)
    (folder / "MANIFEST.json").write_text("{}")
    with pytest.raises(FormatError, match="field target"):
        RecordingSet(folder)
    for name, data in [("x.zip", b"PK broken"), ("x.tar.gz", b"\x1f\x8b broken")]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FormatError, match=f"{name}: recordings cannot be read"):
            RecordingSet(tmp_path / name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="holds no recordings"):
        RecordingSet(tmp_path / "empty")


def test_no_such_set() -> None:
    with pytest.raises(ConfigError, match="no recordings at 'nowhere'; shipped sets: "):
        find_set("nowhere")
    with pytest.raises(ConfigError, match="no recorded dialogs ship for target 'no-chip'"):
        make_client(ClientConfig(name="recorded"), target="no-chip")


def test_a_further_set_of_a_target_is_chosen_by_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = {name: Path(name) for name in ("vpe-pe64", "vpe-pe64-port")}
    monkeypatch.setattr("bringup.clients.recording.shipped_sets", lambda: sets)
    assert find_set(target="vpe") == find_set(target="vpe:pe64") == Path("vpe-pe64")
    assert find_set("vpe-pe64-port", "vpe:pe64") == Path("vpe-pe64-port")


def test_kernels_that_sessions_began_from_are_kept(tmp_path: Path) -> None:
    first = Recording.of(call("exp"), FIRST, Reply(text="one", usage=Usage()), "refine", "def wrapper(): pass")
    rest = Recording.of(call("exp", turn=2), SECOND, Reply(text="two", usage=Usage()), "wrong")
    write_recordings(tmp_path, [first, rest, *records("t")], Manifest(target="vpe", date="2026-01-01"))
    assert recorded_starts(["exp", "t", "absent"], tmp_path) == {"exp": "def wrapper(): pass"}


@pytest.mark.parametrize("name", shipped_sets())
def test_shipped_sets_can_be_read(name: str) -> None:
    opened = RecordingSet(find_set(name))
    assert opened.manifest is not None
    target = opened.manifest.target.replace(":", "-")
    assert name == target or (name.startswith(f"{target}-") and find_set(target=opened.manifest.target).name == target)
    for operator in opened.operators():
        dialog = opened.dialog(operator)
        assert (1, 1, "generate") in dialog
        assert all(record.text.strip() for record in dialog.values())


@pytest.mark.parametrize("wish", ["chosen", "recorded"])
def test_a_list_with_the_operator_all_is_not_every_operator(wish: str) -> None:
    from bringup.config import RunConfig
    from bringup.runs.plan import patterns
    from bringup.suites import get_suite, select

    config = RunConfig(target="vpe:pe64", ops=(wish,), client={"name": "recorded"})
    names = (chosen_operators if wish == "chosen" else recorded_operators)("vpe-pe64")
    assert "all" in names or wish == "chosen"
    assert sorted(op.name for op in select(get_suite("opinfo"), list(patterns(config)))) == sorted(names)
