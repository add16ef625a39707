"""What each situation's prompt must say."""

from __future__ import annotations

from typing import Any

import pytest

from bringup.candidate import Candidate, FormatProblem, parse_reply
from bringup.config import PromptsConfig
from bringup.dialect import Dialect
from bringup.operators import CallShape, DocNode, Operator, ReadAllowance
from bringup.patch import apply_edits, read_edits
from bringup.prompts import (
    EXAMPLES,
    LIMITS,
    SITUATION_OF,
    SITUATIONS,
    PromptBook,
    PromptError,
    feedback_prompt,
    first_prompt,
    load_examples,
    refine_prompt,
    render,
    samples,
    summarise_prompt,
    system_prompt,
    template_digest,
)
from bringup.prompts._text import without_locations
from bringup.verdict import CaseId, Difference, Mismatch, TensorSummary, Verdict, Violation

CASE = CaseId(operator="softmax", dtype="bfloat16", index=7)
INPUT = TensorSummary(dtype="bfloat16", shape=(3, 5), stride=(1, 3), minimum=-2.5, maximum=9.0, mean=0.125, nans=1)
WRONG = Verdict(
    kind="wrong",
    summary="values of the output differ",
    case=CASE,
    call="wrapper(Tensor[bf16, 3x5], dim=1)",
    inputs=(INPUT,),
    mismatch=Mismatch(
        aspect="values",
        output="output[1]",
        message="2 of 15 elements differ",
        expected=TensorSummary(
            dtype="bfloat16", shape=(3, 5), minimum=0.0, maximum=1.0, values="tensor([[0.5, 0.25]])"
        ),
        actual=TensorSummary(dtype="float32", shape=(3, 5), minimum=0.0, maximum=7.0, infs=2, values="tensor([[7.0]])"),
        max_abs_error=6.0,
        mean_abs_error=0.4375,
        max_rel_error=12.5,
        mismatched=2,
        elements=15,
        rtol=0.016,
        atol=1e-5,
        first=(
            Difference(index=(0, 3), expected="1", actual="7"),
            Difference(index=(2, 4), expected="0", actual="inf"),
        ),
    ),
    cases_passed=27,
    cases_total=40,
    passed_by_dtype={"float32": 20, "bfloat16": 7},
)


def test_first_prompt(operator: Operator, docs: tuple[DocNode, ...], dialect: Dialect) -> None:
    prompt = first_prompt(operator, docs, dialect, target="vpe:pe64")
    text = prompt.text
    assert prompt.template == "first"
    assert prompt.template_digest == template_digest("first")
    assert "`softmax`" in text
    assert "vpe:pe64" in text
    for name in ("`torch`", "`triton`", "`tl`", "`math`"):
        assert name in text
    assert "Nothing can be imported" in text
    assert "Exactly one fenced Python block" in text
    assert "softmax(input, dim, *, dtype=None) -> Tensor" in text
    assert "`wrapper(input, dim)`" in text
    assert "`wrapper(input, dim=..., dtype=...)`" in text
    assert "aten._softmax.default" in text
    assert "float32, bfloat16, float16" in text
    assert "20 float32 cases, 10 bfloat16 cases, 10 float16 cases" in text
    assert "int32" in text  # a tl type, but not among the dtypes tested
    assert "dtype and shape that PyTorch gives" in text
    assert "inputs transposed" in text
    assert "contiguous unless" in text
    assert "cheating" in text
    for doc in docs:
        assert f"### {doc.name}" in text
        assert doc.text in text
    for rule in dialect.rules:
        assert rule in text
    allowed = next(line for line in text.splitlines() if line.startswith("- tl: ")).removeprefix("- tl: ").split(", ")
    assert set(allowed) == {n.removeprefix("tl.") for n in dialect.tl_functions if n.count(".") == 1}
    methods = next(line for line in text.splitlines() if line.startswith("- of tensors: "))
    assert all(f" {m}," in methods or f" {m};" in methods for m in dialect.tensor_methods)
    for example in load_examples(dialect.examples):
        assert example.source.strip() in text
    assert 2000 < prompt.tokens < 12_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_left_out_of_its_own_prompt(
    name: str, operator: Operator, docs: tuple[DocNode, ...], dialect: Dialect
) -> None:
    own = operator.model_copy(update={"name": name})
    text = first_prompt(own, docs, dialect, target="t").text
    for example in load_examples(dialect.examples):
        assert (example.source.strip() in text) == (example.name != name)


