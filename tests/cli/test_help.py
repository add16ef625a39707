"""What commands' help says of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pages_that_help_texts_name_exist() -> None:
    named = {
        name
        for file in (ROOT / "src" / "bringup" / "cli").glob("*.py")
        for name in re.findall(r"docs/[\w./-]+\.md", file.read_text(encoding="utf-8"))
    }
    assert "docs/vpe-compiler.md" in named
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
