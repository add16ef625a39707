"""Operators, their cases and their docstrings: what must be implemented, known without importing torch."""

from bringup.operators._docgraph import DocBook, RawDoc, render_docs
from bringup.operators._types import (
    CATEGORIES,
    DTYPES,
    CallShape,
    DocNode,
    Keeps,
    Operator,
    PromptWords,
    ReadAllowance,
)

__all__ = [
    "CATEGORIES", "DTYPES", "CallShape", "DocBook", "DocNode", "Keeps", "Operator", "PromptWords", "RawDoc",
    "ReadAllowance", "render_docs",
]  # fmt: skip
