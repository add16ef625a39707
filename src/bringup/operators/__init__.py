"""Operators, their cases and their docstrings: what must be implemented, known without importing torch."""

from bringup.operators._docgraph import DocBook, RawDoc, render_docs
from bringup.operators._types import (
    CATEGORIES,
    DTYPES,
    CallShape,
    Category,
    DocNode,
    Operator,
)

__all__ = ["CATEGORIES", "DTYPES", "CallShape", "Category", "DocBook", "DocNode", "Operator", "RawDoc", "render_docs"]
