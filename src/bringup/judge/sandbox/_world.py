"""What a worker sees of the file system: surveyed once in the fork server, by what Python and Triton are made of.

A list of what is visible. Home directories, the store, other workers' scratch, sockets of the system's services
and whatever else lies around are not on it, so nobody needs to know where a user keeps his keys.
"""

from __future__ import annotations

import glob
import os
import shutil
import site
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
VENDORS = ("/opt/rocm*", "/opt/cuda*", "/opt/nvidia*", "/opt/intel", "/opt/amd*")
SETTINGS = (
    "alternatives", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "passwd",
    "OpenCL", "vulkan", "nvidia",
)  # fmt: skip
KERNEL = ("/sys/bus", "/sys/class", "/sys/dev", "/sys/devices", "/sys/module")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")  # accelerators are behind the wall
COMPILERS = ("cc", "gcc", "clang", "ld", "ptxas", "nvcc")
OTHERS_READ, OTHERS_SEARCH = 0o004, 0o001


@dataclass(frozen=True)
class World:
    """Paths that stay visible; everything else is not there."""

    trees: tuple[str, ...]  # directories and files, none inside another
    links: tuple[tuple[str, str], ...] = ()  # symbolic links beside them: path, what it says
    devices: tuple[str, ...] = ()
    probes: tuple[str, ...] = field(default=(), repr=False)  # files that every worker must be able to read

    def holds(self, path: str) -> bool:
        """Whether `path` is visible."""
        return any(_inside(path, tree) for tree in self.trees)

    def for_others(self, traverse: bool) -> bool:
        """Whether a user who owns nothing here could work; `traverse`: also reach the trees from the root."""
        return all(self._readable(path, traverse) for path in self.probes)

    def _readable(self, path: str, traverse: bool) -> bool:
        top = next((tree for tree in self.trees if _inside(path, tree)), "/")
        try:
            if not os.stat(path).st_mode & OTHERS_READ:
                return False
            for parent in Path(path).parents:
                if (traverse or _inside(str(parent), top)) and not os.stat(parent).st_mode & OTHERS_SEARCH:
                    return False
        except OSError:
            return False
        return True


def survey(extra: tuple[str, ...] = (), folder: str = "/") -> World:
    """Return the world of this process's children; `extra` paths are added to what is found.

    `folder` is where the user works, which no tree may show for being above it.
    """
    found = [path for path in SYSTEM if os.path.isdir(path)]
    links = [(path, os.readlink(path)) for path in found if os.path.islink(path)]
    trees = [path for path in found if not os.path.islink(path)]
    trees += [path for pattern in VENDORS for path in glob.glob(pattern)]
    trees += [path for path in KERNEL if os.path.isdir(path)]
    trees += [path for name in SETTINGS if os.path.exists(path := f"/etc/{name}")]
    trees += _python(folder)
    trees += _compilers(trees, folder)
    trees += [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isdir(path)]
    trees += _importable(trees)
    trees += [os.path.abspath(path) for path in extra if os.path.exists(path)]
    trees += _mapped(trees)
    trees = _outermost(trees)
    nodes = [path for pattern in DEVICES for path in sorted(glob.glob(pattern)) if _is_device(path)]
    modules = (sys.modules.get(name) for name in ("os", "torch", "triton", "bringup.judge._worker", "numpy"))
    probes = [file for module in modules if (file := getattr(module, "__file__", None))]
    return World(tuple(trees), tuple(links), tuple(dict.fromkeys(nodes)), tuple(probes))


def _inside(path: str, tree: str) -> bool:
    return path == tree or path.startswith(tree.rstrip("/") + "/")


def _outermost(paths: list[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted({p for given in paths for p in (os.path.abspath(given), os.path.realpath(given))}):
        if not any(_inside(path, tree) for tree in kept):
            kept.append(path)
    return kept


def _python(folder: str) -> list[str]:
    """The interpreter, its library and the places of packages."""
    paths: list[str] = []
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        if not _too_wide(prefix, folder):
            paths.append(prefix)
    paths += [path for name, path in sysconfig.get_paths().items() if name in {"stdlib", "platstdlib"}]
    paths += [path for path in (*site.getsitepackages(), site.getusersitepackages()) if path in sys.path]
    return [path for path in paths if os.path.isdir(path)]


def _too_wide(path: str, folder: str) -> bool:
    """Whether a tree would show what it must not: the root, the user's home or the working directory."""
    path = os.path.realpath(path)
    home = os.path.realpath(os.path.expanduser(f"~{_user()}"))
    return any(_inside(place, path) for place in (home, os.path.realpath(folder)))


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _compilers(known: list[str], folder: str) -> list[str]:
    """Install prefixes of compilers in other places than the system's."""
    files = [os.path.realpath(path) for name in COMPILERS if (path := shutil.which(name))]
    prefixes = [os.path.dirname(os.path.dirname(path)) for path in files if not _known(path, known)]
    return [prefix for prefix in prefixes if not _too_wide(prefix, folder)]


def _importable(known: list[str]) -> list[str]:
    """What can be imported from places outside the prefixes: packages and modules, nothing else that lies there."""
    paths: list[str] = []
    for entry in sys.path:
        if not os.path.isdir(entry) or _known(entry, known):
            continue
        for item in os.scandir(entry):
            is_package = item.is_dir() and os.path.exists(os.path.join(item.path, "__init__.py"))
            if is_package or item.name.endswith((".py", ".so", ".dist-info", ".egg-info")):
                paths.append(item.path)
    loaded = [module for name, module in list(sys.modules.items()) if "." not in name]
    for module in loaded:  # editable installs whose finder is no entry of sys.path, and namespace packages
        places = list(getattr(module, "__path__", ())) or [getattr(module, "__file__", None) or ""]
        paths += [place for place in places if os.path.exists(place) and not _known(place, known)]
    return paths


def _mapped(known: list[str]) -> list[str]:
    """Directories of shared libraries that are loaded already: what they load later mostly lies beside them."""
    temporary = os.path.realpath(os.environ.get("TMPDIR", "/tmp"))
    with open("/proc/self/maps") as file:
        files = {line.split(maxsplit=5)[5].strip() for line in file if line.count(" /")}
    libraries = [path for path in files if os.path.isfile(path) and not _inside(path, temporary)]
    return [os.path.dirname(path) for path in libraries if not _known(path, known)]


def _known(path: str, trees: list[str]) -> bool:
    return any(_inside(path, tree) or _inside(os.path.realpath(path), tree) for tree in trees)


def _is_device(path: str) -> bool:
    return not os.path.isdir(path) and not os.path.isfile(path)
