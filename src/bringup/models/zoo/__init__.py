"""The models themselves, one a file: plain PyTorch, nothing of it written for a device."""
