"""Remove what a candidate left in a directory on disk: follows no link, minds no depth, no missing permission."""

from __future__ import annotations

import contextlib
import os
import stat


def remove_tree(top: str) -> None:
    """Remove the directory `top` and all in it; what cannot be removed is left. Nothing may write to it any more.

    Directories are emptied one level at a time, their own directories moved up to `top`: a tree of any depth needs
    neither recursion nor a long path.
    """
    try:
        root = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    moved = 0
    try:
        while True:
            names = os.listdir(root)
            before = len(names), moved
            for name in names:
                if not _is_directory(name, root):
                    with contextlib.suppress(OSError):
                        os.unlink(name, dir_fd=root)
                    continue
                moved = _empty(name, root, moved)
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=root)
            left = os.listdir(root)
            if not left or (len(left), moved) == before:
                break
    finally:
        os.close(root)
    with contextlib.suppress(OSError):
        os.rmdir(top)


def _is_directory(name: str, parent: int) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    return False


def _empty(name: str, root: int, moved: int) -> int:
    """Unlink the files of a directory of `root` and move its directories to `root`; return the new count."""
    try:
        os.chmod(name, 0o700, dir_fd=root)  # it is a directory, no link, and nobody is left to change that
        directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    except OSError:
        return moved
    try:
        for item in os.listdir(directory):
            with contextlib.suppress(OSError):
                if _is_directory(item, directory):
                    with contextlib.suppress(OSError):
                        os.chmod(item, 0o700, dir_fd=directory)  # moving a directory needs to write to it
                    os.rename(item, f".removed-{os.getpid()}-{moved}", src_dir_fd=directory, dst_dir_fd=root)
                    moved += 1
                else:
                    os.unlink(item, dir_fd=directory)
    finally:
        os.close(directory)
    return moved