def test_what_depends_on_the_operator(operator: Operator, dialect: Dialect) -> None:
    view = operator.model_copy(update={"overloads": ("aten.permute.default",), "computes": False})
    assert "kernels are not required" in first_prompt(view, (), dialect, target="t").text
    assert "kernels are not required" not in first_prompt(operator, (), dialect, target="t").text
    reads = operator.model_copy(update={"reads": ReadAllowance(nbytes=16)})
    assert "item, tolist, since the result" in first_prompt(reads, (), dialect, target="t").text
    assert "reading values (`x.item()`" in first_prompt(operator, (), dialect, target="t").text
    mutating = operator.model_copy(update={"mutates": True})
    assert "the result itself is a new tensor" in first_prompt(mutating, (), dialect, target="t").text
    in_place = mutating.model_copy(update={"name": "add_"})
    assert "changes its input in place" in first_prompt(in_place, (), dialect, target="t").text
    assert "## Documentation" not in first_prompt(operator, (), dialect, target="t").text
    some = first_prompt(operator, (), dialect, target="t", dtypes=("float16",)).text
    assert "tested with the dtypes float16 (10 float16 cases)" in some
    factory = operator.model_copy(update={"call_shapes": (CallShape(positional=1, keywords=("device", "dtype")),)})
    assert "keyword `device` says where" in first_prompt(factory, (), dialect, target="t").text
    assert "keyword `device` says where" not in first_prompt(operator, (), dialect, target="t").text
    many = operator.model_copy(update={"call_shapes": tuple(CallShape(positional=n) for n in range(40))})
    assert f"and {40 - LIMITS['calls']} more" in first_prompt(many, (), dialect, target="t").text


def test_libdevice_and_own_modules_appear_when_the_dialect_has_them(operator: Operator, dialect: Dialect) -> None:
    wide = dialect.model_copy(
        update={"modules": (*dialect.modules, "libdevice"), "tl_functions": (*dialect.tl_functions, "libdevice.tanh")}
    )
    text = first_prompt(operator, (), wide, target="t").text
    assert "`libdevice`" in text
    assert "- libdevice: tanh" in text


def test_long_documentation_is_limited(operator: Operator, dialect: Dialect) -> None:
    docs = [DocNode(name=f"doc{n}", text=f"start{n} " + "x" * 20_000 + f" end{n}") for n in range(20)]
    text = first_prompt(operator, docs, dialect, target="t").text
    assert "start0" in text
    assert "end0" in text
    assert "characters left out" in text
    assert "left out for length: doc" in text
    assert len(text) < LIMITS["docs"] + 30_000


def test_refine_prompt(operator: Operator, docs: tuple[DocNode, ...], dialect: Dialect) -> None:
    candidate = Candidate(source="def wrapper(input, dim):\n    return '```'\n")
    report = feedback_prompt(operator, WRONG, dialect)
    text = refine_prompt(operator, docs, dialect, candidate, target="vpe:pe64", report=report).text
    assert candidate.source.strip() in text
    assert "````python" in text  # the fence is longer than the one inside
    assert "wrapper(Tensor[bf16, 3x5], dim=1)" in text
    assert docs[0].text in text
    assert "Nothing can be imported" in text
    assert "last test" not in refine_prompt(operator, docs, dialect, candidate, target="t").text


def test_format_error_prompt(operator: Operator, dialect: Dialect) -> None:
    problem = parse_reply("```python\ndef wrapper(x:\n    pass\n```")
    assert isinstance(problem, FormatProblem)
    text = feedback_prompt(operator, problem, dialect).text
    assert problem.explanation in text
    assert "exactly one fenced Python block" in text
    assert "nothing was tested" in text


def test_lint_prompt(operator: Operator, dialect: Dialect) -> None:
    violations = [
        Violation(
            rule="tl-function", message="tl.tanh is not available", line=9, advice="Use exp.", source="y = tl.tanh(x)"
        ),
        Violation(rule="tensor-method", message="tensor method .sum()", line=14, source="return x.sum()"),
    ]
    text = feedback_prompt(operator, violations, dialect).text
    assert "breaks 2 rules" in text
    assert "[tl-function] line 9: tl.tanh is not available" in text
    assert "`y = tl.tanh(x)`" in text
    assert "Use exp." in text
    assert "[tensor-method] line 14" in text
    assert "Allowed in kernels: tl.program_id" in text
    assert "Allowed methods of tensors in the wrapper: dim" in text
    assert "Allowed torch functions" not in text
    assert "complete corrected module" in text
    many = feedback_prompt(operator, violations * 30, dialect).text
    assert f"{60 - LIMITS['violations']} more" in many
    verdict = Verdict(kind="lint", summary="x", violations=tuple(violations))
    assert feedback_prompt(operator, verdict, dialect).text == text


