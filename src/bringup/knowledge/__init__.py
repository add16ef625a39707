"""The knowledge base: short files with front matter on limits, idioms and devices, and how a kernel finds its own."""

from bringup.knowledge._base import (
    INDEX,
    VARIABLE,
    Base,
    Fault,
    folders,
    index_lines,
    index_page,
    load,
    read_folder,
    shipped,
)
from bringup.knowledge._features import features_of
from bringup.knowledge._files import FrontMatter, KnowledgeFile, Result, dump, parse
from bringup.knowledge._lint import code_blocks, lint
from bringup.knowledge._retrieve import Chosen, Question, Retrieved, candidates, fetch, retrieve
from bringup.knowledge._search import scores
from bringup.knowledge._words import CONCERNS, KINDS, kinds_of, platform_of

__all__ = [
    "CONCERNS",
    "INDEX",
    "KINDS",
    "VARIABLE",
    "Base",
    "Chosen",
    "Fault",
    "FrontMatter",
    "KnowledgeFile",
    "Question",
    "Result",
    "Retrieved",
    "candidates",
    "code_blocks",
    "dump",
    "features_of",
    "fetch",
    "folders",
    "index_lines",
    "index_page",
    "kinds_of",
    "lint",
    "load",
    "parse",
    "platform_of",
    "read_folder",
    "retrieve",
    "scores",
    "shipped",
]
