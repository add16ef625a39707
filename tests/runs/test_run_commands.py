"""The commands on runs, as a user types them: output, exit codes, faults in one line."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from engine_doubles import reply
from run_doubles import Assembly, start

from bringup.cli.main import main
from bringup.errors import ClientError
from bringup.store import resume_run


@pytest.fixture
def bringup(monkeypatch, capsys, tmp_path):
    """Call the command line in this process; returns (exit code, stdout, stderr)."""
    monkeypatch.setenv("BRINGUP_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["bringup", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call


def script(messages, sampling, call):
    """op000 needs repairs in two attempts, op001 is never right, op002 has no client, the rest is right at once."""
    if call.operator == "op000":
        kinds = {1: ["format", "lint"], 2: ["crashed", "passed"]}[call.attempt]
        return reply(kinds[call.turn - 1], f"{call.attempt}.{call.turn}")
    if call.operator == "op002":
        return ClientError("the line is cut")
    return reply("wrong" if call.operator == "op001" else "passed", call.turn)


@pytest.fixture
def made(tmp_path):
    """A run with one operator of each outcome."""
    sections = {"attempts": {"attempts": 2, "calls": 2}, "client": {"name": "scripted", "system_prompt": "Be brief."}}
    return asyncio.run(start(tmp_path / "runs", Assembly(script), 7, **sections))


def test_runs_lists_them(bringup, made):
    code, out, _ = bringup("runs")
    assert code == 0
    assert made.run in out
    assert "resumable" in out
    code, out, _ = bringup("runs", "--json")
    [row] = json.loads(out)
    assert (row["covered"], row["applicable"], row["asked"], row["calls"]) == (4, 6, 7, 11)


def test_names_and_notes(bringup, tmp_path):
    (tmp_path / "script.yaml").write_text(json.dumps({"*": "```python\ndef wrapper(x):\n    return eval(x)\n```"}))
    start_one = ("run", "--suite", "made-up", "--ops", "op000", "--client", "scripted", "--client-path", "script.yaml")
    code, _, _ = bringup(*start_one, "--attempts", "1", "--calls", "1", "--name", "first-try", "--note", "a baseline")
    assert code == 1
    _, out, _ = bringup("runs", "--json")
    [row] = json.loads(out)
    assert row["run"].endswith("-first-try")
    assert row["note"] == "a baseline"
    assert bringup("runs", "note", "first-try", "better  than\nnothing")[0] == 0
    for command in (("runs",), ("status", "first-try"), ("report", "first-try")):
        assert "better than nothing" in bringup(*command)[1]
    code, out, _ = bringup("runs", "note", "first-try", "another", "--json")
    assert json.loads(out) == {"run": row["run"], "note": "another"}
    code, out, err = bringup("runs", "note", "no-such-run", "x", "--json")
    assert (code, out) == (2, "")  # an error is one line of text, with --json too
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    code, out, _ = bringup("record", "first-try", "kept", "--uncovered", "--json")
    assert json.loads(out) == {"directory": "kept", "operators": ["op000"], "replaced": []}
    assert "in place of what was there: op000" in bringup("record", "first-try", "kept", "--uncovered")[1]
    code, _, err = bringup(*start_one, "--name", "a/b")
    assert code == 2
    assert "is no name for a run" in err
    assert "keeps its name" in bringup("run", "--resume", "first-try", "--name", "x")[2]


def test_prune_removes_what_is_named_or_old_and_only_when_told(bringup, made, tmp_path):
    root = tmp_path / "runs"
    asyncio.run(start(root, Assembly(lambda *_: reply("passed")), 1))
    assert len(list(root.iterdir())) == 2
    assert "nothing says which runs" in bringup("runs", "prune")[2]
    code, out, _ = bringup("runs", "prune", made.run)
    assert code == 0
    assert made.run in out
    assert "add --yes" in out
    assert len(list(root.iterdir())) == 2
    assert "nothing to remove" in bringup("runs", "prune", "--older-than", "1", "--yes")[1]
    holder = resume_run(made.folder)
    try:
        assert "is working on it" in bringup("runs", "prune", made.run, "--yes")[1]
    finally:
        holder.close()
    _, out, _ = bringup("runs", "prune", "--keep", "1", "--yes", "--json")
    [gone] = json.loads(out)  # the older one; both are of this second
    assert gone["removed"]
    assert [folder.name for folder in root.iterdir()] != [gone["run"]]
    assert len(list(root.iterdir())) == 1


def test_runs_without_any(bringup):
    code, out, _ = bringup("runs")
    assert code == 0
    assert "start one with `bringup run`" in out


def test_status_shows_every_operator_and_both_denominators(bringup, made):
    code, out, _ = bringup("status", "latest")
    assert code == 0
    assert "covered 4 of 6 operators applicable on the target, of 7 eligible ones asked for" in out
    for words in (("op000", "covered", "4", "2"), ("op001", "exhausted", "wrong"), ("op002", "stopped", "line is cut")):
        [line] = [x for x in out.splitlines() if x.startswith(words[0])]
        assert all(word in line for word in words)
    assert "complex results" in out
    _, out, _ = bringup("status", made.run[:15], "--failing")
    assert "op003" not in out
    assert "op001" in out
    _, out, _ = bringup("status", made.run, "--json")
    data = json.loads(out)
    assert data["states"] == {"covered": 4, "exhausted": 1, "stopped": 1, "not_applicable": 1}
    assert [t["result"] for t in data["operators"][0]["turns"]] == ["format", "lint", "crashed", "passed"]


def test_show_tells_the_whole_dialog(bringup, made):
    code, out, _ = bringup("show", "latest", "op000")
    assert code == 0
    for text in (
        "op000: covered (4 calls, 2 attempts",
        "Be brief.",
        "[first] op000",
        "I would rather talk about 1.1.",
        "no module: The reply has no fenced Python block",
        "lint, line 2: [R1] tl.magic does not exist",
        "crashed: crashed on op000",
        "PE 3 read beyond the tensor",
        "passed: passed on op000",
    ):
        assert text in out
    assert out.index("attempt 1, call 2") < out.index("attempt 2, call 1")


def test_show_one_turn_raw_and_the_candidate(bringup, made):
    _, out, _ = bringup("show", "latest", "op000", "--turn", "2.1", "--raw")
    assert out.startswith("=== attempt 2, call 1: system ===\nBe brief.\n=== attempt 2, call 1: prompt (first) ===\n")
    assert reply("crashed", "2.1") in out
    assert "passed" not in out
    _, out, _ = bringup("show", "latest", "op000", "--candidate")
    assert out == "def wrapper(x):\n    return 'passed', '2.2'\n"
    _, out, _ = bringup("show", "latest", "op000", "--candidate", "--turn", "2.1")
    assert "'crashed'" in out
    _, out, _ = bringup("show", "latest", "op000", "--json")
    call = json.loads(out)["calls"][3]
    assert [m["role"] for m in call["messages"]] == ["system", "user", "assistant", "user"]
    assert call["verdict"]["kind"] == "passed"


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "latest", "op00"], 2, "unknown operator 'op00' in run"),
        (["show", "latest", "op000", "--turn", "9"], 2, "has no call 1.9; it has 1.1, 1.2, 2.1, 2.2"),
        (["show", "latest", "op000", "--turn", "x"], 2, "give a number, or ATTEMPT.TURN"),
        (["show", "latest", "op006", "--candidate"], 2, "has no candidate"),
        (["status", "1999"], 2, "unknown run '1999'"),
        (["run", "--resume", "latest", "--target", "cuda"], 2, "target: a run keeps what it began with"),
        (["run", "--resume", "latest", "--ops", "nope"], 2, "unknown operator 'nope' in run"),
        (["run", "--client", "openai:a,", "--suite", "made-up"], 2, "is not NAME or NAME:MODEL"),
        (["run", "--client", "openai:a,b:c", "--model", "d"], 2, "write NAME:MODEL for each"),
        (["run", "--suite", "made-up", "--target", "vpe:none.yaml", "--client", "scripted"], 2, "cannot be read"),
        (["run", "--suite", "made-up", "--target", "vpe:bad.yaml", "--client", "scripted"], 2, "not valid YAML"),
        (["run", "--resume", "latest", "--retry-failed", "latest"], 2, "exclude each other"),
        (["run", "--suite", "made-up", "--ops", "expp", "--client", "scripted"], 2, "unknown operator 'expp'"),
        (["run", "--suite", "made-up", "--set", "nonsense"], 2, "is not FIELD=VALUE"),
        (["run", "--suite", "made-up", "--set", "states.lint=perhaps"], 2, "field states.lint"),
        (["run", "--suite", "made-up", "--dtype", "float8", "--client", "scripted"], 2, "not a dtype of the suite"),
        (["run", "--suite", "nowhere", "--client", "scripted"], 2, "unknown suite 'nowhere'"),
        (["run", "missing.yaml"], 2, "missing.yaml: cannot be read: No such file"),
        (["run", "--suite", "made-up", "--client", "nobody"], 2, "unknown client 'nobody'"),
        (["run", "--suite", "made-up", "--client", "scripted", "--target", "abacus"], 2, "unknown target 'abacus'"),
        (["run", "--target", "interpreter"], 2, "target 'interpreter' is gone; use `vpe:permissive`"),
        (["run", "--suite", "made-up", "--client", "openai", "--model", "m"], 3, "no API key"),
        (["run", "--suite", "made-up", "--client", "scripted", "--runs-dir", "file/x"], 3, "give a writable folder"),
    ],
)
def test_bad_input_is_one_line_and_an_exit_code(bringup, made, tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "file").write_text("")
    (tmp_path / "bad.yaml").write_text("name: [\n")
    before = sorted(p.name for p in (tmp_path / "runs").iterdir())
    found, _, err = bringup(*arguments)
    assert found == code
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in err
    assert sorted(p.name for p in (tmp_path / "runs").iterdir()) == before, "a run that never began was left behind"


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("target: vpe:pe64\nclient:\n  name: [\n", "run.yaml: line 4, column 1: not valid YAML"),
        ("target: vpe:pe64\nattempts:\n  calls: many\n", "run.yaml: line 3: field attempts.calls: "),
        (
            "target: vpe:pe64\nattemps:\n  calls: 3\n",
            "line 2: field attemps: no such field; did you mean attempts",
        ),
        (
            "target: vpe:pe64\nclient:\n  modle: x\n",
            "line 3: field client.modle: no such field; did you mean model",
        ),
        ("then:\n- modle: x\n", "field then.0.modle: no such field; did you mean model"),
        (
            "prices:\n  big:\n    inputs: 3\n    output: 4\n",
            "field prices.big.inputs: no such field; did you mean input",
        ),
        ("- target\n", "run.yaml: line 1: must be a mapping"),
    ],
)
def test_a_bad_configuration_is_told_with_line_and_field(bringup, tmp_path, yaml, message):
    (tmp_path / "run.yaml").write_text(yaml)
    code, _, err = bringup("run", "run.yaml")
    assert code == 2
    assert message in err


def test_retry_failed_is_a_new_run_with_what_was_not_covered(bringup, made, tmp_path):
    # a reply with eval ends at the linter, so that no judge is started
    (tmp_path / "script.yaml").write_text(json.dumps({"*": "```python\ndef wrapper(x):\n    return eval(x)\n```"}))
    retry = ("run", "--retry-failed", "latest", "--client-path", "script.yaml")
    code, out, _ = bringup(*retry, "--attempts", "1", "--calls", "2")
    assert code == 1
    assert out.startswith("2 operators of made-up on vpe:pe64, client scripted\n")
    assert "covered 0 of 2 operators asked for, all applicable on the target" in out
    assert "not covered, by last verdict: 2 lint" in out
    _, out, _ = bringup("status", "latest", "--json")
    data = json.loads(out)
    assert data["parent"] == made.run
    assert [o["operator"] for o in data["operators"]] == ["op001", "op002"]
    assert (tmp_path / "runs" / data["run"] / "report.html").is_file()
    code, out, err = bringup(*retry, "--ops", "op001", "--calls", "1", "--attempts", "1", "--json")
    assert list(json.loads(out)["operators"]) == ["op001"]
    assert "1 operator of made-up" in err


async def test_nothing_to_retry(bringup, tmp_path):
    await start(tmp_path / "runs", Assembly(lambda *_: reply("passed")), 3)
    code, _, err = await asyncio.to_thread(bringup, "run", "--retry-failed", "latest")
    assert code == 2
    assert "every applicable operator is covered" in err


def test_without_a_model_recorded_dialogs_are_replayed_and_it_says_so(bringup):
    code, out, _ = bringup("run", "--suite", "made-up", "--ops", "nope")
    assert code == 2
    assert out.startswith("No model is configured: replaying recorded dialogs (client `recorded`).")


def test_a_model_without_a_client_means_an_openai_compatible_endpoint(bringup, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, out, err = bringup("run", "--suite", "made-up", "--model", "m")
    assert code == 3
    assert "client openai" in out
    assert "No model" not in out
    assert "OPENAI_API_KEY" in err


def test_resuming_a_run_that_another_process_works_on(bringup, made):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom bringup.store import resume_run\n"
        "log = resume_run(Path(sys.argv[1]))\nprint('held', flush=True)\ntime.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(made.folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        found, _, err = bringup("run", "--resume", "latest")
        assert found == 3
        assert f"process {holder.pid} on" in err
        _, out, _ = bringup("runs")
        assert "running" in out
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_help_and_listing_are_fast_and_import_neither_torch_nor_triton(tmp_path):
    code = (
        "import sys\nsys.argv = ['bringup', 'runs']\nfrom bringup.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\nassert not {'torch', 'triton'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "BRINGUP_RUNS": str(Path(tmp_path))},
    )
    assert done.returncode == 0, done.stderr
