"""FlagGems as it is, except that its tuners take the first of their configurations: for measuring what it covers.

Usage: PYTHONPATH=benchmarks bringup coverage --target cuda --enable flag_gems_untuned:use_gems --gradients

Its tuners compile and time up to dozens of configurations for every new shape and dtype, and nearly every case of
OpInfo is one. Which of them would have won says nothing of whether results are right. Needs `pip install flag_gems` and
a GPU.
"""

from __future__ import annotations

from typing import Any


def use_gems() -> Any:
    """Import FlagGems with tuners that do not tune, and return its context manager."""
    from triton.runtime import Autotuner

    made = Autotuner.__init__

    def first(self: Any, fn: Any, arg_names: Any, configs: Any, *more: Any, **named: Any) -> None:
        made(self, fn, arg_names, list(configs)[:1], *more, **named)

    Autotuner.__init__ = first
    import flag_gems

    return flag_gems.use_gems()
