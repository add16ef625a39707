"""What kernels import by other names: modules that Triton swaps in for its own when it compiles for vpe."""
