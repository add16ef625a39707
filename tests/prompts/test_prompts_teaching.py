"""What leads a model on: typed calls, what the audit asks, several failures, PyTorch's answer, short logs and docs."""

from __future__ import annotations

import re

import pytest
from whole import WHOLE

from bringup.dialect import Dialect
from bringup.judge._case import REFUSALS
from bringup.judge.allowance import HOST_BASE, HOST_PER_NUMBER, HOST_WITH_TENSORS
from bringup.operators import CallShape, DocNode, Operator
from bringup.prompts import LIMITS, asked, feedback_prompt, first_prompt, refine_prompt, samples
from bringup.prompts._calls import call_texts
from bringup.prompts._docs import condensed, documents
from bringup.prompts._text import compiler_log
from bringup.suites import get_suite
from bringup.suites.audit import FAMILIES
from bringup.targets import get_target
from bringup.verdict import CaseId, Difference, Mismatch, TensorSummary, Verdict

VALUES = TensorSummary(dtype="float32", shape=(8,), minimum=-2.0, maximum=4.0, mean=1.0)


def wrong(error: float, **changes: object) -> Verdict:
    fields: dict[str, object] = {
        "aspect": "values",
        "output": "output",
        "message": "2 of 8 elements differ",
        "expected": VALUES,
        "actual": VALUES,
        "max_abs_error": error,
        "first": (Difference(index=(1,), expected="1.0", actual="2.0", inputs=("argument 0[1] = 0.5",)),),
        **changes,
    }
    mismatch = Mismatch.model_validate(fields)
    return Verdict(kind="wrong", summary="output: 2 of 8 elements differ", mismatch=mismatch)


def test_every_family_of_the_audit_has_a_sentence_in_the_prompt(operator: Operator, dialect: Dialect) -> None:
    text = first_prompt(operator, (), dialect, target="t").text
    assert set(asked()) == set(FAMILIES)
    for sentence in asked().values():
        assert f"- {sentence}" in text


def test_what_the_host_may_make_is_said_with_the_judges_figures(operator: Operator, dialect: Dialect) -> None:
    text = first_prompt(operator, (), dialect, target="t").text
    said = next(line for line in text.split("\n") if line.startswith("What the host makes is counted"))
    assert f"may make {HOST_BASE}, {HOST_PER_NUMBER} more for each number in it" in said
    assert f"and {HOST_WITH_TENSORS} more where it has a tensor" in said


def test_the_refusals_that_are_told_are_those_that_the_judge_takes(operator: Operator, dialect: Dialect) -> None:
    said = next(sentence for sentence in asked().values() if sentence.startswith("Refusals"))
    assert f"by {', '.join(REFUSALS)}, a `raise IndexError`, or the class that PyTorch raises" in said
    missing = feedback_prompt(operator, wrong(0, aspect="refusal", message="it returned"), dialect).text
    for name in REFUSALS:
        assert name in missing


def test_device_assert_is_shown_with_the_option_that_it_needs() -> None:
    for spec in ("vpe:pe64", "vpe:permissive"):
        dialect = get_target(spec).dialect()
        rules = [rule for rule in dialect.rules if rule.startswith("tl.device_assert")]
        assert len(rules) == ("tl.device_assert" in dialect.tl_functions)
        assert all("debug=True" in rule for rule in rules)


def test_what_holds_for_all_operators_stands_first(
    operator: Operator, docs: tuple[DocNode, ...], dialect: Dialect
) -> None:
    other = operator.model_copy(update={"name": "add", "signature": "add(input, other)", "call_shapes": ()})
    one, two = (first_prompt(o, docs, dialect, target="t").text for o in (operator, other))
    repair = refine_prompt(operator, docs, dialect, samples.candidate(dialect), target="t").text
    common = one.partition("# The operator: ")[0]
    assert common == two.partition("# The operator: ")[0] == repair.partition("# The operator: ")[0]
    assert len(common) > 0.8 * len(one)
    assert "softmax" not in common.replace("tl.softmax", "").replace(", softmax,", "")
    assert "Format of the answer" in common
    assert "Worked examples" in common


