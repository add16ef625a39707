"""The store-writing helpers, and the doubles of a whole run."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE.parent / "session", HERE.parent / "runs", HERE):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
