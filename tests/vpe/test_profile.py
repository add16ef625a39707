"""Profiles: what ships is consistent, what is wrong is refused in one line that names file and field."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml

from bringup.vpe import libdevice
from bringup.vpe.profile import Profile, ProfileError, load_profile, profile_names
from bringup.vpe.profile_vocabulary import BITS, DTYPES, TL_NAMES

SHIPPED = ("pe64", "ascend-like", "pe64-512k", "pe64-next", "permissive", "spyre-like")


def write(tmp_path: Path, text: str, name: str = "chip.yaml") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def derived(tmp_path: Path, changes: str) -> Profile:
    return load_profile(write(tmp_path, f"extends: pe64\nname: chip\n{changes}"))


def test_the_shipped_profiles_by_name() -> None:
    assert profile_names() == SHIPPED
    for name in SHIPPED:
        profile = load_profile(name)
        assert profile.name == name
        assert load_profile(name) is profile


def test_figures_of_the_default_profile() -> None:
    profile = load_profile("pe64")
    assert (profile.grid.rows, profile.grid.columns, profile.grid.count) == (8, 8, 64)
    assert profile.memory.local_bytes_per_pe == profile.memory.usable_local_bytes == 1 << 20
    assert profile.memory.dma_alignment_bytes == 32
    assert profile.limits.dma_streams == 14
    assert profile.limits.dot_accumulator_row_bytes == 128
    assert profile.limits.grid_max == 65_535
    assert not profile.features.scatter_stores
    assert profile.features.scatter_stores_option
    assert not profile.features.dot_3d
    assert not profile.allows_dtype("fp64")
    assert {"int1", "int32", "int64", "fp16", "bf16", "fp32"} <= set(profile.dtypes)


def test_the_family_differs_where_it_says() -> None:
    base, old, new = (load_profile(name) for name in ("pe64", "pe64-512k", "pe64-next"))
    assert old.memory.local_bytes_per_pe == 512 << 10
    assert new.memory.local_bytes_per_pe == 2 << 20
    assert new.features.scatter_stores
    assert new.features.cross_pe_reduction
    assert old.tl == base.tl == new.tl
    assert old.features == base.features
    assert len({base.digest, old.digest, new.digest}) == 3


def test_permissive_limits_nothing() -> None:
    profile = load_profile("permissive")
    assert profile.tl is None
    assert profile.libdevice is None
    assert set(profile.dtypes) == set(DTYPES)
    assert profile.memory.dma_alignment_bytes == 1
    assert profile.memory.usable_local_bytes is None
    assert profile.allows_tl("dot_scaled", "fp64")
    assert profile.allows_libdevice("anything")


def test_ascend_like_follows_the_published_table() -> None:
    profile = load_profile("ascend-like")
    assert profile.memory.usable_local_bytes == 96 << 10
    assert not profile.allows_tl("sort")
    assert not profile.allows_tl("dot_scaled")
    assert not profile.allows_tl("where", "int64")
    assert profile.allows_tl("where", "int32")
    assert profile.allows_tl("gather", "fp32")
    assert not profile.allows_tl("gather", "int32")
    assert profile.limits.gather_axis == "last"
    assert "98304 bytes" in " ".join(profile.note_texts)


def test_questions_about_functions_and_dtypes() -> None:
    profile = load_profile("pe64")
    assert profile.allows_tl("exp")
    assert profile.allows_tl("math.exp")
    assert profile.allows_tl("atomic_add", "fp32")
    assert not profile.allows_tl("atomic_add", "int64")
    assert not profile.allows_tl("exp", "fp64")
    assert not profile.allows_tl("inline_asm_elementwise")
    assert profile.allows_libdevice("tanh")
    assert not profile.allows_libdevice("j0")


@pytest.mark.parametrize("name", SHIPPED)
def test_prose_is_filled_in_and_agrees_with_the_figures(name: str) -> None:
    profile = load_profile(name)
    text = " ".join((profile.alignment_text, *profile.note_texts))
    assert "{" not in text
    assert "None" not in text
    if profile.memory.dma_alignment_bytes > 1:
        assert f"{profile.memory.dma_alignment_bytes} bytes" in profile.alignment_text
    sentences = [part for part in profile.alignment_text.replace("x[1:]", "").split(". ") if part]
    assert len(sentences) <= 2


@pytest.mark.parametrize("name", SHIPPED)
def test_every_figure_has_its_source_or_says_chosen(name: str) -> None:
    """In base profiles each line of the cost section carries a comment; derived ones say so at the top."""
    path = Path(__file__).parents[2] / "src/bringup/vpe/profiles" / f"{name}.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#")
    if "chosen" in text.split("\nname:")[0]:
        return
    section = text[text.index("\ncost:") : text.index("\nalignment_rule:")]
    lines = [line for line in section.splitlines()[2:] if ":" in line]
    carried = False
    for line in lines:
        nested = line.startswith("    ")
        assert "#" in line or (nested and carried) or line.strip() == "dot_macs_per_cycle:", line
        carried = "#" in line or (nested and carried)


def test_vocabulary_agrees_with_triton() -> None:
    import triton.language as tl

    new_in_3_7 = {"to_tensor", "squeeze", "unsqueeze"}
    assert {name for name in TL_NAMES if not hasattr(tl, name)} <= new_in_3_7
    public = {
        name
        for name, value in vars(tl).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__triton_builtin__", False)
    }
    assert not public - TL_NAMES
    for name in DTYPES:
        assert tl.dtype(name).primitive_bitwidth == BITS[name]


def test_lanes_by_width() -> None:
    cost = load_profile("pe64").cost
    assert cost.lanes("fp32") == 16
    assert cost.lanes("bf16") == 32
    assert cost.lanes("int64") == 8
    assert cost.lanes("int1") == cost.lanes("int8") == 64


def test_digest_changes_with_figures_and_not_with_comments(tmp_path: Path) -> None:
    one = load_profile(write(tmp_path, "extends: pe64\nname: chip\n", "a.yaml"))
    two = load_profile(write(tmp_path, "# a comment\nextends: pe64\nname: chip\n", "b.yaml"))
    three = load_profile(write(tmp_path, "extends: pe64\nname: chip\ncost: {launch_us: 6}\n", "c.yaml"))
    assert one.digest == two.digest != three.digest
    assert hash(one) == hash(two)


def test_profiles_are_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_profile("pe64").name = "other"  # type: ignore[misc]


def test_threads_are_bounded_by_the_grid(tmp_path: Path) -> None:
    assert derived(tmp_path, "host_threads: 500").threads == 64
    assert derived(tmp_path, "host_threads: 3").threads == 3
    assert load_profile("pe64").threads >= 1


def test_lists_in_groups_and_flat_are_the_same(tmp_path: Path) -> None:
    flat = derived(tmp_path, "tl: [load, store, dot]")
    grouped = derived(tmp_path, "tl: {memory: [load, store], other: dot}")
    assert flat.tl == grouped.tl == ("load", "store", "dot")
    assert flat == grouped


def test_leaving_out_functions_and_dtypes_drops_their_inherited_details(tmp_path: Path) -> None:
    narrow = derived(tmp_path, "tl: [load, store, dot]\ndtypes: [int1, int32, fp16, fp32]")
    assert set(narrow.tl_dtypes) == {"dot"}
    assert narrow.tl_dtypes["dot"] == ("fp16", "fp32")
    assert set(narrow.cost.dot_macs_per_cycle) == {"fp16", "fp32"}


def test_extends_by_path_and_a_list_replaces(tmp_path: Path) -> None:
    write(tmp_path, "extends: pe64\nname: parent\ncost: {clock_ghz: 2}\nlibdevice: [exp]\n", "parent.yaml")
    child = load_profile(write(tmp_path, "extends: parent.yaml\nname: child\nlibdevice: [log]\n"))
    assert child.cost.clock_ghz == 2
    assert child.cost.vector_lanes == 16
    assert child.libdevice == ("log",)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ("limits: {dma_stream: 3}", "limits.dma_stream", "unknown key; did you mean 'dma_streams'"),
        ("colour: red", "colour", "unknown key"),
        ("dtypes: [fp32, fp31]", "dtypes", "unknown name 'fp31'; did you mean 'fp32'"),
        ("tl: [load, sofmax]", "tl", "unknown name 'sofmax'; did you mean 'softmax'"),
        ("libdevice: [tanj]", "libdevice", "unknown name 'tanj'; did you mean 'tan"),
        ("grid: {rows: 0}", "grid.rows", "greater than 0"),
        ("grid: {rows: eight}", "grid.rows", "the file says 'eight'"),
        ("memory: {dma_alignment_bytes: 48}", "memory.dma_alignment_bytes", "48 is not a power of two"),
        ("memory: {dma_alignment_bytes: 128}", "memory.allocation_alignment_bytes", "less than dma_alignment_bytes"),
        ("memory: {red_zone_bytes: 100}", "memory.red_zone_bytes", "not a multiple"),
        ("memory: {local_bytes_per_pe: 64}", "memory.local_bytes_per_pe", "neither one DMA transaction"),
        (
            "features: {pointer_tensors: false, block_pointers: false}",
            "features",
            "are all false; a kernel needs one of them",
        ),
        (
            "features: {scatter_stores: true, pointer_tensors: false}",
            "features.scatter_stores",
            "needs pointer tensors",
        ),
        ("features: {dot_3d: true}\nlimits: {tensor_rank: 2}", "features.dot_3d", "limits.tensor_rank is 2"),
        ("limits: {tensor_numel: 2000000}", "limits.tensor_numel", "above Triton's own 1048576"),
        ("limits: {grid_rank: 4}", "limits.grid_rank", "less than or equal to 3"),
        ("tl_dtypes: {dot: [fp64]}", "tl_dtypes.dot", "'fp64' is not in 'dtypes'"),
        ("tl_dtypes: {dot_scaled: [fp32]}", "tl_dtypes.dot_scaled", "not in the list 'tl'"),
        ("cost: {dot_macs_per_cycle: {fp32: 1}}", "cost.dot_macs_per_cycle", "no figure for int8"),
        ("cost: {dot_macs_per_cycle: {fp64: 1}}", "cost.dot_macs_per_cycle.fp64", "not in 'dtypes'"),
        ("cost: {dma_bytes_per_cycle_chip: 5000}", "cost.dma_bytes_per_cycle_chip", "more than all PEs draw together"),
        ("cost: {clock_ghz: .inf}", "cost.clock_ghz", "finite"),
        ("alignment_rule: 'multiple of {aligment}'", "alignment_rule", "placeholder 'aligment' cannot be filled in"),
        ("name: a b", "name", "match pattern"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path: Path, changes: str, field: str, words: str) -> None:
    with pytest.raises(ProfileError) as caught:
        derived(tmp_path, changes) if not changes.startswith("name") else load_profile(
            write(tmp_path, f"extends: pe64\n{changes}")
        )
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'chip.yaml'}: {field}: ")
    assert words in message
    assert "\n" not in message
    assert caught.value.field == field


def test_each_missing_figure_is_named(tmp_path: Path) -> None:
    """Every required field of every section, dropped one at a time."""
    full = json.loads(load_profile("pe64").model_dump_json())
    checked = 0
    for section in ("grid", "memory", "features", "limits", "cost"):
        for key in full[section]:
            if key in ("double_buffered", "call_cycles", "call_cycles_per_byte", "subnormals"):  # have defaults
                continue
            broken = {**full, section: {k: v for k, v in full[section].items() if k != key}}
            with pytest.raises(ProfileError, match="missing; give a figure") as caught:
                load_profile(write(tmp_path, yaml.safe_dump(broken)))
            assert caught.value.field == f"{section}.{key}"
            checked += 1
    assert checked > 35


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [unclosed", "not valid YAML"),
        ("- a\n- list", "not a mapping"),
        ("extends: pe65\nname: x", "no profile is named 'pe65'"),
        ("extends: 3\nname: x", "3 is not a name or path"),
        ("extends: pe64", "name: missing"),
        ("extends: chip.yaml\nname: x", "leads back to this file"),
        ("extends: nowhere.yaml\nname: x", "cannot be read"),
    ],
)
def test_files_that_are_no_profiles(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ProfileError, match=words) as caught:
        load_profile(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_unknown_names_and_paths(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"pe46.*known: pe64, ascend-like"):
        load_profile("pe46")
    with pytest.raises(ProfileError, match="cannot be read: No such file"):
        load_profile(tmp_path / "none.yaml")


def test_lists_of_libdevice_are_about_what_exists() -> None:
    for name in SHIPPED:
        for function in load_profile(name).libdevice or ():
            assert function in libdevice.function_names()


def test_cost_figures_are_positive_and_finite() -> None:
    for name in SHIPPED:
        for value in load_profile(name).cost.model_dump().values():
            for number in value.values() if isinstance(value, dict) else [value]:
                assert number >= 0
                assert math.isfinite(number)
