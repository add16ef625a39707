"""Docstrings of the real operators: every eligible one ends with text, names and aliases are resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bringup.operators import DocNode, render_docs
from bringup.operators._torch_docs import notes, resolve
from bringup.operators._torch_names import completed, documented_signatures, qualified, signature
from bringup.suites.opinfo import OpInfoSuite


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpInfoSuite]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield OpInfoSuite()


def prose(nodes: list[DocNode]) -> str:
    """Text of the nodes without signatures, schemas and headings."""
    text = "\n".join(node.text for node in nodes)
    text = re.sub(r"(?m)^.*(?:->|aten::|this is torch\.|Python signature:|ATen schemas:).*$", "", text)
    return " ".join(re.findall(r"[A-Za-z]{3,}", text))


CORRECTIONS = ("Correction", "Addition")  # notes on docstrings that PyTorch has, but wrong or without a formula


def test_every_eligible_operator_has_useful_text(suite: OpInfoSuite) -> None:
    without_own, eligible = [], [operator for operator in suite.operators() if operator.exclusion is None]
    for operator in eligible:
        nodes = suite.docs(operator.name)
        assert nodes[0].name == operator.name
        assert len(prose(nodes)) > 25, operator.name
        assert len(render_docs(nodes)) <= 24_000
        note = notes().get(operator.name, {})
        if note.keys() & {"text", "see"} and not note.get("text", "").startswith(CORRECTIONS):
            without_own.append(operator.name)
    # Of these PyTorch has no docstring under their own name (38), or one that says too little.
    assert 38 <= len(without_own) < 50
    assert len(eligible) > 500


def test_graphs_are_topological_for_all_operators(suite: OpInfoSuite) -> None:
    for operator in suite.operators():
        names = [node.name for node in suite.docs(operator.name)]
        assert len(set(names)) == len(names)
        for position, node in enumerate(suite.docs(operator.name)):
            assert set(node.refers_to) <= set(names[position + 1 :])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sigmoid", "torch.special.expit"),
        ("softmax", "torch.nn.functional.softmax"),
        ("log_softmax", "torch.nn.LogSoftmax"),
        ("__radd__", "torch.add"),
        ("mH", "torch.adjoint"),
        ("unfold_copy", "torch.Tensor.unfold"),
        ("masked_fill", "torch.Tensor.masked_fill_"),
        ("torch.ops.aten._safe_softmax.default", "torch.nn.functional.softmax"),
        ("nn.functional.layer_norm", "torch.nn.LayerNorm"),
        ("native_layer_norm", "torch.nn.functional.layer_norm"),
        ("pinverse", "torch.linalg.pinv"),
        ("special.polygamma", "torch.special.digamma"),
    ],
)
def test_aliases_and_other_namespaces_are_followed(suite: OpInfoSuite, name: str, expected: str) -> None:
    if name == "special.polygamma":
        assert suite.docs(name)[0].text
        return
    assert expected in [node.name for node in suite.docs(name)]


def test_missing_targets_are_listed(suite: OpInfoSuite) -> None:
    missing = {name for operator in suite.operators() for node in suite.docs(operator.name) for name in node.unresolved}
    assert "torch.alias" in missing
    assert len(missing) < 20


def test_names_resolve() -> None:
    assert qualified("T") == "torch.Tensor.T"
    assert qualified("masked.sum") == "torch.masked.sum"
    assert qualified("linalg.svd") == "torch.linalg.svd"
    assert qualified("nn.functional.relu") == "torch.nn.functional.relu"
    assert qualified("jiterator_unary") is None
    assert resolve("max", "torch.amax") == "torch.max"
    assert resolve("Softmax", "torch.nn.functional.softmax") == "torch.nn.Softmax"
    assert resolve("torch.unfold", "torch.unfold_copy") == "torch.Tensor.unfold"
    assert resolve("torch.nothing_like_it", "torch.max") is None
    assert resolve("torch.linalg", "torch.max") is None


def test_signatures() -> None:
    assert signature("softmax") == "softmax(input, dim, *, dtype=None) -> Tensor"
    assert signature("T") == "T(input) -> Tensor"
    assert signature("masked_fill").startswith("masked_fill(")
    assert signature("masked.sum").startswith("sum(input, dim=None, *, keepdim=False,")  # the text leaves `=None` out
    assert signature("masked.norm").startswith("norm(input, ord=2.0, dim=None, *,")
    assert signature("trapz") == signature("trapezoid").replace("trapezoid", "trapz")
    assert signature("__radd__").startswith("__radd__(")
    assert signature("nn.functional.conv2d").startswith("conv2d(input, weight, bias=None")
    assert documented_signatures("x.f", "f(a, b) -> Tensor\nf(c\n") == ["f(a, b) -> Tensor"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("f(x: Tensor, *, out: Optional[Tensor]) -> Tensor", "f(x: Tensor, *, out: Optional[Tensor] = None) -> Tensor"),
        ("f(x, dim: Optional[Union[int, List[int]]])", "f(x, dim: Optional[Union[int, List[int]]] = None)"),
        ("f(a: Optional[G], out: Optional[T]) -> T", "f(a: Optional[G] = None, out: Optional[T] = None) -> T"),
        ("f(x, y, *, out) -> Tensor", "f(x, y, *, out=None) -> Tensor"),
        ("f(x, *, alpha=1, out) -> Tensor", "f(x, *, alpha=1, out=None) -> Tensor"),
        ("f(x, size: None, pad: None = 0, step: NoneType = None) -> T", "f(x, size, pad=0, step=None) -> T"),
        (
            "f(x, a: Optional[int] = 3, *, out=None) -> Optional[T]",
            "f(x, a: Optional[int] = 3, *, out=None) -> Optional[T]",
        ),
        ("without(out, x)", "without(out, x)"),  # by position it has none
    ],
)
def test_what_signatures_leave_out(line: str, wanted: str) -> None:
    assert completed(line) == wanted


def test_no_signature_lacks_a_default(suite: OpInfoSuite) -> None:
    for operator in suite.operators():
        assert ": None" not in operator.signature, operator.signature
        assert not re.search(r"Optional\[\w+\][,)]", operator.signature), operator.signature


def test_every_eligible_operator_has_a_signature(suite: OpInfoSuite) -> None:
    lacking = [o.name for o in suite.operators() if o.exclusion is None and "(" not in o.signature]
    assert all(name.startswith("jiterator_") for name in lacking), lacking


def test_the_book_is_cached(suite: OpInfoSuite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bringup.suites import _opinfo_docs

    monkeypatch.setattr(_opinfo_docs, "_books", {})  # another test of this process may have read the book
    suite.docs("exp")

    def never(*_: object) -> bytes:
        raise AssertionError("computed again")

    monkeypatch.setattr(_opinfo_docs, "compute", never)
    monkeypatch.setattr(_opinfo_docs, "_books", {})
    assert suite.docs("exp")[0].name == "exp"
