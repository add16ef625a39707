"""The main process's handles on the judge's: fork servers, and the referees that they fork."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import bringup
from bringup.device.frames import PREFIX, pack
from bringup.errors import EnvironmentFault
from bringup.judge._tidy import last_line, short_path
from bringup.judge._wire import Answer, Assignment
from bringup.judge.job import Progress
from bringup.judge.sandbox import ask

# Workers see these variables and no others: no key, token or path of the user's reaches a candidate. Guests see still
# fewer (`_fork_server`): what differs between two processes of one user is no sign to go by.
PASSED_ENVIRONMENT = (
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
)
PASSED_FOLDERS = ("BRINGUP_VPE_DUMPS",)  # relative to where the program works, and nothing else is: servers start in /
PATHS = "paths.json"  # in a fork server's home: where the process that starts it finds modules
# Beside it: variables for the services that need more than guests. Guests are copies of a server that has never been
# told a path of the user's, for what is overwritten has left its size in memory: it knows the folders by descriptors.
VARIABLES = "variables.json"
SCRATCH_AT, CACHE_AT = 8, 9
DESCRIPTORS = "/proc/self/fd/"
PADDING, BLOCK = "BRINGUP_PADDING", 1 << 13  # a variable that makes all variables together as long as such a block
KEPT_OPERATORS = 8  # whose inputs and references a referee keeps in memory
BUSY = "; the machine is busy or short of memory: use fewer jobs (`--jobs`), or end other work, and try again"
START_SECONDS = 180.0  # for the fork server's imports on a busy machine


def process_environment(role: str, scratch: str, kernel_cache: str | None, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a fork server whose home is the folder `scratch`; leave what they do not say there."""
    paths = [os.path.abspath(path) for path in sys.path if path and os.path.isdir(path)]
    mine = _of_the_program()
    paths = [path for path in paths if path not in mine or _is_installed(path)]
    Path(scratch, PATHS).write_text(json.dumps(paths), encoding="utf-8")
    theirs = {
        **{name: os.path.abspath(os.environ[name]) for name in PASSED_FOLDERS if name in os.environ},
        "PATH": os.environ.get("PATH", os.defpath),
        **_folders(scratch, kernel_cache),
    }
    if role == "run":
        known = {f"{DESCRIPTORS}{SCRATCH_AT}": scratch, f"{DESCRIPTORS}{CACHE_AT}": kernel_cache or ""}
        told = {"variables": theirs, "folders": known}
        Path(scratch, VARIABLES).write_text(json.dumps(told), encoding="utf-8")
        at_scratch, at_cache = known
        theirs = {"PATH": os.defpath, **_folders(at_scratch, at_cache if kernel_cache else None)}
    variables = {
        **{name: os.environ[name] for name in PASSED_ENVIRONMENT if name in os.environ},
        **theirs,
        "OMP_NUM_THREADS": "1",
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",  # else the number of the processor stands in each thread's memory
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",  # each process registers the devices of its own making
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(Path(bringup.__file__).resolve().parents[1]),
        **extra,
    }
    # Guests see how long the block of all is, and nothing else of it.
    size = sum(len(os.fsencode(f"{name}={value}")) + 1 for name, value in variables.items())
    return {**variables, PADDING: "." * (-(size + len(PADDING) + 2) % BLOCK)}


def _folders(scratch: str, kernel_cache: str | None) -> dict[str, str]:
    known = {"HOME": scratch, "TMPDIR": scratch, "TRITON_CACHE_DIR": os.path.join(scratch, "triton")}
    return {**known, **({"BRINGUP_KERNEL_CACHE": kernel_cache} if kernel_cache else {})}


def _of_the_program() -> set[str]:
    """Folders that are on the path because of the program that runs here: its script's, and where it was started.

    Guests see what lies on their path. The user's files are none of their business, and would tell them who calls.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    found: set[str] = set()
    with contextlib.suppress(OSError):  # the folder is gone: then it is not on the path either
        found.add(os.getcwd())
        if script:
            found.add(os.path.dirname(os.path.abspath(script)))
    return found


def _is_installed(folder: str) -> bool:
    """Whether packages are installed in a folder, or bringup itself lies there: a plug-in may be where one works."""
    if os.path.isfile(os.path.join(folder, "bringup", "__init__.py")):
        return True
    return any(name.endswith((".dist-info", ".egg-info")) for name in os.listdir(folder))


BOOT = """
import ctypes, os, resource, signal, sys
given = [int(number) for number in sys.argv.pop(1).split(",")]
for number in [os.dup2(one, 40 + at) for at, one in enumerate(given)]:
    os.dup2(number, number - 32)
