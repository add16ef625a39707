from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from library_kernels import ADD, KERNELS, MUL, RELU
from library_testkit import bundle, make_library
from typer.testing import CliRunner

from bringup.candidate import Candidate
from bringup.cli.main import build_app
from bringup.errors import BringupError
from bringup.judge.evidence import write_evidence
from bringup.library import Library, LibraryError, When, parse_when, schemas
from bringup.library.adding import add_judged, add_unjudged, check_overload


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        if isinstance(result.exception, BringupError):
            return result.exception.exit_code, str(result.exception)
        raise result.exception
    return result.exit_code, result.output


def test_what_is_added_is_found_again(folder: Path) -> None:
    library = Library.open(folder)
    assert library.overloads() == sorted(KERNELS)
    entry = library.find("add.out")
    assert entry is not None
    assert library.source(entry) == ADD.strip("\n") + "\n"
    assert library.text(entry).startswith("# Generated: the kernel of aten::add.out for vpe:permissive")
    assert (entry.judged[0].cases, entry.judged[0].dtypes) == (7, ("float32",))
    assert json.loads(library.evidence(entry, entry.judged[0]))["operator"] == "add.out"
    assert library.problems() == {}


def test_an_edited_kernel_is_refused(folder: Path) -> None:
    library = Library.open(folder)
    path = folder / "add.out" / "kernel.py"
    path.write_text(path.read_text().replace("BLOCK=64", "BLOCK=32"))
    entry = library.find("add.out")
    assert entry is not None
    with pytest.raises(LibraryError, match=r"add\.out/kernel\.py: was edited or damaged.*library add .* --replace"):
        library.source(entry)
    assert list(library.problems()) == ["add.out"]
    code, said = run("library", "verify", "-l", folder)
    assert code == 1
    assert "was edited or damaged" in said
    assert f"{len(KERNELS) - 1} of {len(KERNELS)} kernels are what the index says" in said


def test_missing_files_and_strangers_are_told(folder: Path) -> None:
    (folder / "mm.out" / "evidence.json").unlink()
    (folder / "relu" / "kernel.py").unlink()
    (folder / "stranger").mkdir()
    problems = Library.open(folder).problems()
    assert set(problems) == {"mm.out", "relu", "stranger"}
    assert "restore it" in problems["relu"]
    assert "never loaded" in problems["stranger"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("add.Tensr", "no ATen overload of torch .*; add has add.Scalar, .*add.Tensor, add.out"),
        ("gelu_backwards", "no ATen operator of torch .*; did you mean gelu_backward"),
        ("frobnicate.out", "no ATen operator"),
    ],
)
def test_a_name_that_pytorch_does_not_have(name: str, said: str) -> None:
    for ask in (schemas.operator, check_overload):
        with pytest.raises(LibraryError, match=said):
            ask(name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(format=99), "format 99 is newer"),
        (lambda d: d.pop("format"), "not the index of a kernel library"),
        (lambda d: d.pop("kernels"), "the index is damaged"),
        (lambda d: d["kernels"][0].update(colour="red"), "unknown field colour"),
        (lambda d: d["kernels"].append(d["kernels"][0]), "is listed twice"),
        (lambda d: d["kernels"][0].update(folder="../elsewhere"), "is not inside the library"),
        (lambda d: d["kernels"][0].update(calls=["mm.out"]) or d["kernels"][1].update(calls=[]), None),
        (lambda d: [k.update(calls=[c]) for k, c in zip(d["kernels"], ("add.out", "x"), strict=False)], None),
    ],
)
def test_damaged_indexes(folder: Path, change: Any, said: str | None) -> None:
    path = folder / "library.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    if said is None:
        Library.open(folder)
    else:
        with pytest.raises(LibraryError, match=said):
            Library.open(folder)