def test_calls_are_shown_with_types(operator: Operator, dialect: Dialect) -> None:
    shapes = (
        CallShape(positional=2, types=("str", "list[Tensor]")),
        CallShape(positional=1, keywords=("dim",), types=("Tensor[int64]", "int | None")),
    )
    einsum = operator.model_copy(
        update={"call_shapes": shapes, "signature": "f(equation, operands, dim=None) -> Tensor"}
    )
    text = first_prompt(einsum, (), dialect, target="t").text
    assert "- `wrapper(equation: str, operands: list[Tensor])`" in text
    assert "- `wrapper(equation: Tensor[int64], dim=int | None)`" in text
    assert "whatever the case's dtype is" in text
    several = einsum.model_copy(update={"signature": "f(x); f(y, z)"})  # only the second takes two
    assert "`wrapper(y: str, z: list[Tensor])`" in first_prompt(several, (), dialect, target="t").text
    unclear = einsum.model_copy(update={"signature": "f(x, w); f(y, z)"})
    assert "`wrapper(str, list[Tensor])`" in first_prompt(unclear, (), dialect, target="t").text
    starred = einsum.model_copy(update={"signature": "f(x, *shape); f(y, z)"})
    assert "`wrapper(str, list[Tensor])`" in first_prompt(starred, (), dialect, target="t").text


def test_what_a_call_is_named_after(operator: Operator) -> None:
    def texts(signature: str, *types: str, keywords: tuple[str, ...] = (), doc: str = "") -> list[str]:
        shape = CallShape(positional=len(types) - len(keywords), keywords=keywords, types=types)
        return call_texts(operator.model_copy(update={"signature": signature, "call_shapes": (shape,)}), doc)

    assert texts("f(equation, *operands)", "str", "list[Tensor]") == ["wrapper(equation: str, *operands: list[Tensor])"]
    assert texts("f(input, *size)", "Tensor", "int", "tuple[int | str, ...] | int") == [
        "wrapper(input: Tensor, *size: int | tuple[int | str, ...])"
    ]
    both = "max(input) -> Tensor; max(input, dim, keepdim=False) -> Tensor; max(input, other, *, out=None) -> Tensor"
    assert texts(both, "Tensor", "Tensor | int") == [
        "wrapper(input: Tensor, other: Tensor)",
        "wrapper(input: Tensor, dim: int)",
    ]
    assert texts("pow(input, exponent); pow(self, exponent)", "float", "Tensor") == [
        "wrapper(self: float, exponent: Tensor)"
    ]
    # A keyword that only one form has decides between equals, and one that is a position's name rules a form out.
    assert texts("f(x, a); f(x, b, *, c)", "Tensor", "str", "int", keywords=("c",)) == [
        "wrapper(x: Tensor, b: str, c=int)"
    ]
    assert texts("f(x, r); f(r, *)", "Tensor", "int", keywords=("r",)) == ["wrapper(x: Tensor, r=int)"]
    # A docstring names what the signature lacks.
    described = "Text.\n\nArgs:\n    mat1 (Tensor): a\n        more (of it)\n\n    mat2 (Tensor): b\n    how (str): c\n"
    assert texts("mm(self, mat2)", "Tensor", "Tensor", "str", doc=described) == [
        "wrapper(self: Tensor, mat2: Tensor, how: str)"
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", ["opinfo", "aten"])
def test_no_prompt_names_an_argument_by_its_number(name: str) -> None:
    suite = get_suite(name)
    seen = 0
    for operator in list(suite.operators())[:: 1 if WHOLE else 4]:
        if operator.exclusion or not operator.call_shapes:
            continue
        docs = suite.docs(operator.name)
        seen += 1
        for text in call_texts(operator, docs[0].text if docs else ""):
            inside = text.removeprefix("wrapper(").removesuffix(")")
            parts = re.split(r", (?![^\[]*\])", inside) if inside else []
            assert all(re.match(r"\*?[A-Za-z_]\w*[:=]", part) for part in parts), text
            assert not re.search(r"\ba\d+[:=]", text), text
    assert seen > (300 if WHOLE else 75)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"cast": "taken", "lower": "RuntimeError", "shape": "taken"}, "is cast to; one that it cannot be cast to is"),
        ({"cast": "taken", "lower": "taken"}, "any other dtype is cast to"),
        ({"cast": "RuntimeError", "lower": "RuntimeError"}, "exactly the result's dtype; any other is refused with R"),
        ({}, ""),
    ],
)
def test_the_operators_own_rule_for_out(found: dict[str, str], said: str, operator: Operator, dialect: Dialect) -> None:
    writes = operator.model_copy(update={"signature": "f(input, *, out=None) -> Tensor", "out": found})
    own = first_prompt(writes, (), dialect, target="t").text.partition("# The operator: ")[2]
    assert said in own
    assert ("`out=`" in own) == bool(found)
    without = writes.model_copy(update={"signature": "f(input) -> Tensor"})
    assert "`out=`" not in first_prompt(without, (), dialect, target="t").text.partition("# The operator: ")[2]


