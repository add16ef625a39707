"""The opinfo suite without torch: counts, rules, categories, selection, and the survey's file."""

from __future__ import annotations

import gzip
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from bringup.errors import ConfigError, EnvironmentFault, UnknownOperator
from bringup.operators import CATEGORIES, DTYPES
from bringup.suites import get_suite, select
from bringup.suites._opinfo_facts import FORMAT, Facts, read_survey, write_survey
from bringup.suites._opinfo_rules import EXCLUSIONS, exclusion, funnel, needs
from bringup.suites._opinfo_source import category_of, load_survey
from bringup.suites.opinfo import OpInfoSuite


@pytest.fixture(scope="module")
def suite() -> OpInfoSuite:
    return OpInfoSuite()


def facts(name: str = "x", cases: int = 5, **more: object) -> Facts:
    return Facts.model_validate(
        {"name": name, "variants": ("",), "case_counts": {"float32": cases} if cases else {}} | more
    )


def test_eligibility_reproduces_the_published_numbers(suite: OpInfoSuite) -> None:
    if not suite.survey.torch.startswith("2.13."):
        pytest.skip("the numbers are those of torch 2.13")
    assert [(n, c) for _, n, c in suite.funnel()] == [
        (636, 68_896), (629, 68_896), (606, 68_385), (581, 66_872), (568, 31_099)
    ]  # fmt: skip
    eligible = [operator for operator in suite.operators() if operator.exclusion is None]
    assert len(eligible) == 568
    assert sum(sum(operator.own_counts.values()) for operator in eligible) == 31_099


def test_every_operator_has_a_unique_name_and_a_reason_if_excluded(suite: OpInfoSuite) -> None:
    operators = list(suite.operators())
    assert len({operator.name for operator in operators}) == len(operators)
    for operator in operators:
        assert operator.exclusion is None or len(operator.exclusion) > 20
        assert set(operator.case_counts) <= set(DTYPES)
        assert operator.exclusion or operator.cases_total == len(operator.cases())


def test_what_cannot_be_judged_everywhere_says_what_it_needs(suite: OpInfoSuite) -> None:
    asks: dict[str, set[str]] = {}
    for operator in suite.operators():
        for feature in operator.needs:
            asks.setdefault(feature, set()).add(operator.name)
    assert asks["complex"] == {"linalg.eig", "linalg.eigvals", "stft", "cfloat", "cdouble", "chalf"}
    assert len(asks["cpu_reference"]) == 5
    assert all(name.startswith("jiterator_") for name in asks["cpu_reference"])
    assert len(asks["defined_values"]) == 6
    assert all("empty" in name for name in asks["defined_values"])
    assert asks["callables"] == {"nn.functional.triplet_margin_with_distance_loss"}
    assert asks["sparse"] == {"to_sparse", "sparse.mm", "sparse.sampled_addmm"}


def test_rules_apply_in_order_and_only_where_they_should() -> None:
    assert exclusion(facts()) is None
    assert exclusion(facts(cases=899)) is None
    assert [rule.id for rule in EXCLUSIONS] == ["no-case", "complex", "random", "many-cases"]
    everything = {"random_overloads": ("aten.bernoulli.default",)}
    for name, cases, more, rule in [
        ("fft.fft", 0, everything, "no-case"),
        ("fft.fft", 901, everything, "complex"),
        ("polar", 5, {}, "complex"),
        ("dropout", 901, everything, "random"),
        ("linspace", 900, {}, "many-cases"),
    ]:
        found = exclusion(facts(name, cases, **more))
        assert found is not None
        assert found[0] == rule
    assert "aten.bernoulli.default" in str(exclusion(facts(**everything)))


def test_needs_follow_from_facts() -> None:
    assert needs(facts()) == {}
    assert "3 of 5" in needs(facts(complex_results=3))["complex"]
    assert "RuntimeError: no" in needs(facts(failures={"RuntimeError: no": 5}))["cpu_reference"]
    assert "defined_values" in needs(facts(overloads=("aten.empty.memory_format",)))
    assert needs(facts(overloads=("aten.empty.memory_format", "aten.fill_.Scalar"))) == {}


def test_the_funnel_counts_what_is_left() -> None:
    steps = funnel([facts("a"), facts("b", 0), facts("fft.c"), facts("d", 1000)])
    assert [n for _, n, _ in steps] == [4, 3, 2, 2, 1]
    assert steps[-1][2] == 5


