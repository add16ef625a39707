"""From typed TTIR to LLVM IR text: one program instance becomes one function."""