def test_compile_prompt(operator: Operator, dialect: Dialect) -> None:
    verdict = Verdict(
        kind="compile",
        summary="kernel_a does not compile",
        kernel="kernel_a",
        compiled_for="cuda:sm_90",
        log="\x1b[31merror\x1b[0m: Expected dtype fp32\nat /opt/place/site-packages/triton/x.py\n",
        case=CASE,
    )
    text = feedback_prompt(operator, verdict, dialect).text
    assert "does not compile" in text
    assert "`kernel_a`" in text
    assert "cuda:sm_90" in text
    assert "error: Expected dtype fp32" in text
    assert "\x1b" not in text
    assert "/opt/place" not in text
    summed = feedback_prompt(operator, verdict, dialect, summary="one error: fp32 expected").text
    assert "one error: fp32 expected" in summed
    assert "Expected dtype fp32" not in summed


def test_numbered_locations_of_a_compilers_dump_are_left_out(operator: Operator, dialect: Dialect) -> None:
    log = """\
candidate.py:9: error: unsupported operation: 'elementwise_inline_asm' has no lowering on vpe
loc("candidate.py":9:8): error: failed to legalise
    y = tl.load(loc(x) + 1)
note: the module at the point of failure:
#loc = loc("candidate.py":2:0)
#loc2 = loc(unknown)
#loc48 = loc("s"(#loc11))
#loc67 = loc(callsite(#loc51 at #loc65))
module {
  tt.func public @kernel_abs(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x_ptr"(#loc)), %n: i32 loc("a)"(#loc))) {
    %x = arith.constant dense<0.0> : tensor<1024xf32> loc(#loc40)
    %c1 = arith.constant 1 : i32 loc(unknown)
    %y = "tt.reduce"(%x) ({
    ^bb0(%a: f32 loc(callsite("a"(#loc1) at #loc2)), %b: f32 loc(fused<"f">[#loc3, #loc4])):
    tt.return loc("candidate.py":12:4)
  } loc(#loc)
} loc(#loc)
error: kernel 'kernel_abs' was refused
"""  # noqa: E501
    shown = """\
candidate.py:9: error: unsupported operation: 'elementwise_inline_asm' has no lowering on vpe
loc("candidate.py":9:8): error: failed to legalise
    y = tl.load(loc(x) + 1)
note: the module at the point of failure:
module {
  tt.func public @kernel_abs(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %x = arith.constant dense<0.0> : tensor<1024xf32>
    %c1 = arith.constant 1 : i32
    %y = "tt.reduce"(%x) ({
    ^bb0(%a: f32, %b: f32):
    tt.return loc("candidate.py":12:4)
  }
}
error: kernel 'kernel_abs' was refused
"""
    assert without_locations(log) == shown
    verdict = Verdict(kind="compile", summary="kernel_abs does not compile", log=log)
    text = feedback_prompt(operator, verdict, dialect).text
    assert "failed to legalise\n    y = tl.load(loc(x) + 1)" in text
    assert "error: kernel 'kernel_abs' was refused" in text
    assert "tt.func" not in text
    assert shown in summarise_prompt(operator, log).text
    assert verdict.log == log


def test_crash_prompt(operator: Operator, dialect: Dialect) -> None:
    verdict = Verdict(kind="crashed", summary="killed by SIGSEGV", log="PE 3 fault", case=CASE, call="wrapper(x)")
    text = feedback_prompt(operator, verdict, dialect, debugger="#0 kernel_a line 4").text
    assert "crashed" in text
    assert "killed by SIGSEGV" in text
    assert "#0 kernel_a line 4" in text
    assert "PE 3 fault" in text
    assert "mask" in text
    assert "wrapper(x)" in text


