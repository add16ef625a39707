"""The graph of docstrings on books made by hand: order, cycles, distances, rendering; and Sphinx's noise."""

from __future__ import annotations

import gzip

import pytest

from bringup.errors import EnvironmentFault
from bringup.operators import DocBook, DocNode, RawDoc, render_docs
from bringup.operators._sphinx import plain, references


def book(**docs: tuple[str, ...]) -> DocBook:
    """Make a book from name -> names referred to; a name ending in `!` is a close reference."""
    return DocBook(
        torch="9",
        docs={
            name: RawDoc(
                text=f"text of {name}",
                refers_to=tuple(target.rstrip("!") for target in targets),
                close=tuple(target.rstrip("!") for target in targets if target.endswith("!")),
            )
            for name, targets in docs.items()
        },
    )


def assert_topological(nodes: list[DocNode]) -> None:
    names = [node.name for node in nodes]
    assert len(set(names)) == len(names)
    for position, node in enumerate(nodes):
        assert set(node.refers_to) <= set(names[position + 1 :])


def test_each_docstring_once_after_all_that_refer_to_it() -> None:
    nodes = book(a=("b!", "c!"), b=("d!",), c=("d!", "b!"), d=()).graph("a")
    assert_topological(nodes)
    assert [node.name for node in nodes] == ["a", "c", "b", "d"]


def test_cycles_are_cut() -> None:
    nodes = book(a=("b!",), b=("c!", "b!"), c=("a!",)).graph("a")
    assert_topological(nodes)
    assert [(node.name, node.refers_to) for node in nodes] == [("a", ("b",)), ("b", ("c",)), ("c", ())]


def test_a_cycle_of_two_within_a_larger_graph() -> None:
    nodes = book(a=("b!", "c!"), b=("c!",), c=("b!", "d!"), d=("a!",)).graph("a")
    assert_topological(nodes)
    assert {node.name for node in nodes} == {"a", "b", "c", "d"}


def test_close_references_reach_farther_than_mentions() -> None:
    chain = book(a=("b!",), b=("c!",), c=("d!",), d=("e!",), e=())
    assert [node.name for node in chain.graph("a")] == ["a", "b", "c", "d"]
    mentions = book(a=("b",), b=("c",), c=())
    assert [node.name for node in mentions.graph("a")] == ["a", "b"]
    mixed = book(a=("b",), b=("c!",), c=())
    assert [node.name for node in mixed.graph("a")] == ["a", "b", "c"]
    assert [node.name for node in chain.graph("a", max_distance=1)] == ["a", "b"]


def test_a_shorter_way_found_later_counts() -> None:
    nodes = book(a=("b", "c!"), b=("d!",), c=("b!",), d=("e!",), e=()).graph("a")
    assert_topological(nodes)
    assert {node.name for node in nodes} == {"a", "b", "c", "d"}


def test_a_reference_to_what_the_book_lacks_is_dropped() -> None:
    assert book(a=("missing!",)).graph("a")[0].refers_to == ()
    with pytest.raises(KeyError):
        book(a=()).graph("b")


def test_books_survive_their_bytes() -> None:
    one = book(a=("b!",), b=())
    assert DocBook.load(one.dump(), "x") == one
    assert DocBook.load(gzip.compress(b'{"format": 0}'), "x") is None
    with pytest.raises(EnvironmentFault, match="delete it"):
        DocBook.load(b"garbage", "x")


def test_rendering_keeps_the_operator_and_says_what_it_cut() -> None:
    nodes = [DocNode(name="op", text="short"), DocNode(name="big", text="y" * 5000), DocNode(name="small", text="z")]
    text = render_docs(nodes, max_characters=1000)
    assert text.startswith("# op\n\nshort")
    assert "## small" in text
    assert "left out" in text
    assert "big" in text
    assert len(text) <= 1000
    assert "left out" not in render_docs(nodes)
    lines = "\n".join(f"line {n}" for n in range(2000))
    cut = render_docs([DocNode(name="op", text=lines)], max_characters=1000)
    assert len(cut) <= 1000
    assert "cut here" in cut
    many = [DocNode(name=f"operator_{n}", text="x" * 900) for n in range(60)]
    assert len(render_docs(many, max_characters=1200)) <= 1200


def test_references_and_how_close_they_are() -> None:
    doc = """f(x) -> Tensor

    Alias for :func:`torch.g`. See :class:`~torch.nn.H` for more. Uses :meth:`Tensor.i_` and :attr:`x`,
    :func:`title <torch.j>`, :obj:`"mean"`. See also torch.k_l.
    """
    assert list(references(doc)) == [
        ("close", "torch.g"), ("close", "torch.nn.H"), ("meth", "Tensor.i_"), ("func", "torch.j"),
        ("close", "torch.k_l"),
    ]  # fmt: skip


def test_sphinx_noise_goes_and_the_words_stay() -> None:
    doc = r"""f(input, \*, dim=None) -> Tensor

Sums :attr:`input` over :math:`n` as :func:`~torch.sum` does, see `the page <https://x.y/z>`__ and
:ref:`broadcast <broadcasting-semantics>`.

.. math::
    \text{out} = \sum_i x_i

.. note::
    Careful with ``NaN``.

.. image:: scripts/f.png
    :width: 10

.. _Wiki: https://z

Example::

    >>> f(x)
"""
    text = plain(doc)
    for kept in (
        "f(input, *, dim=None)", "Sums input over n as torch.sum does", "the page", "see ", "broadcast.", r"\sum_i x_i",
        "Note:\n    Careful with `NaN`.", "Example:\n\n    >>> f(x)",
    ):  # fmt: skip
        assert kept in text
    for gone in ("::", ":math:", ".. ", "image", "https", "width", "~"):
        assert gone not in text
