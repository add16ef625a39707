"""How much of the suite is run: `make test` takes samples where all would take minutes, `make test-whole` all of it."""

from __future__ import annotations

import os

WHOLE = bool(os.environ.get("BRINGUP_WHOLE"))
