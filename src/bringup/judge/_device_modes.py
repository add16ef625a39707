"""How a device runs every call because a user asks for it by a variable: slower, and with more said of a fault.

The main process hands the variables to referees alone, which tell the device process with each call: guests do not
learn of them.
"""

from __future__ import annotations

import os

VARIABLES = {"race": "BRINGUP_VPE_RACE", "blocking": "BRINGUP_CUDA_BLOCKING"}  # by the mode's name (`Engine.begin`)


def device_modes() -> tuple[str, ...]:
    """Return the modes that this process's variables ask for; an empty one and `0` do not."""
    return tuple(mode for mode, variable in VARIABLES.items() if os.environ.get(variable, "") not in ("", "0"))