def test_float64_results_are_explained_where_the_chip_has_none(operator: Operator, dialect: Dialect) -> None:
    assert "does not compute in float64" not in first_prompt(operator, (), dialect, target="t").text
    without = tuple(name for name in dialect.tl_constants if name != "tl.float64")
    narrow = dialect.model_copy(update={"tl_constants": without})
    assert "does not compute in float64" in first_prompt(operator, (), narrow, target="t").text


def test_up_to_three_failures_in_one_report(operator: Operator, dialect: Dialect) -> None:
    raised = Verdict(
        kind="raised",
        summary="AttributeError: 'int' object has no attribute 'shape'",
        case=CaseId(operator="softmax", dtype="float16", index=7),
        title="promotion: a Python int",
        call="wrapper(Tensor[float16, 3], 2)",
        exception='  File "candidate.py", line 3, in wrapper\n    other.shape\nAttributeError: ...',
        reference="returns float16 of shape (3,)",
    )
    crashed = Verdict(kind="crashed", summary="PE 3 fault", log="the dump", call="wrapper(1)", reference="returns 1")
    text = feedback_prompt(operator, wrong(1.0).model_copy(update={"others": (raised, crashed)}), dialect).text
    assert "It also fails in another way, in case 7 of float16" in text
    assert "Raised: AttributeError" in text
    assert "line 3, in wrapper" in text
    assert "`wrapper(Tensor[float16, 3], 2)` (promotion: a Python int)" in text
    assert "PyTorch returns float16 of shape (3,) for this call." in text
    assert "And in another" in text
    assert "the dump" in text
    assert text.count("complete corrected module") == 1
    assert "another way" not in feedback_prompt(operator, wrong(1.0), dialect).text


def test_what_pytorch_did_is_told(operator: Operator, dialect: Dialect) -> None:
    for kind in ("raised", "crashed", "timed_out"):
        verdict = Verdict(kind=kind, summary="x", call="wrapper(1)", reference="returns float32 of shape (2,)")  # type: ignore[arg-type]
        assert (
            "PyTorch returns float32 of shape (2,) for this call." in feedback_prompt(operator, verdict, dialect).text
        )
    refused = Verdict(kind="crashed", summary="x", call="wrapper(1)", reference="raises IndexError: no")
    assert "PyTorch raises IndexError: no there." in feedback_prompt(operator, refused, dialect).text


def test_a_missing_refusal_is_called_that(operator: Operator, dialect: Dialect) -> None:
    message = "PyTorch raises IndexError: dim 3; the wrapper returned"
    mismatch = Mismatch(aspect="refusal", output="output", message=message)
    verdict = Verdict(kind="wrong", summary=message, mismatch=mismatch, call="wrapper(x, 3)")
    text = feedback_prompt(operator, verdict, dialect).text
    assert text.startswith("A refusal is missing in the module for `softmax`: PyTorch raises IndexError")
    assert "exception of the same class" in text
    assert "result is wrong" not in text
    assert "wrapper(x, 3)" in text