def test_wrong_prompt(operator: Operator, dialect: Dialect) -> None:
    text = feedback_prompt(operator, WRONG, dialect).text
    assert "its result is wrong" in text
    assert "wrapper(Tensor[bf16, 3x5], dim=1)" in text
    assert "bfloat16, shape (3, 5), stride (1, 3), min -2.5, max 9, mean 0.125, 1 NaN" in text
    assert "What differs: values of output[1]" in text
    assert "Expected (PyTorch on the CPU): bfloat16, shape (3, 5), min 0, max 1" in text
    assert "tensor([[0.5, 0.25]])" in text
    assert "Actual (your module): float32, shape (3, 5), min 0, max 7, 2 infinite" in text
    assert "2 of 15 elements are outside the tolerance (|actual - expected| <= 1e-05 + 0.016 * |expected|)" in text
    assert "Largest absolute error 6, mean absolute error 0.4375, largest relative error 12.5" in text
    assert "| (0, 3) | 1 | 7 |" in text
    assert "| (2, 4) | 0 | inf |" in text
    assert "27 of 40 test cases passed before this one (float32 20, bfloat16 7)" in text
    assert "case 7 of bfloat16" in text
    assert "Do not test for the shapes, values or arguments of this case" in text


def test_raised_prompt(operator: Operator, dialect: Dialect) -> None:
    verdict = Verdict(
        kind="raised",
        summary="IndexError: x",
        exception='File "candidate.py", line 3\nIndexError: x',
        case=CASE,
        call="wrapper(x)",
    )
    text = feedback_prompt(operator, verdict, dialect).text
    assert 'File "candidate.py", line 3' in text
    assert "raised an exception" in text
    assert "Do not test for" in text


def test_timed_out_prompt(operator: Operator, dialect: Dialect) -> None:
    text = feedback_prompt(operator, Verdict(kind="timed_out", summary="case took 30 s", case=CASE), dialect).text
    assert "case took 30 s" in text
    assert "loop" in text
    assert "grid" in text


def test_cheated_prompt(operator: Operator, dialect: Dialect) -> None:
    violation = Violation(
        rule="dispatch-spy", message="aten::sum ran in the wrapper", line=11, source="x.sum()", advice="Sum it."
    )
    text = feedback_prompt(
        operator, Verdict(kind="cheated", summary="left work to PyTorch", violations=(violation,)), dialect
    ).text
    assert "left work to PyTorch" in text
    assert "line 11: aten::sum ran in the wrapper" in text
    assert "own kernels" in text


def test_summarise_prompt(operator: Operator) -> None:
    text = summarise_prompt(operator, "error: line 4\n" * 10_000 + "the very end").text
    assert "error: line 4" in text
    assert "the very end" in text
    assert "word for word" in text
    assert "no corrected code" in text
    assert len(text) < LIMITS["summarised"] + 3_000


def test_system_prompt() -> None:
    text = system_prompt("vpe:pe64").text
    assert "vpe:pe64" in text
    assert "cheating" in text


def test_verdicts_that_need_no_prompt(operator: Operator, dialect: Dialect) -> None:
    for kind in ("passed", "untested"):
        with pytest.raises(PromptError, match=kind):
            feedback_prompt(operator, Verdict(kind=kind, summary=""), dialect)  # type: ignore[arg-type]


def test_contexts_are_checked(operator: Operator) -> None:
    with pytest.raises(PromptError, match="log"):
        render("summarise", operator=operator)
    with pytest.raises(PromptError, match="logs"):
        render("summarise", operator=operator, log="", logs="")
    with pytest.raises(PromptError, match="log"):
        render("summarise", operator=operator, log=3)
    with pytest.raises(PromptError, match="unknown situation"):
        render("nonsense")  # type: ignore[arg-type]


def test_digests_differ_and_are_stable() -> None:
    digests = {s: template_digest(s) for s in SITUATIONS}
    assert len(set(digests.values())) == len(SITUATIONS)
    template_digest.cache_clear()
    assert digests == {s: template_digest(s) for s in SITUATIONS}


