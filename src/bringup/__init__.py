"""bringup: an agentic system that brings up a PyTorch operator backend on an accelerator that has none.

The package itself imports nothing: Triton loads `bringup.vpe.backend` as a plug-in, and must not pull in the rest.
"""

__version__ = "0.1.0"
