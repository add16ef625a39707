"""The worked examples are what they claim: they pass the linter and every case of the gate, real compile included."""

from __future__ import annotations

import pytest
from whole import WHOLE

from bringup.candidate import Candidate, parse_module
from bringup.config import JudgeConfig
from bringup.dialect import load_dialect
from bringup.errors import ConfigError
from bringup.judge import JobTemplate
from bringup.linter import lint
from bringup.prompts import EXAMPLES, load_examples
from bringup.suites import get_suite
from bringup.targets import get_target


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_well_formed_and_clean(name: str) -> None:
    example = next(e for e in load_examples("plain") if e.name == name)
    candidate = parse_module(example.source)
    assert isinstance(candidate, Candidate)
    operator = get_suite("opinfo").operator(name)
    assert operator.call_shapes
    assert lint(candidate, load_dialect("triton"), operator) == []
    assert "import" not in example.source


@pytest.mark.parametrize("target", ["vpe:pe64", "vpe:permissive", "cuda"])
def test_every_target_has_examples_that_its_linter_accepts(target: str) -> None:
    dialect = get_target(target).dialect()
    for example in load_examples(dialect.examples):
        operator = get_suite("opinfo").operator(example.name)
        assert lint(Candidate(source=example.source), dialect, operator) == [], (target, example.name)


@pytest.mark.timeout(1200)
@pytest.mark.long
async def test_examples_pass_every_case_and_compile_for_a_gpu() -> None:
    """Every launch of the float32 cases compiles, and those of one case in each other dtype.

    `make test` judges every second example, and no more than that; `make test-whole` all cases of all dtypes.
    """
    from judge_bench import Bench

    suite = get_suite("opinfo")
    # compiling for a GPU counts among a candidate's seconds
    everywhere = JobTemplate("vpe:permissive", JudgeConfig(compile_for=("cuda:sm_90",), candidate_seconds=1200))
    async with Bench("vpe:permissive", JudgeConfig(compile_for=())) as judge:
        for example in load_examples("plain")[:: 1 if WHOLE else 2]:
            operator, candidate = suite.operator(example.name), Candidate(source=example.source)
            counts = operator.case_counts
            others = [dtype for dtype in operator.dtypes if dtype != "float32"]
            here: dict[str, tuple[int, ...] | None] = dict.fromkeys(others)
            for template, cases in (
                *([(judge.template, here)] if WHOLE else []),
                (everywhere, {"float32": None, **dict.fromkeys(others, (0,))}),
            ):
                verdict = await judge.judge(template.job(candidate, operator, cases=cases, seed=0))
                assert verdict.passed, (example.name, verdict.summary, verdict.log)
                asked = sum(counts[dtype] if chosen is None else len(chosen) for dtype, chosen in cases.items())
                skipped = sum(verdict.environment.skipped.values())
                assert verdict.cases_passed == verdict.cases_total == asked - skipped > 0
            assert verdict.compiled.get("cuda:sm_90", 0) > 0


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="examples nonsense: no such folder"):
        load_examples("nonsense")


@pytest.mark.long
async def test_examples_in_a_suite_s_contract_are_shown_there_and_pass_every_case() -> None:
    from judge_bench import Bench

    from bringup.prompts import PromptBook

    suite, dialect = get_suite("aten"), get_target("vpe:pe64").dialect()
    assert suite.words is not None
    book = PromptBook(dialect, "vpe:pe64", suite.docs, suite.dtypes, suite.words)
    prompt = book.first(suite.operator("cos.out")).text
    examples = load_examples("vpe-aten")
    async with Bench("vpe:pe64", JudgeConfig()) as judge:
        for example in examples:
            assert example.source.strip() in prompt
            operator = suite.operator(example.name)
            assert lint(Candidate(source=example.source), dialect, operator) == []
            dtypes = operator.dtypes if WHOLE else operator.dtypes[:2]
            verdict = await judge.candidate(Candidate(source=example.source), operator, dtypes=dtypes, seed=0)
            assert verdict.passed, (example.name, verdict.summary, verdict.log)
    assert load_examples("vpe")[0].source not in prompt