def test_the_book_renders_what_the_functions_render(
    operator: Operator, docs: tuple[DocNode, ...], dialect: Dialect
) -> None:
    book = PromptBook(dialect, "t", lambda name: docs if name == "softmax" else (), dtypes=("float32",))
    candidate = samples.candidate(dialect)
    assert book.first(operator) == first_prompt(operator, docs, dialect, target="t", dtypes=("float32",), patches=True)
    assert book.refine(operator, candidate) == refine_prompt(
        operator, docs, dialect, candidate, target="t", dtypes=("float32",), patches=True
    )
    problem = samples.problem()
    assert book.format_error(operator, problem) == feedback_prompt(operator, problem, dialect, patches=True)
    violations = samples.violations(dialect, operator)
    assert book.lint(operator, violations) == feedback_prompt(operator, violations, dialect, patches=True)
    assert book.verdict(operator, WRONG) == feedback_prompt(operator, WRONG, dialect, patches=True)
    assert book.summarise(operator, "log") == summarise_prompt(operator, "log")
    assert book.system() == system_prompt("t", patches=True)


def test_answers_may_be_edits_where_that_is_on(operator: Operator, dialect: Dialect) -> None:
    candidate = samples.candidate(dialect)
    for on in (True, False):
        book = PromptBook(dialect, "t", lambda name: (), config=PromptsConfig(patches=on))
        told = [book.first(operator), book.refine(operator, candidate), book.system()]
        told += [book.lint(operator, samples.violations(dialect, operator)), book.verdict(operator, WRONG)]
        assert [("edits" in prompt.text) for prompt in told] == [on] * len(told)
        assert ("<<<<<<< SEARCH" in told[0].text) is on
        assert "complete corrected module" in told[4].text  # either will do
    problem = parse_reply("```patch\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```", "def wrapper():\n    pass\n")
    assert isinstance(problem, FormatProblem)
    text = PromptBook(dialect, "t", lambda name: ()).format_error(operator, problem, "def wrapper():\n    pass\n").text
    assert "does not stand in the module" in text
    assert "The module as it stands:\n\n```python\ndef wrapper():\n    pass\n```" in text
    assert "exactly one fenced" not in text


def test_the_format_that_is_shown_is_the_one_that_is_read(operator: Operator, dialect: Dialect) -> None:
    """The example of the task, taken word for word, is an edit."""
    text = PromptBook(dialect, "t", lambda name: ()).first(operator).text
    edits = read_edits(text)
    assert isinstance(edits, list)
    (shown,) = edits
    assert apply_edits(f"a\n{shown.search[0]}\nb", [shown]) == f"a\n{shown.replace[0]}\nb"


def test_what_prompts_leave_out(operator: Operator, docs: tuple[DocNode, ...], dialect: Dialect) -> None:
    def first(**parts: Any) -> str:
        return PromptBook(dialect, "t", lambda name: docs, config=PromptsConfig(**parts)).first(operator).text

    whole = first()
    assert len(docs) > 1
    assert all(f"### {doc.name}\n" in whole for doc in docs)
    own = first(documentation="own")
    assert f"### {docs[0].name}\n" in own
    assert all(f"### {doc.name}\n" not in own for doc in docs[1:])
    none = first(documentation="none")
    assert "## Documentation" not in none
    assert "Signature:" in none
    assert "## Worked examples" in whole
    assert "## Worked examples" not in first(examples=False)


@pytest.mark.parametrize("situation", sorted(set(SITUATION_OF.values())))
def test_samples_fit_their_situation(situation: str, operator: Operator, dialect: Dialect) -> None:
    verdict = samples.verdict(situation, operator)
    assert SITUATION_OF[verdict.kind] == situation
    assert feedback_prompt(operator, verdict, dialect).template == situation
    assert len(samples.violations(dialect, operator)) >= 3


def test_ties_are_said_where_indices_may_name_any_of_them() -> None:
    from bringup.prompts._render import TIES
    from bringup.suites._opinfo_postprocess import OPERATORS

    assert TIES < OPERATORS
    for name, said in (("topk", True), ("median", True), ("argmax", False)):
        operator = Operator(name=name, suite="opinfo", category="other", signature=f"{name}(input) -> Tensor")
        text = first_prompt(operator, (), Dialect(name="any"), target="vpe", examples=False).text
        assert ("Ties: an index" in text) == said, name


def test_a_chip_says_which_dtypes_its_atomic_operations_take() -> None:
    from bringup.targets import get_target

    rules = " ".join(get_target("vpe:pe64").dialect().rules)
    assert "tl.atomic_add, tl.atomic_max, tl.atomic_min on int32, uint32, fp32; tl.atomic_and" in rules
    assert "need no option of the launch" in rules
    assert "below 1.1755e-38" in rules