def test_listing_imports_no_torch() -> None:
    code = (
        "import sys; from bringup.suites import get_suite, select\n"
        "suite = get_suite('opinfo'); assert len(select(suite, ['all'])) > 500\n"
        "assert not {'torch', 'triton', 'numpy'} & set(sys.modules), 'heavy import'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_categories_name_every_operator_exactly_once(suite: OpInfoSuite) -> None:
    text = files("bringup.suites").joinpath("data", "categories.yaml").read_text(encoding="utf-8")
    groups = yaml.safe_load(text)
    assert set(groups) == set(CATEGORIES)
    named = [name for names in groups.values() for name in names.split()]
    assert len(named) == len(set(named))
    if suite.survey.torch.startswith("2.13."):
        assert set(named) == {operator.name for operator in suite.operators()}
    for names in groups.values():
        assert len(names.split()) >= 30


def test_a_name_unknown_to_the_categories_is_placed_by_its_namespace() -> None:
    assert category_of("linalg.of_next_year") == "Linear Algebra"
    assert category_of("nn.functional.of_next_year") == "Deep Learning"
    assert category_of("of_next_year") == "Other"


def test_selection(suite: OpInfoSuite, tmp_path: Path) -> None:
    def names(*patterns: str) -> list[str]:
        return [operator.name for operator in select(suite, patterns)]

    assert names("exp", "abs", "exp") == ["abs", "exp"]
    assert len(names("all")) == len([o for o in suite.operators() if o.exclusion is None])
    assert names("[a]ll") == ["all"]
    assert all(name.startswith("special.") for name in names("special.*"))
    assert names("nn.functional.dropout") == ["nn.functional.dropout"]  # excluded, but asked for by name
    listed = tmp_path / "ops.txt"
    listed.write_text("# four\nexp  # the first\n\nall\nspecial.i?e\n", encoding="utf-8")
    assert names(f"@{listed}") == ["exp", "all", "special.i0e", "special.i1e"]


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [("softmx", "softmax"), ("zzz*", "zzz"), ("fft.*", "only excluded operators match"), ("Exp", "exp")],
)
def test_a_pattern_without_a_match_is_an_error(suite: OpInfoSuite, pattern: str, hint: str) -> None:
    with pytest.raises(UnknownOperator, match=f"(?s)suite opinfo.*|{hint}") as caught:
        select(suite, [pattern])
    assert hint in str(caught.value)


def test_bad_lists_of_operators(suite: OpInfoSuite, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        select(suite, [f"@{tmp_path / 'none.txt'}"])
    circle = tmp_path / "circle.txt"
    circle.write_text(f"@{circle}\n")
    with pytest.raises(ConfigError, match="names itself"):
        select(suite, [f"@{circle}"])
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        select(suite, [f"@{binary}"])


def test_unknown_operator(suite: OpInfoSuite) -> None:
    with pytest.raises(UnknownOperator, match="did you mean softmax"):
        suite.operator("sofmax")
    with pytest.raises(UnknownOperator):
        suite.materialise("sofmax", "float32")
    with pytest.raises(UnknownOperator):
        suite.docs("sofmax")


def test_a_survey_survives_its_file(tmp_path: Path) -> None:
    one = facts("a", overloads=("aten.abs.default",), call_shapes=((1, ("dim",)),), failures={"E: f": 2})
    path = tmp_path / "survey.json.gz"
    write_survey(path, "9.9.0", [one])
    first = path.read_bytes()
    survey = read_survey(first, "x")
    assert survey is not None
    assert survey.operators == (one,)
    write_survey(path, "9.9.0", [one])
    assert path.read_bytes() == first


def test_broken_and_old_surveys() -> None:
    with pytest.raises(EnvironmentFault, match="not a survey"):
        read_survey(b"nonsense", "x")
    with pytest.raises(EnvironmentFault, match="not a survey"):
        read_survey(gzip.compress(f'{{"format": {FORMAT}, "torch": "2"}}'.encode()), "x")
    assert read_survey(gzip.compress(b'{"format": 0}'), "x") is None


def test_an_unknown_torch_is_surveyed_once_and_cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = tmp_path / "made.json.gz"
    write_survey(made, "9.9.0", [facts("only_one")])
    calls: list[str] = []

    def compute(module: str, name: str, progress: object) -> bytes:
        calls.append(module)
        keep(name, made.read_bytes())
        return made.read_bytes()

    from bringup.suites import _cache
    from bringup.suites._cache import keep

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(_cache, "torch_version", lambda: "9.9.0")
    monkeypatch.setattr(_cache, "torch_build", lambda: "9.9.0+test")
    monkeypatch.setattr(_cache, "compute", compute)
    assert [f.name for f in load_survey().operators] == ["only_one"]
    assert [f.name for f in load_survey().operators] == ["only_one"]
    assert calls == ["bringup.suites._opinfo_survey"]
    assert get_suite("opinfo").operator("only_one").category == "Other"


def test_spot_values(suite: OpInfoSuite) -> None:
    """Spot values counted by hand from op_db of torch 2.13."""
    if not suite.survey.torch.startswith("2.13."):
        pytest.skip("the numbers are those of torch 2.13")
    for name, counts in {
        "abs": {"float32": 1, "bfloat16": 1, "float16": 1, "int32": 1, "int64": 1},
        "add": {"float32": 11, "bfloat16": 11, "float16": 11, "int32": 11, "int64": 11},
    }.items():
        assert suite.operator(name).own_counts == counts
    assert suite.operator("abs").overloads == ("aten.abs.default",)