def test_inputs_at_the_first_differing_indices(operator: Operator, dialect: Dialect) -> None:
    text = feedback_prompt(operator, wrong(1.0), dialect).text
    assert "| index | PyTorch | your module | inputs there |" in text
    assert "| (1) | 1.0 | 2.0 | argument 0[1] = 0.5 |" in text


def test_how_far_elements_may_be_off(operator: Operator, dialect: Dialect) -> None:
    found = Difference(index=(1,), expected="4.0", actual="4.5", exact="4.1", off="0.4", allowed="1e-06")
    text = feedback_prompt(operator, wrong(0.4, first=(found,)), dialect).text
    assert "| index | exact result | PyTorch | your module | off by | allowed |" in text
    assert "| (1) | 4.1 | 4.0 | 4.5 | 0.4 | 1e-06 |" in text


def test_an_error_that_looks_like_rounding_is_called_that(operator: Operator, dialect: Dialect) -> None:
    unit = 4 * 2.0**-23
    near = Difference(index=(1,), expected="4.0", actual=str(4 + 3 * unit))
    close = feedback_prompt(operator, wrong(3 * unit, first=(near,)), dialect).text
    assert "about 3 units in the last place" in close
    assert "Summed in another order" in close
    small = near.model_copy(update={"expected": "1e-4", "exact": "1e-4", "actual": str(1e-4 + 3 * unit)})
    cancelled = feedback_prompt(operator, wrong(3 * unit, first=(small,)), dialect).text
    assert "another order" not in cancelled
    assert "of the last place of an element below" in cancelled
    for verdict in (
        wrong(1000 * unit),
        wrong(3 * unit, expected=VALUES.model_copy(update={"nans": 1})),
        wrong(3 * unit, expected=VALUES.model_copy(update={"dtype": "int32"})),
        wrong(3 * unit, output="argument 0 after the call"),
        wrong(float("inf")),
    ):
        assert "another order" not in feedback_prompt(operator, verdict, dialect).text


LOG = """\
vpe compiler, profile pe64
kernel kernel_abs(x_ptr: pointer<fp32>)
alignment rule: every pointer ...
pass: verify ... failed

candidate.py:3: error: scatter store: the addresses have no stride
  operation: tt.store

note: the module at the point of failure:
#loc = loc("candidate.py":6:0)
module {
  tt.func public @kernel_abs(%x_ptr: !tt.ptr<f32> loc("x_ptr"(#loc))) {
    %i = tt.get_program_id x : i32 loc(#loc19)
    tt.store %1, %x_7, %m_4 : tensor<1024x!tt.ptr<f32>> loc(#loc28)
    tt.return loc(#loc14)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("candidate.py":7:22)
#loc12 = loc("candidate.py":11:26)
#loc13 = loc("candidate.py":3:20)
#loc14 = loc("candidate.py":11:4)
#loc19 = loc("i"(#loc3))
#loc28 = loc(callsite(#loc13 at #loc12))

error: kernel 'kernel_abs' was refused, 1 problem (see above)
"""


def test_a_dump_is_cut_to_the_operations_at_the_error() -> None:
    shown = compiler_log(LOG, 5000)
    assert shown == (
        "candidate.py:3: error: scatter store: the addresses have no stride\n  operation: tt.store\n\n"
        "in the compiler's words:\ntt.store %1, %x_7, %m_4 : tensor<1024x!tt.ptr<f32>>\n\n"
        "error: kernel 'kernel_abs' was refused, 1 problem (see above)"
    )
    assert compiler_log("plain words\nerror: no", 100) == "plain words\nerror: no"


NOTE = "Note: results on CUDA may be nondeterministic.\n\n    See the page on cuDNN.\n\n"
FORMULA = "Shape:\n    H_{out} = \\left\\lfloor\\frac{H_{in} + 2 \\times padding}{stride} + 1\\right\\rfloor"