def test_no_library_there(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"no kernel library.*bringup library add"):
        Library.open(tmp_path)
    (tmp_path / "library.json").write_text("{")
    with pytest.raises(LibraryError, match="cannot be read"):
        Library.open(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(LibraryError, match="not empty and no kernel library"):
        Library.create(tmp_path / "other", "vpe:pe64")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "wrong"}, "its verdict is 'wrong'"),
        ({"suite": "opinfo", "operator": "relu"}, "a public function's"),
        ({"cases": (1, 2)}, "a part of the gate"),
        ({"dtypes": ("float32",)}, "a part of the gate"),
        ({"cases_total": 0}, "no case was judged"),
        ({"operator": "relu.nothing"}, "no ATen overload"),
        ({"operator": "frobnicate"}, "no ATen operator"),
        ({"operator": "add"}, "add has .*add.out"),
    ],
)
def test_what_may_not_become_a_kernel(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    library = Library.create(tmp_path / "kernels", "vpe:permissive")
    with pytest.raises(LibraryError, match=said):
        add_judged(library, bundle("relu", RELU).model_copy(
            update={"evidence": bundle("relu", RELU).evidence.model_copy(update=changes)}
        ), origin="a test")  # fmt: skip
    assert library.entries == []


def test_replacing_needs_to_be_said(folder: Path) -> None:
    library = Library.open(folder)
    with pytest.raises(LibraryError, match=r"has add\.out already; --replace"):
        add_judged(library, bundle("add.out", MUL), origin="a test")
    add_judged(library, bundle("add.out", MUL), origin="a test", replaces=True)
    entry = Library.open(folder).find("add.out")
    assert entry is not None
    assert "va.to(tl.float32) * vb" in library.source(entry)


def test_a_kernel_judged_elsewhere_too_keeps_both_judgements(folder: Path) -> None:
    library = Library.open(folder)
    add_judged(library, bundle("relu", RELU, "vpe:pe64"), origin="a test")
    add_judged(library, bundle("relu", RELU, "vpe:pe64", cases_total=9), origin="a test")
    entry = Library.open(folder).find("relu")
    assert entry is not None
    assert [(j.target, j.cases) for j in entry.judged] == [("vpe:permissive", 7), ("vpe:pe64", 9)]
    assert library.problems() == {}


def test_overrides_and_variants_stand_beside_the_base(folder: Path) -> None:
    library = Library.open(folder)
    add_judged(library, bundle("relu", RELU + "\n# other\n", "vpe:pe64"), origin="t", profile="vpe:pe64")
    when = parse_when("dtype=float32|bfloat16,rank=2,elements>=64,elements<=4096,contiguous")
    add_judged(library, bundle("relu", RELU + "\n# fast\n"), origin="t", variant="fast", when=when)
    reread = Library.open(folder)
    assert [e.folder for e in reread.of("relu")] == ["relu", "relu@vpe-pe64", "relu+fast"] or {
        e.folder for e in reread.of("relu")
    } == {"relu", "relu@vpe-pe64", "relu+fast"}
    fast = reread.find("relu", variant="fast")
    assert fast is not None
    assert fast.when == when == When(("float32", "bfloat16"), (2,), 64, 4096, True)
    assert when.admits("float32", 2, 64, True)
    assert not when.admits("float16", 2, 64, True)
    assert not when.admits("float32", 3, 64, True)
    assert not when.admits("float32", 2, 63, True)
    assert not when.admits("float32", 2, 4097, True)
    assert not when.admits("float32", 2, 64, False)
    with pytest.raises(LibraryError, match="must have been judged there"):
        add_judged(library, bundle("relu", RELU + "\n# more\n"), origin="t", profile="vpe:pe64")
    for text in ("", "dtype", "rank=two", "elements>5"):
        with pytest.raises(LibraryError):
            parse_when(text)


def test_kernels_that_call_one_another_in_a_circle_are_refused(folder: Path) -> None:
    library = Library.open(folder)
    calling = "def wrapper(self, *, out):\n    return out\n"
    add_unjudged(library, "exp.out", calling, origin="t", calls=["log.out"])
    add_unjudged(library, "log.out", calling, origin="t", calls=["sin.out", "mul.out"])
    before = (folder / "library.json").read_text()
    with pytest.raises(LibraryError, match=r"in a circle: .*exp\.out.*log\.out.*sin\.out"):
        add_unjudged(library, "sin.out", calling, origin="t", calls=["exp.out"])
    assert (folder / "library.json").read_text() == before
    with pytest.raises(LibraryError, match="no top-level function named wrapper"):
        add_unjudged(library, "cos.out", "x = 1", origin="t")


def test_libraries_are_compared(folder: Path, tmp_path: Path) -> None:
    other = make_library(tmp_path / "other", {k: v for k, v in KERNELS.items() if k != "mm.out"})
    add_judged(other, bundle("add.out", MUL), origin="t", replaces=True)
    add_judged(other, bundle("relu", RELU, "vpe:pe64"), origin="t")
    code, said = run("library", "diff", folder, tmp_path / "other", "--json")
    assert code == 1
    found = {row["folder"]: row["kind"] for row in json.loads(said)}
    assert found == {"mm.out": "removed", "add.out": "source", "relu": "conditions"}
    code, said = run("library", "diff", folder, tmp_path / "other", "--texts")
    assert "* vb.to(tl.float32)" in said
    assert run("library", "diff", folder, folder)[0] == 0


def test_commands_add_list_show_remove(tmp_path: Path) -> None:
    made = bundle("relu", RELU)
    write_evidence(tmp_path / "relu.json", made.evidence, Candidate(source=made.source))
    place = tmp_path / "lib"
    assert run("library", "add", tmp_path / "relu.json", "-l", place) == (0, f"1 kernel added to {place}\n")
    code, said = run("library", "list", "-l", place, "--json")
    assert code == 0
    assert [k["overload"] for k in json.loads(said)["kernels"]] == ["relu"]
    code, said = run("library", "show", "relu", "-l", place)
    assert "passed 7 cases of aten:relu on vpe:permissive" in said
    assert "def wrapper(self)" in said
    code, said = run("library", "show", "relo", "-l", place)
    assert code == 2
    assert "did you mean relu" in said
    (tmp_path / "add.py").write_text(ADD)
    code, said = run("library", "add", tmp_path / "add.py", "-l", place, "--unjudged")
    assert code == 2
    assert "--op" in said
    assert run("library", "add", tmp_path / "add.py", "-l", place, "--unjudged", "--op", "add.out")[0] == 0
    assert run("library", "remove", "relu", "-l", place) == (0, f"1 kernels are left in {place}\n")
    assert Library.open(place).overloads() == ["add.out"]
    assert not (place / "relu").exists()
    code, said = run("library", "export", tmp_path / "exported", "-l", place, "--json")
    assert code == 0
    assert json.loads(said) == {"folder": str(tmp_path / "exported"), "exported": ["add.Tensor"]}
    code, said = run("library", "remove", "add.out", "-l", place, "--json")
    assert code == 0
    assert json.loads(said) == {"library": str(place), "removed": ["add.out"], "left": 0}


def test_what_did_not_pass_is_not_added(tmp_path: Path) -> None:
    made = bundle("relu", RELU, kind="wrong")
    write_evidence(tmp_path / "relu.json", made.evidence, Candidate(source=made.source))
    code, said = run("library", "add", tmp_path / "relu.json", "-l", tmp_path / "lib")
    assert code == 1
    assert "not added: relu: its verdict is 'wrong'" in said
    assert not (tmp_path / "lib").exists()


def test_recordings_of_public_functions_are_no_overloads(tmp_path: Path) -> None:
    code, said = run("library", "add", "vpe-pe64", "--ops", "relu", "--suite", "nothing", "-l", tmp_path / "lib")
    assert code == 2
    assert "relu" in said


@pytest.mark.long
def test_backendbench_there_and_back(folder: Path, tmp_path: Path) -> None:
    code, said = run("library", "export", tmp_path / "bb", "-l", folder)
    assert code == 0, said
    names = sorted(p.name for p in (tmp_path / "bb").iterdir())
    assert "add__Tensor" in names
    assert "relu__default" in names
    assert "sum__dim_IntList" in names
    file = tmp_path / "bb" / "add__Tensor" / "add__Tensor_implementation_v1.py"
    # What others do with it: import the file and call the function, on vpe's compiler with tensors of the CPU.
    program = (
        "import importlib.util, torch\nfrom bringup import vpe\nvpe.activate('permissive')\n"
        f"s = importlib.util.spec_from_file_location('m', {str(file)!r})\n"
        "m = importlib.util.module_from_spec(s); s.loader.exec_module(m)\n"
        "a, b = torch.randn(3, 4), torch.randn(4)\n"
        "assert torch.equal(m.add__Tensor_kernel_impl(a, b, alpha=2), torch.add(a, b, alpha=2))\nprint('same')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "same\n", done.stderr
    code, said = run("library", "import", tmp_path / "bb", "-l", tmp_path / "back", "--ops", "add.Tensor")
    assert code == 0
    back = Library.open(tmp_path / "back")
    entry = back.find("add.Tensor")
    assert entry is not None
    source = back.source(entry)
    assert entry.judged == ()
    assert "\nimport torch" not in source
    assert "def wrapper(" in source
    code, said = run("library", "import", tmp_path / "nowhere", "-l", tmp_path / "back")
    assert code == 2
    assert "no such folder" in said


def test_reading_a_library_imports_neither_torch_nor_pydantic(folder: Path) -> None:
    program = (
        "import sys\nfrom bringup.library import Library\n"
        f"library = Library.open({str(folder)!r})\n[library.source(e) for e in library.entries]\n"
        "print(sorted({'torch', 'triton', 'pydantic'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_was_judged_before_an_interruption_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bringup.cli import _library

    async def judge(sources: Any, suite: str, target: str, jobs: int, shows: bool, take: Any) -> Any:
        take(1, bundle(sources[1][0], sources[1][1], cases_total=9, passed_by_dtype={"float32": 9}))
        take(0, bundle(sources[0][0], sources[0][1], kind="wrong", passed_by_dtype={"float32": 3}))
        raise KeyboardInterrupt

    monkeypatch.setattr(_library, "judge", judge)
    first, second, *others = Library.open(folder).entries
    code, _ = run("library", "verify", "-l", folder, "--judge", "--record", "--target", "vpe:permissive")
    assert code == 130
    found = Library.open(folder)
    assert found.problems() == {}
    cases = {entry.overload: entry.judged[0].cases for entry in found.entries}
    assert cases == {entry.overload: 9 if entry == second else 7 for entry in (first, second, *others)}


def test_a_kernel_that_another_target_takes_otherwise_becomes_its_override(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bringup import targets
    from bringup.cli import _library

    asked: list[str] = []

    async def judge(sources: Any, suite: str, target: str, jobs: int, shows: bool, take: Any) -> Any:
        asked[:] = [name for name, _ in sources]
        for place, (name, source) in enumerate(sources):
            take(place, bundle(name, source, target=target))

    first, *others = Library.open(folder).entries
    changed = Library.open(folder).source(first)
    monkeypatch.setattr(_library, "judge", judge)
    monkeypatch.setattr(targets, "ported", lambda text, _: text + "# ported\n" if text == changed else text)
    for _ in range(2):  # the second time the override is there, and judged in the place of its base
        code, said = run("library", "verify", "-l", folder, "--judge", "--record", "--target", "vpe:pe64")
        assert code == 0, said
        found = Library.open(folder)
        assert found.problems() == {}
        override = found.find(first.overload, "vpe:pe64")
        assert override is not None
        assert found.source(override) == changed + "# ported\n"
        base = found.find(first.overload)
        assert base is not None
        assert "vpe:pe64" not in [judged.target for judged in base.judged]
        assert asked.count(first.overload) == 1
        for entry in others:
            again = found.find(entry.overload)
            assert again is not None
            assert [judged.target for judged in again.judged][-1] == "vpe:pe64"


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"compile_for": ("cuda:sm_90",)}, "for cuda:sm_90, too"), ({"bounds": {"memory_mb": 512}}, "with memory_mb 512")],
)
def test_what_was_judged_otherwise_than_calls_are_made_is_not_added(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    """A guest can tell such a judge from use."""
    library = Library.create(tmp_path / "kernels", "vpe:permissive")
    with pytest.raises(LibraryError, match=words):
        add_judged(library, bundle("add.out", ADD, **changes), origin="a test")


@pytest.mark.slow
@pytest.mark.long
def test_files_are_judged_on_the_way_in_and_again(tmp_path: Path) -> None:
    kernels = Path(__file__).parents[1] / "suites" / "aten_kernels"
    place = tmp_path / "lib"
    code, said = run("library", "add", kernels / "mm.out.py", "--op", "mm.out", "--target", "vpe:pe64", "-l", place)
    assert code == 0, said
    wrong = tmp_path / "mul.out.py"
    wrong.write_text((kernels / "add.out.py").read_text())
    code, said = run("library", "add", wrong, "--op", "mul.out", "--target", "vpe:pe64", "-l", place, "--json")
    assert code == 1
    assert [row["operator"] for row in json.loads(said)["refused"]] == ["mul.out"]
    entry = Library.open(place).find("mm.out")
    assert entry is not None
    assert entry.judged[0].cases > 0
    assert set(entry.judged[0].dtypes) >= {"float32", "bfloat16", "float16", "int32", "int64"}
    code, said = run("library", "verify", "-l", place, "--judge", "--record", "--target", "vpe:permissive")
    assert code == 0, said
    assert "1 of 1 judged again passed" in said
    entry = Library.open(place).find("mm.out")
    assert entry is not None
    assert [judged.target for judged in entry.judged] == ["vpe:pe64", "vpe:permissive"]
    code, said = run("library", "add", wrong, "--op", "mul.out", "--target", "vpe:pe64", "-l", place, "--unjudged")
    assert code == 0, said
    code, said = run("library", "verify", "-l", place, "--judge", "--ops", "mul.out", "--target", "vpe:permissive")
    assert code == 1
    assert re.search(r"mul.out: wrong on vpe:permissive in mul\.out\[\w+:\d+\].* judge\.fresh_seed=\d+", said)