os.closerange(8 + len(given), 1 << 16)
try:
    os.sched_setaffinity(0, range(1024))
except OSError:
    pass
os.umask(0o022)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_DFL)
    except OSError:
        pass
signal.pthread_sigmask(signal.SIG_SETMASK, ())
hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
stack = 8 << 20 if hard == resource.RLIM_INFINITY else min(8 << 20, hard)
resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
ctypes.CDLL(None).personality(0x0040000)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""What children would inherit, and see, is set; addresses are not drawn. Then the process begins anew.

It may run on all processors until it is ready: how many it finds, it makes room for. See `confine`.
"""
START = """
import sys, types
sandbox, role = sys.argv.pop(1), sys.argv[1]
clock = ""
if role == "run":
    for name in ("bringup", "bringup.judge", "bringup.judge.sandbox"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [sandbox]
    from bringup.judge.sandbox import _start
    clock = _start.begin()
    for name in [name for name in sys.modules if name.partition(".")[0] == "bringup"]:
        del sys.modules[name]
from bringup.judge import _fork_server
_fork_server.main(clock)
"""
"""What the imports of the parent of guests would note is set before the first one of them: see `sandbox._start`."""


@contextlib.contextmanager
def server_folders(environment: Mapping[str, str], scratch: str, kernel_cache: str | None) -> Iterator[tuple[int, ...]]:
    """Open the folders that a fork server with these variables knows by descriptors: to be passed to it."""
    folders = [scratch, *([kernel_cache] if "BRINGUP_KERNEL_CACHE" in environment and kernel_cache else [])]
    with contextlib.ExitStack() as opened:
        found = []
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
            found.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            opened.callback(os.close, found[-1])
        yield tuple(found)


def confine(pid: int) -> None:
    """Have a fork server that is ready, and so all that it forks, run on the processors that this process may use."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(pid, os.sched_getaffinity(0))


def server_command(role: str, target: str, folders: Sequence[int]) -> list[str]:
    """Return the command of a fork server that is told on its standard input, a socket, what to fork.

    Guests are its copies, and a candidate could go by whatever its starter has left in it: see `BOOT`. `folders`: see
    `server_folders`.
    """
    python, sandbox = interpreter(), os.path.join(os.path.dirname(os.path.abspath(__file__)), "sandbox")
    given = ",".join(map(str, folders))
    return [python, "-I", "-S", "-c", BOOT, given, python, "-P", "-c", START, sandbox, role, target]


def service(name: str) -> bytes:
    """What a fork server is asked for a service by: its name, and where this program works, which no guest is told."""
    folder = "/"
    if name == "compiles":
        with contextlib.suppress(OSError):
            folder = os.getcwd()
    return json.dumps({"service": name, "folder": folder}).encode()


def interpreter() -> str:
    """This interpreter by the one name that every program's processes give it, however the program was called."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for name in (f"python{version}", "python3", "python"):
        path = os.path.join(sys.prefix, "bin", name)
        with contextlib.suppress(OSError):
            if os.path.samefile(path, sys.executable):
                return path
    return sys.executable


class JudgeFault(EnvironmentFault):
    """The judge itself does not work here: its processes do not start, or break on an internal error."""


def start_failure(code: int, log: str) -> JudgeFault:
    """Return the error for a fork server that has ended while it was starting; `log`: its file."""
    said = last_said(log)
    text = f"the judge's fork server ended with code {code} while importing torch and Triton"
    return JudgeFault(f"{text}: {said}" if said else text)


def last_said(log: str) -> str:
    """Return the last line that a log has, "" where it has none or is not there."""
    with contextlib.suppress(OSError):
        return last_line(Path(log).read_text(encoding="utf-8", errors="replace"))
    return ""


# As Python's faulthandler writes it: what it was, and where the thread was that it befell.
CRASH = re.compile(r"^Fatal Python error: (.+)\n(?:[\s\S]*?^Current thread.*\n((?: *File .*\n?)*))?", re.M)
CRASH_FRAME = re.compile(r' *File "(.+)", line (\d+) in (.+)')
MOST_FRAMES = 8  # that are told, the innermost first: what crashes is often called without a frame of Python's own


def log_size(log: str) -> int:
    """Return how many bytes a log has."""
    with contextlib.suppress(OSError):
        return os.path.getsize(log)
    return 0


def crash_said(log: str, begin: int) -> str:
    """Return how a process has ended by the dump of its stack in a log, from a byte on; "" where there is none."""
    try:
        with open(log, "rb") as file:
            file.seek(begin)
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    found = CRASH.search(text)
    if found is None:
        return ""
    frames = CRASH_FRAME.findall(found[2] or "")[:MOST_FRAMES]
    return found[1] + ",".join(f" in {name} ({short_path(path)}:{line})" for path, line, name in frames)


class SlotLost(Exception):
    """The referee of a slot is gone, or does not answer."""


class Slot:
    """One judge process, at most one job at a time."""

    def __init__(self, sock: socket.socket) -> None:
        """Take the socket to a referee that was just forked."""
        self.sock = sock
        self.broken = False
        self.pid = 0
        self.known: tuple[str, ...] = ()  # operators that it did, the latest last

    def knows(self, operator: str) -> None:
        """Remember an operator that it does."""
        self.known = (*(one for one in self.known if one != operator), operator)[-KEPT_OPERATORS:]

    async def open(self) -> None:
        """Wait until the referee is ready; raises JudgeFault."""
        self.reader, self.writer = await asyncio.open_unix_connection(sock=self.sock, limit=1 << 26)
        try:
            header = await asyncio.wait_for(self._receive(), START_SECONDS)
        except TimeoutError as error:
            raise JudgeFault(f"a judge process did not start within {START_SECONDS:g} s{BUSY}") from error
        except (OSError, EOFError) as error:
            raise JudgeFault(f"a judge process did not start: {error or type(error).__name__}") from error
        self.pid = int(header["pid"])

    async def run(self, assignment: Assignment, progress: Progress | None) -> Answer:
        """Have the job done; raises SlotLost, or JudgeFault where the referee says that it cannot."""
        try:
            async with asyncio.timeout(assignment.work.patience):
                for buffer in pack(assignment.model_dump(mode="json")):
                    self.writer.write(buffer)
                await self.writer.drain()
                while True:
                    answer = Answer.model_validate(await self._receive())
                    if answer.fault is not None:
                        raise JudgeFault(answer.fault)
                    if answer.internal is not None:
                        raise JudgeFault(f"the judge failed on an internal error:\n{answer.internal}")
                    if answer.case is None:
                        return answer
                    if progress is not None:
                        progress(answer.case.case, answer.case.kind)
        except (OSError, EOFError, TimeoutError) as error:
            self.broken = True
            raise SlotLost(f"{type(error).__name__}: {error}") from error

    async def _receive(self) -> dict[str, Any]:
        prefix = await self.reader.readexactly(PREFIX.size)
        header_size, payload_size = PREFIX.unpack(prefix)
        header = json.loads(await self.reader.readexactly(header_size))
        if payload_size:
            await self.reader.readexactly(payload_size)
        return header  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Hang up; the referee ends with its socket, a broken one is ended."""
        with contextlib.suppress(OSError, AttributeError):
            self.writer.close()
            await self.writer.wait_closed()
        if self.broken and self.pid:
            with contextlib.suppress(OSError):
                os.kill(self.pid, 9)


class ForkServer:
    """A fork server process and its control socket."""

    def __init__(
        self, role: str, environment: dict[str, str], directory: str, target: str = "", kernel_cache: str | None = None
    ) -> None:
        """Describe it: `role` as in `_fork_server`, its home, for its log, and the target as `get_target` takes it."""
        self.home, self.kernel_cache = directory, kernel_cache
        self.role = role
        self.target = target
        self.environment = environment
        self.log = os.path.join(directory, f"{role}.log")
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process and wait until it has imported everything; raises JudgeFault."""
        ours, theirs = socket.socketpair()
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with server_folders(self.environment, self.home, self.kernel_cache) as folders:
            self.process = await asyncio.create_subprocess_exec(
                *server_command(self.role, self.target, folders),
                env=self.environment,
                stdin=theirs.fileno(),
                stdout=log,
                stderr=log,
                pass_fds=folders,
            )
        os.close(log)
        theirs.close()
        ours.setblocking(False)
        self.control = ours
        loop = asyncio.get_running_loop()
        try:
            answer = await asyncio.wait_for(loop.sock_recv(ours, 64), START_SECONDS)
        except TimeoutError as error:
            raise JudgeFault(f"the judge's fork server did not start within {START_SECONDS:g} s{BUSY}") from error
        if answer != b"ready\n":
            code = await self.process.wait()
            raise start_failure(code, self.log)
        confine(self.process.pid)

    def fork(self, name: str, descriptors: list[int]) -> None:
        """Have it fork a service that gets these descriptors."""
        ask(self.control, descriptors, service(name))

    async def close(self) -> None:
        """End it."""
        if self.process is None:
            return
        self.control.close()
        try:
            await asyncio.wait_for(self.process.wait(), 5)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):  # it ended while the loop was late
                self.process.kill()
            await self.process.wait()