def test_documentation_is_shortened_by_paragraphs_and_keeps_formulas() -> None:
    prose = "\n\n".join(f"Remark {n} " + "word " * 40 for n in range(20))
    text = f"f(x) -> Tensor\n\n{NOTE}First sentence.\n\n{prose}\n\n{FORMULA}\n\nExample:\n\n    >>> f(1)\n    2"
    whole = condensed(text, 100_000)
    assert "CUDA" not in whole
    assert "cuDNN" not in whole
    assert ">>> f(1)" in whole
    assert ">>> f(1)" not in condensed(text, 100_000, examples=False)
    short = condensed(text, 1500)
    assert len(short) <= 1500
    assert FORMULA in short
    assert ">>> f(1)" not in short
    assert "Remark 0" in short
    assert "Remark 19" not in short
    assert "left out" not in short


def test_a_note_on_values_stays() -> None:
    text = "f(x)\n\nNote: for equal elements the first index is returned.\n\nWarning: the gradient is NaN."
    assert condensed(text, 1000) == "f(x)\n\nNote: for equal elements the first index is returned."
    assert condensed("f(x)\n\nThis operator supports TensorFloat32.\n\nSum.", 1000) == "f(x)\n\nSum."


def test_examples_of_other_operators_are_left_out_whole() -> None:
    text = (
        "g(x)\n\nReturns it.\n\nExamples:\n\n    >>> # one\n    >>> g(1)\n\n    >>> # two\n    >>> g(2)\n\nReturns: x"
    )
    assert condensed(text, 1000, examples=False) == "g(x)\n\nReturns it.\n\nReturns: x"


def test_documents_are_shown_once() -> None:
    own = DocNode(name="f", text="f(x) -> Tensor\n\nReturns the sum.")
    same = DocNode(name="torch.f", text="f(x, *, out=None) -> Tensor\n\nReturns  the sum.")
    pointer = DocNode(name="torch.Tensor.f", text="See torch.f")
    other = DocNode(name="g", text="g(x)\n\nReturns the product of the elements.")
    shown, left = documents([own, same, pointer, other], 1000, 1000, 1000)
    assert [doc.name for doc in shown] == ["f", "g"]
    assert not left
    shown, left = documents([own, other], 1000, 1000, 40)
    assert ([doc.name for doc in shown], left) == (["f"], ["g"])


def test_what_other_releases_did_is_left_out() -> None:
    parts = (
        "f(x)",
        "Note: Starting in PyTorch 1.8, f returns pi for\n    negative numbers. Previously\n    it returned zero.",
        "Args:\n    correction (int): a difference.",
        "        Changed in 2.0\n            Previously this was `unbiased`.",
        "Warning:\n  This function changed signature at version 0.4.1. Calls with the\n  previous signature may fail.",
        "- `a`: empty. This behavior may change in a future release.\n- `b`: equivalent to the previous version",
    )
    text = "\n\n".join(parts)
    assert condensed(text, 10_000) == (
        "f(x)\n\nNote: f returns pi for\n    negative numbers.\n\nArgs:\n    correction (int): a difference.\n\n"
        "- `a`: empty.\n- `b`: equivalent to the previous version"
    )


@pytest.mark.long
def test_no_prompt_tells_of_other_releases() -> None:
    past = re.compile(
        r"[Cc]hanged in \d|PyTorch \d|at version \d|to version \d|previous behavior|future (?:PyTorch )?release"
    )
    for name in ("opinfo", "aten"):
        suite = get_suite(name)
        for operator in list(suite.operators())[:: 1 if WHOLE else 4]:
            for doc in () if operator.exclusion else suite.docs(operator.name):
                found = past.search(condensed(doc.text, LIMITS["doc"]))
                assert not found, (operator.name, doc.name, found)


def test_calls_name_each_parameter_once() -> None:
    suite = get_suite("opinfo")
    for operator in suite.operators():
        for text in call_texts(operator):
            names = re.findall(r"(\w+)[:=]", text)
            assert len(set(names)) == len(names), (operator.name, text)
    assert call_texts(suite.operator("std_mean"))[0] == "wrapper(input: Tensor)"
    assert call_texts(suite.operator("triangular_solve")) == ["wrapper(b: Tensor, A: Tensor)"]
