"""MkDocs hooks: generated pages must be current, the state machine is a drawing, and nothing comes from elsewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

SCRIPTS = Path(__file__).resolve().parent
MERMAID = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Leave out of the navigation what is not written yet, and add the pages of vpe as they are."""
    folder = Path(config.docs_dir)

    def kept(entries: list[Any]) -> list[Any]:
        result: list[Any] = []
        for entry in entries:
            if isinstance(entry, dict):
                (title, value), *_ = entry.items()
                if isinstance(value, list):
                    below = kept(value)
                    if below:
                        result.append({title: below})
                elif (folder / value).is_file():
                    result.append(entry)
            elif "*" in entry:
                result += [p.relative_to(folder).as_posix() for p in sorted(folder.glob(entry))]
            elif (folder / entry).is_file():
                result.append(entry)
        return result

    config.nav = kept(config.nav)
    return config


def on_pre_build(config: Any) -> None:
    """Refuse to build from generated pages that no longer say what the code does."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        import docs_reference
    finally:
        sys.path.remove(str(SCRIPTS))
    stale = [n for n, text in docs_reference.pages().items() if _read(Path(config.docs_dir) / n) != text]
    if stale:
        raise PluginError(f"out of date: {', '.join(stale)}; run `{docs_reference.AGAIN}`")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Show the drawing where the source has Mermaid: its script would be fetched from elsewhere."""
    name = page.file.src_uri.removesuffix(".md")
    drawing = Path(config.docs_dir) / "drawings" / f"{name}.svg"
    if drawing.is_file():
        return MERMAID.sub(f"![The diagram; the table below says the same](drawings/{name}.svg)", markdown)
    return markdown


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
