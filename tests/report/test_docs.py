"""The documentation: generated pages say what the code does, and the site needs nothing from elsewhere."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reference():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import docs_reference
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return docs_reference


def test_generated_pages_are_current(reference):
    stale = [n for n, text in reference.pages().items() if (ROOT / "docs" / n).read_text(encoding="utf-8") != text]
    assert not stale, f"run `{reference.AGAIN}`"


@pytest.fixture(scope="module")
def kernels():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import docs_kernels
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return docs_kernels


def test_pages_on_the_library_are_current(kernels):
    stale = [str(path) for path, text in kernels.pages().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"run `{kernels.AGAIN}`"


def test_the_index_of_the_library_has_every_kernel_with_its_cost(kernels):
    from bringup.library import Library

    library = Library.open(kernels.LIBRARY)
    rows = re.findall(r"^\| `([\w.]+)`.* \| covered \| (\d+) \|", kernels.kernels_page(), re.MULTILINE)
    assert [name for name, _ in rows] == [entry.overload for entry in library.entries]
    assert all(int(cases) > 0 for _, cases in rows)
    cost = kernels.costs(library.overloads())
    free = {name for name, one in cost.items() if not (one.calls and one.tokens)}
    assert not free, "kernels without a recorded dialog"


def test_what_the_index_says_of_dialogs_is_what_they_come_to(kernels):
    from bringup.clients.recording import RecordingSet
    from bringup.library import Library

    library = Library.open(kernels.LIBRARY)
    said = dict(re.findall(r"^\| `([\w.]+)` \|.* \| ([^|]+) \| \d* \|$", kernels.kernels_page(), re.MULTILINE))
    said = {name: word.strip() for name, word in said.items()}
    assert set(said) == set(library.overloads())
    own, public = (RecordingSet(kernels.RECORDINGS / name) for name in ("vpe-pe64-aten", "vpe-pe64"))
    for entry in library.entries:
        word, source = said[entry.overload], library.source(entry).strip()
        if word == "as recorded":
            assert own.candidates([entry.overload])[entry.overload].source.strip() == source
        elif word.startswith("as `"):
            name = word.removeprefix("as `").removesuffix("`")
            assert public.candidates([name])[name].source.strip() == source
        else:
            pytest.fail(f"{entry.overload} is {word}: no recorded dialog comes to it; record its repair (recorded.md)")


def test_a_kernel_that_no_dialog_comes_to_is_told(kernels):
    class Repaired(kernels.Library):
        def source(self, entry):
            text = super().source(entry)
            return text + "\n# repaired\n" if entry.overload in ("addcdiv.out", "exp.out") else text

    library = kernels.Library.open(kernels.LIBRARY)
    origin = kernels.origins(Repaired(library.path, library.target, library.entries))
    assert [name for name, word in origin.items() if word == kernels.REPAIRED] == ["addcdiv.out", "exp.out"]


def test_every_overload_of_the_suite_has_a_kernel_or_a_reason(kernels):
    from bringup.library import Library
    from bringup.suites import get_suite

    listed = kernels.kernels_page().partition("## Overloads without a kernel of their own")[2]
    assert "nothing serves it" not in listed
    without = set(
        re.findall(r"`([\w.]+)`[,\s]", "\n".join(re.findall(r"\| \d+ \| (.*) \|$", listed, re.MULTILINE)) + "\n")
    )
    every = {operator.name for operator in get_suite("aten").operators()}
    assert without == every - set(Library.open(kernels.LIBRARY).overloads())


def test_every_command_and_option_is_in_the_reference(reference):
    page = reference.cli_page()
    root = reference.typer.main.get_command(reference.build_app())
    commands = list(reference.walk(root, "bringup"))
    assert "bringup ops show" in dict(commands)
    for name, command in commands:
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for param in command.params:
            if param.param_type_name == "option" and param.name != "help" and not param.hidden:
                assert all(re.search(rf"`{re.escape(option)}[ `]", section) for option in param.opts), (name, param)


def test_every_field_of_the_configuration_has_its_comment(reference):
    page = reference.configuration_page()
    for model, prefix in reference.SECTIONS:
        for field in model.model_fields:
            dotted = f"{prefix}.{field}" if prefix else field
            assert re.search(rf"^\| `{re.escape(dotted)}` \| .+ \| .+ \| \S.+ \|$", page, re.MULTILINE), dotted


def test_the_page_on_trust_describes_every_guard():
    from bringup.judge.guards import IDS

    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8").split("\n## The guards\n")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == IDS


def test_the_example_and_the_defaults_are_valid_configurations(reference, tmp_path):
    from bringup.config import RunConfig, load_config

    example, default = tmp_path / "example.yaml", tmp_path / "default.yaml"
    example.write_text(reference.EXAMPLE)
    default.write_text(reference.defaults())
    assert load_config(example).attempts.calls == 15
    assert load_config(default) == RunConfig()


def test_a_state_without_a_place_in_the_drawing_is_an_error(reference, monkeypatch):
    from bringup.session.table import State

    places = {s: p for s, p in reference.docs_drawings.PLACES.items() if s is not State.DEBUG}
    monkeypatch.setattr(reference.docs_drawings, "PLACES", places)
    with pytest.raises((KeyError, ValueError), match="debug"):
        reference.docs_drawings.state_machine()


def test_the_drawing_of_the_state_machine_names_every_condition(reference):
    from bringup.session.table import TABLE, State

    drawn = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", reference.docs_drawings.state_machine()))
    for row in TABLE:
        if row.to is not State.BEFORE:
            assert all(part in drawn for part in row.on.value.split(", ", 1)), row


def test_no_label_of_the_state_machine_lies_over_a_box_or_another_label(reference):
    drawn = re.findall(
        r'<rect class="(\w+)" x="([-\d.]+)" y="([-\d.]+)" width="([-\d.]+)" height="([-\d.]+)"[^>]*/>\s*'
        r"<text[^>]*>([^<]*)",
        reference.docs_drawings.state_machine(),
    )
    shapes = [(style == "page", words, *map(float, place)) for style, *place, words in drawn]
    assert sum(label for label, *_ in shapes) > 20
    for first, second in itertools.combinations(shapes, 2):
        _, one, x1, y1, wide1, high1 = first
        _, other, x2, y2, wide2, high2 = second
        across = min(x1 + wide1, x2 + wide2) - max(x1, x2)
        down = min(y1 + high1, y2 + high2) - max(y1, y2)
        assert min(across, down) < 0.5, (one, other)


@pytest.mark.parametrize("line", ["", "*soon*", "*2026-11-21*"])
def test_a_decision_without_date_and_status_is_an_error(reference, tmp_path, line):
    (tmp_path / "0001-one.md").write_text(f"# 0001 One\n\n{line}\n\nWhy.\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"0001-one\.md: no line"):
        reference.decisions_page(tmp_path)


def test_the_site_builds_strictly_and_fetches_nothing(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        html = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe|source|link)\b[^>]*?(?:src|href)=[\"'](https?:[^\"']*)", html)
        assert not fetched, page
        assert 'class="mermaid"' not in html  # its script would come from elsewhere
    assert "drawings/state-machine.svg" in (tmp_path / "site" / "state-machine.html").read_text(encoding="utf-8")
