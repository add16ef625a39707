"""The command line in this process: what `bringup` prints and exits with, without importing torch once more.

For tests of what commands say. Where the process itself is the subject (signals, imports, a device that stays
enabled), they start one.
"""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from bringup.cli.main import main


@dataclass(frozen=True)
class Done:
    """As a finished process has it."""

    returncode: int
    stdout: str
    stderr: str


def bringup(*arguments: object, cwd: Path | None = None) -> Done:
    """Run `bringup ARGUMENTS` in a folder."""
    out, err = io.StringIO(), io.StringIO()
    words = ["bringup", *map(str, arguments)]
    code: object = None
    with (
        contextlib.chdir(cwd or "."),
        mock.patch.object(sys, "argv", words),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
        except Exception:
            traceback.print_exc()
            code = 1
    assert code is None or isinstance(code, int), code
    return Done(code or 0, out.getvalue(), err.getvalue())
