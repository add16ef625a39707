"""The speed engine: a search over a graph of candidates for faster kernels of one operator.

The graph is a fold of the run's events; a policy says what is expanded next; a node's inner loop is the session
engine's repair loop.
"""
