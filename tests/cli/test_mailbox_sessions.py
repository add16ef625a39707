"""`bringup mailbox list` says how the sessions stand that prompts belong to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bringup.cli.mailbox import _choose, _session
from bringup.cli.main import build_app
from bringup.clients import Message
from bringup.clients.mailbox import Mailbox


@pytest.mark.parametrize(
    ("key", "state"),
    [
        ("20261122-draw.norm.a1.t01.generate", "covered"),
        ("20261122-draw.nn.functional.norm.a2.t11.summarise", "open"),
        ("20261122-draw.add.out.a1.t01.generate", "exhausted"),
        ("20261122-draw.add.a1.t01.generate", ""),
        ("another", ""),
    ],
)
def test_a_prompt_belongs_to_the_session_that_its_key_names(key: str, state: str) -> None:
    sessions = {"norm": "covered", "nn.functional.norm": "open", "add.out": "exhausted"}
    assert _session(key, sessions) == state


def test_an_answer_is_told_as_json(tmp_path: Path) -> None:
    box = Mailbox(tmp_path / "box")
    box.create("run")
    box.post("run.add.a1.t01.generate", [Message(role="user", content="a prompt")])
    reply = tmp_path / "reply.md"
    reply.write_text("a reply", encoding="utf-8")
    arguments = ["mailbox", "answer", "run.add.a1.t01.generate", str(reply), "--dir", str(tmp_path / "box"), "--json"]
    done = CliRunner().invoke(build_app(), arguments)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["key"], told["bytes"]) == ("run.add.a1.t01.generate", 7)
    assert "a reply" in Path(told["file"]).read_text(encoding="utf-8")


def test_a_key_names_its_run(tmp_path: Path) -> None:
    for name in ("20261122-first", "20261122-second"):
        (tmp_path / name / "mailbox").mkdir(parents=True)
        (tmp_path / name / "mailbox" / "MAILBOX.json").write_text("{}", encoding="utf-8")
    os.utime(tmp_path / "20261122-second" / "mailbox" / "MAILBOX.json", (2e9, 2e9))
    assert _choose(None, None, tmp_path).parent.name == "20261122-second"  # the newest
    chosen = _choose(None, None, tmp_path, "20261122-first.add.a1.t01.generate")
    assert chosen.parent.name == "20261122-first"
    assert _choose(None, None, tmp_path, "add.a1.t01.generate").parent.name == "20261122-second"
    assert _choose("20261122-second", None, tmp_path, "20261122-first.add.a1").parent.name == "20261122-second"
