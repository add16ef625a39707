"""The knowledge base: what ships is in order, what is asked for is found, what is wrong with a folder is said."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bringup.errors import ConfigError, FormatError, UnknownName
from bringup.knowledge import (
    CONCERNS,
    FrontMatter,
    Question,
    candidates,
    code_blocks,
    dump,
    features_of,
    index_lines,
    index_page,
    kinds_of,
    lint,
    load,
    parse,
    platform_of,
    read_folder,
    retrieve,
    scores,
    shipped,
)

FRONT = {
    "title": "Something about one thing",
    "platforms": ["any"],
    "concerns": ["memory"],
    "specificity": "general",
    "sources": ["a manual, section 1"],
    "evidence": "documented",
}


def text(body="Body.", **front):
    return dump(FrontMatter.model_validate({**FRONT, **front}), body)


def folder_of(root, files):
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return root


def indexed(root, files):
    folder_of(root, files)
    (root / "index.md").write_text(index_page(read_folder(root).files))
    return root


# What ships ---------------------------------------------------------------------------------------------------------


def test_the_shipped_base_is_in_order():
    assert [fault.line for fault in lint(shipped())] == []
    base = load()
    assert not base.faults
    assert len(base.files) >= 60
    assert {f.section for f in base.files} == {"constraints", "guidance", "hardware", "samples"}
    assert {f.path.split("/")[1] for f in base.files if f.section == "hardware"} == {"nvidia", "amd", "vpe"}


def test_hardware_files_name_the_platform_of_their_folder():
    for file in load().files:
        if file.section == "hardware":
            assert file.front.platforms == (file.path.split("/")[1],)


@pytest.mark.parametrize("target", ["vpe:pe64", "cuda:sm_90", "hip:gfx942"])
@pytest.mark.parametrize("bound", CONCERNS)
def test_every_bound_has_files_on_every_platform(target, bound):
    found = retrieve(load(), target, bound=bound, operator="mm", limit=4)
    assert len(found.chosen) >= 3
    assert all(bound in one.file.front.concerns for one in found.chosen)


def test_devices_of_vpe_are_profiles():
    from bringup.vpe.profile import profile_names

    named = {d for f in load().files if f.front.platforms == ("vpe",) for d in f.front.devices}
    assert named <= set(profile_names())


def test_figures_of_pe64_are_those_of_the_profile():
    from bringup.vpe.profile import load_profile

    profile = load_profile("pe64")
    body = load().get("hardware/vpe/pe64").body
    assert f"at {profile.cost.clock_ghz:g} GHz" in body
    assert f"{profile.cost.dma_bytes_per_cycle_pe:g} bytes a cycle" in body
    assert f"{profile.cost.dma_bytes_per_cycle_chip:g} bytes a cycle" in body
    assert f"{profile.cost.vector_lanes:g} lanes" in body
    assert f"{profile.cost.special_lanes:g} a cycle" in body
    assert f"{profile.cost.dot_macs_per_cycle['fp16']:g} multiply-adds" in body
    assert f"{profile.cost.program_cycles:g} cycles; {profile.cost.launch_us:g} us" in body
    streams = load().get("hardware/vpe/dma-streams").front.title
    assert f"At most {profile.limits.dma_streams:g} " in streams


def test_functions_named_as_features_exist():
    import triton.language as tl

    for file in load().files:
        for feature in file.front.features:
            if feature.startswith("tl."):
                assert hasattr(tl, feature.removeprefix("tl.")), (file.path, feature)


def test_importing_it_needs_neither_torch_nor_triton():
    code = "import sys, bringup.knowledge as k; k.load(); print('torch' in sys.modules or 'triton' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


# Retrieval ----------------------------------------------------------------------------------------------------------


def test_platform_prunes_first():
    found = candidates(load(), Question("vpe:pe64", operator="mm"))
    assert found
    assert all({"any", "vpe"} & set(one.file.front.platforms) for one in found)
    assert not any("ascend" in one.file.path for one in found), "another device of the platform"


def test_concern_prunes_second():
    found = candidates(load(), Question("cuda", concerns=("special",)))
    assert found
    assert all("special" in one.file.front.concerns for one in found)


def test_an_unknown_bound_prunes_nothing():
    anything = candidates(load(), Question("cuda"))
    assert candidates(load(), Question("cuda", concerns=("unknown",))) == anything


def test_the_specific_comes_before_the_general():
    source = "@triton.jit\ndef kernel_mm(a):\n    tl.dot(a, a)\n"
    found = retrieve(load(), "cuda", device="NVIDIA H100 80GB HBM3", bound="compute", operator="mm", source=source)
    assert found.chosen[0].file.path.startswith("hardware/nvidia/")
    assert "sm_90" in found.chosen[0].file.front.devices
    assert any("uses tl.dot" in why for why in found.chosen[0].why)


def test_the_same_question_has_the_same_answer():
    once = retrieve(load(), "vpe:pe64", bound="memory", operator="softmax", text="dma transactions")
    assert once == retrieve(load(), "vpe:pe64", bound="memory", operator="softmax", text="dma transactions")


def test_text_finds_what_front_matter_does_not():
    question = Question("vpe:pe64", concerns=("launch",), text="unaligned rows start DMA run padded")
    found = [one.file.path for one in candidates(load(), question)]
    assert "hardware/vpe/alignment.md" in found
    without = candidates(load(), Question("vpe:pe64", concerns=("launch",)))
    assert "hardware/vpe/alignment.md" not in [one.file.path for one in without]


@given(limit=st.integers(1, 8), tokens=st.integers(1, 4000))
def test_limit_and_budget_are_kept(limit, tokens):
    found = retrieve(load(), "cuda:sm_90", operator="mm", limit=limit, tokens=tokens)
    assert len(found.chosen) <= limit
    assert found.tokens <= tokens
    taken = {one.file.path for one in found.chosen}
    assert not taken & set(found.left_out)
    assert sum(one.file.section == "samples" for one in found.chosen) <= 1


def test_no_budget_gives_no_text():
    assert retrieve(load(), "cuda", bound="memory", tokens=1).text == ""


def test_unreviewed_files_say_so_and_rank_lower(tmp_path):
    result = {"operator": "mm", "target": "vpe:pe64", "before": "2 us", "after": "1 us"}
    run = {"evidence": "run", "results": [result], "operators": ["mm"], "specificity": "operator"}
    folder_of(tmp_path, {
        "a.md": text("From a run.", title="What helped once", **run),
        "b.md": text("Read by a person.", title="What helped and was read", reviewed="A. Reader, 2026-01-02", **run),
    })  # fmt: skip
    base = load([tmp_path], with_shipped=False)
    found = retrieve(base, "vpe:pe64", bound="memory", operator="mm", limit=2)
    assert [one.file.path for one in found.chosen] == ["b.md", "a.md"]
    assert "reviewed by nobody" in next(p for p in found.text.split("###") if "helped once" in p)
    assert "reviewed by nobody" not in next(p for p in found.text.split("###") if "was read" in p)
    without = retrieve(base, "vpe:pe64", bound="memory", operator="mm", limit=50, tokens=10**6, unreviewed=False)
    assert "a.md" not in [one.file.path for one in without.chosen]


@pytest.mark.parametrize(
    ("target", "device", "expected"),
    [
        ("vpe:pe64", "", ("vpe", "pe64")),
        ("vpe", "", ("vpe", "pe64")),
        ("vpe:/some/where/chip.yaml", "", ("vpe", "chip")),
        ("cuda", "", ("nvidia", "")),
        ("cuda", "NVIDIA H100 80GB HBM3", ("nvidia", "sm_90")),
        ("cuda", "NVIDIA A100-SXM4-40GB", ("nvidia", "sm_80")),
        ("cuda:1", "NVIDIA A100-SXM4-40GB", ("nvidia", "sm_80")),
        ("cuda:1", "", ("nvidia", "")),
        ("cuda:0", "sm_90", ("nvidia", "sm_90")),
        ("hip:gfx950", "", ("amd", "gfx950")),
        ("hip", "AMD Instinct MI300X", ("amd", "gfx942")),
        ("loom:a", "", ("loom", "a")),
    ],
)
def test_platforms_of_targets(target, device, expected):
    assert platform_of(target, device) == expected


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("nn.functional.softmax", "softmax"),
        ("mm", "matmul"),
        ("aten.addmm.default", "matmul"),
        ("nn.functional.layer_norm", "normalisation"),
        ("nn.functional.conv1d", "convolution"),
        ("nn.functional.scaled_dot_product_attention", "attention"),
        ("index_select", "gather"),
        ("cumsum", "scan"),
        ("exp", "elementwise"),
        ("sum", "reduction"),
    ],
)
def test_kinds_of_operators(operator, expected):
    assert expected in kinds_of(operator)


def test_features_of_a_source():
    source = (
        "def kernel_a(p, N: tl.constexpr):\n    for i in range(N):\n        x = triton.language.dot(p, p)\n"
        "        y = libdevice.tanh(x) + tl.extra.cuda.libdevice.exp(x)\n"
        "def wrapper(x):\n    for y in x:\n        while True:\n            pass\n"
    )
    assert features_of(source) == ("for", "libdevice.exp", "libdevice.tanh", "tl.constexpr", "tl.dot")
    assert features_of("def broken(:\n") == ()


def test_scores_know_rare_words_and_parts_of_names():
    base = load()
    ranked = sorted(zip(scores(base.files, "matrix_instr_nonkdim"), base.files, strict=True), key=lambda r: -r[0])
    assert ranked[0][1].path == "hardware/amd/matrix-instructions.md"
    assert set(scores(base.files, "the of and")) == {0.0}
    assert set(scores(base.files, "")) == {0.0}
    assert scores([], "x") == []


def test_the_index_for_models_has_a_line_for_each_file():
    base = load()
    lines = index_lines(base.files).splitlines()
    assert len(lines) == len(base.files)
    assert all(line.startswith(file.path) for line, file in zip(lines, base.files, strict=True))


def test_files_are_found_by_the_end_of_their_path():
    base = load()
    assert base.get("masks").path == "guidance/triton/masks.md"
    assert base.get("hardware/vpe/dot.md") == base.get("vpe/dot")
    with pytest.raises(UnknownName, match=r"guidance/triton/dot\.md"):
        base.get("dot")


# User folders -------------------------------------------------------------------------------------------------------


def test_folders_of_the_user_join_and_replace(tmp_path, monkeypatch):
    folder_of(tmp_path / "one", {"guidance/triton/masks.md": text(title="Masks, as we do them")})
    folder_of(
        tmp_path / "two", {"mine/x.md": text(title="About our own chip", platforms=["loom"], specificity="platform")}
    )
    monkeypatch.setenv("BRINGUP_KNOWLEDGE", str(tmp_path / "two"))
    base = load([tmp_path / "one"])
    assert len(base.files) == len(load(()).files)
    assert base.get("masks").front.title == "Masks, as we do them"
    assert base.get("masks").root == str((tmp_path / "one").resolve())
    assert "mine/x.md" in [one.file.path for one in candidates(base, Question("loom:a"))]


def test_a_folder_that_is_none_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"--knowledge .*no such folder"):
        load([tmp_path / "none"])
    monkeypatch.setenv("BRINGUP_KNOWLEDGE", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="BRINGUP_KNOWLEDGE"):
        load()


def test_a_file_that_cannot_be_used_is_a_fault_and_the_others_serve(tmp_path):
    folder_of(tmp_path, {"good.md": text(title="A file in order"), "bad.md": "# Notes\n"})
    (tmp_path / "binary.md").write_bytes(b"---\n\xff\xfe")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.md").write_text("nothing")
    base = load([tmp_path], with_shipped=False)
    assert [f.path for f in base.files] == ["good.md"]
    assert [f.path for f in base.faults] == ["bad.md", "binary.md"]
    assert "no front matter" in base.faults[0].line
    assert "not UTF-8" in base.faults[1].line


# Bad files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no front matter: the first line must be ---"),
        ("# A page\n", "no front matter"),
        ("---\ntitle: x\n", "front matter has no end"),
        ("---\n- a\n---\nx\n", "must be a mapping"),
        ("---\ntitle: [\n---\nx\n", "line 2, column 9: not valid YAML"),
        (text().replace("platforms", "platform"), "did you mean platforms"),
        (text().replace("sources", "souces"), "field sources is missing"),
        (text().replace("- memory", "- speed").replace("[memory]", "[speed]"), "field concerns.0: input should be"),
        (text().replace("specificity: general", "specificity: device"), "name the devices"),
        (text().replace("[any]", "[any, vpe]"), "any stands alone"),
        (text().replace("[any]", "[vpe]"), r"specificity general: platforms must be \[any\]"),
        (text().replace("documented", "run"), "give the results"),
        (text().replace("'a manual, section 1'", "' '"), "one of them is empty"),
        (text().replace("Body.", ""), "nothing stands below"),
        (text().replace("Something about one thing", "Short"), "field title: string should have at least 8"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_line(content, message):
    with pytest.raises(FormatError, match=rf"^a/b\.md: .*{message}") as caught:
        parse(content, "a/b.md")
    assert "\n" not in str(caught.value)


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(content):
    with contextlib.suppress(FormatError):  # nothing else may be raised
        parse(content, "x.md")
    code_blocks(content)


def test_windows_files_are_read(tmp_path):
    (tmp_path / "x.md").write_bytes(b"\xef\xbb\xbf" + text().replace("\n", "\r\n").encode())
    assert load([tmp_path], with_shipped=False).files[0].body == "Body."


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("```python\nx = (\n```", "line 1 of the body: python block does not parse, line 1 of it"),
        ("Text.\n\n```\ncode\n```", "line 3 of the body: code block names no language"),
        ("```yaml\na: [\n```", "yaml block: line 1, column 5: not valid YAML"),
        ("```python\nx = 1\n", "line 1 of the body: code block is never closed"),
        ("# Title\n\nText.", "heading of the first level"),
        ("See [that](../nothing.md).", r"link to \.\./nothing\.md: there is no such file"),
        ("word " * 1100, "tokens, more than 1,200"),
        ("- x\n" * 160, "160 lines, more than 150"),
    ],
)
def test_lint_says_what_is_wrong_with_a_body(tmp_path, body, message):
    import re

    indexed(tmp_path, {"guidance/x.md": text(body)})
    (line,) = [fault.line for fault in lint(tmp_path)]
    assert line.startswith("guidance/x.md: ")
    assert re.search(message, line)


def test_lint_takes_code_that_looks_like_headings_and_links(tmp_path):
    body = "````text\n```\n# not a heading [x](none.md)\n````\n\n```python\n# a comment\nx = 1\n```\n[web](https://a.b)"
    assert lint(indexed(tmp_path, {"guidance/x.md": text(body)})) == []


def test_lint_wants_one_candidate_in_a_sample(tmp_path):
    (fault,) = lint(indexed(tmp_path, {"samples/x.md": text("No code.")}))
    assert "exactly one python block" in fault.line


def test_lint_knows_titles_that_occur_twice_and_an_old_index(tmp_path):
    indexed(tmp_path, {"a.md": text(), "b.md": text()})
    assert [f.line for f in lint(tmp_path)] == ["b.md: has the title of a.md; say what this one is about"]
    (tmp_path / "b.md").write_text(text(title="Something about another thing"))
    (line,) = [f.line for f in lint(tmp_path)]
    assert line.startswith("index.md: does not say what the files say today; write it with: bringup knowledge index")
    (tmp_path / "index.md").unlink()
    assert "index.md: missing" in lint(tmp_path)[0].line


def test_front_matter_survives_writing():
    front = FrontMatter.model_validate({**FRONT, "kinds": ["matmul"], "features": ["tl.dot"], "title": "A: title | so"})
    file = parse(dump(front, "Body."), "x.md")
    assert (file.front, file.body) == (front, "Body.")
    assert "A: title \\| so" in index_page([file])
