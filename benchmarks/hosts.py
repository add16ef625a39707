"""The same verdicts on every host: PyTorch judged with itself, and the recorded kernels, under other instruction sets.

    python benchmarks/hosts.py [--ops GLOBS] [--only oracle|recorded] [--hosts default,avx2] [--jobs N]
    python benchmarks/hosts.py --only oracle --keep FOLDER --minutes 9     # a slice; again and again until all is done

Runs `benchmarks/oracle.py` (comparison only) and `benchmarks/rejudge.py` once for each of a few processors, which it
feigns by the variables that PyTorch, oneDNN and MKL read. Prints what is not passed, and what is not the same
everywhere: verdicts, inputs, references that must be met bit for bit; exit code 1 if there are any. References that
have no exact counterpart and differ are named as well: there a verdict hangs on assert_close's tolerance.

`--keep` holds what has been judged; a further call goes on from there. An operator is judged again when the code of the
judge, the operator's cases or its rule in the table of classes have changed.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import bringup
from bringup.accuracy import rule_of
from bringup.clients.recording import RecordingSet, find_set
from bringup.suites import get_suite, select
from bringup.targets import get_target

HOSTS: dict[str, dict[str, str]] = {
    "avx512": {"ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "OMP_NUM_THREADS": "1"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "2"},
    "default": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "OMP_NUM_THREADS": "1"},
    "avx512-threads": {"ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "OMP_NUM_THREADS": "2"},
    "avx2-single": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"},
    "default-threads": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "OMP_NUM_THREADS": "2"},
}
USUAL = "avx512,avx2,default"
DEVICE = {"oracle": "vpe", "recorded": "vpe:pe64"}
TITLES = {"oracle": "PyTorch itself", "recorded": "recorded kernels"}
SLICE = 48  # operators judged by one command, or so many for each job: what an interruption costs
EACH = 20
FOLDER = Path(__file__).parent
SOURCES = ("accuracy/*.py", "judge/*.py", "suites/*.py", "device/*.py", "suites/data/*.yaml", "suites/audit/*.py")
Found = dict[str, dict[str, Any]]


@functools.cache
def code() -> str:
    """Digest of what decides, the table of classes apart."""
    digest = hashlib.sha256()
    root = Path(bringup.__file__).parent
    files = [path for glob in SOURCES for path in sorted(root.glob(glob))]
    for path in [*files, *sorted(FOLDER.glob("*.py"))]:
        if path.name != Path(__file__).name:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def state_of(name: str) -> str:
    """Digest of what an operator's verdict depends on."""
    operator = get_suite("opinfo").operator(name)
    return hashlib.sha256(f"{code()} {operator.model_dump_json()} {rule_of(name)}".encode()).hexdigest()[:16]


def names_of(what: str, ops: str, recordings: str) -> list[str]:
    """Return the operators to judge."""
    features = get_target(DEVICE[what]).features
    chosen = select(get_suite("opinfo"), ops.split(","))
    if what == "oracle":
        return [operator.name for operator in chosen if operator.not_applicable(features) is None]
    recorded = RecordingSet(find_set(recordings)).candidates()
    return [operator.name for operator in chosen if operator.name in recorded]


def judge(what: str, names: list[str], host: dict[str, str], recordings: str, jobs: str) -> Found:
    """Run a benchmark as if on `host`; return what it writes for each operator."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        ops = ",".join(names)
        command = [sys.executable, str(FOLDER / "oracle.py"), "--ops", ops]
        if what == "recorded":
            command = [sys.executable, str(FOLDER / "rejudge.py"), "--ops", ops, "--keep-going"]
            command += ["--target", DEVICE[what], "--recordings", recordings]
        command += ["--jobs", jobs, "--out", str(out)]
        subprocess.run(command, check=True, env={**os.environ, **host}, stdout=subprocess.DEVNULL)
        text = out.read_text(encoding="utf-8")
    if what == "recorded":  # a verdict a line
        found: Found = {line["operator"]: line["verdict"] for line in map(json.loads, text.splitlines())}
    else:
        found = json.loads(text)
    kept = ("kind", "cases_passed", "case", "summary", "references")
    return {
        name: {key: one[key] for key in kept if key in one} | {"state": state_of(name)} for name, one in found.items()
    }


def judge_all(what: str, names: list[str], host: str, file: Path, end: float, options: argparse.Namespace) -> Found:
    """Judge what `file` does not hold yet, slice by slice, until the time `end`; return what there is."""
    known: Found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    left = [name for name in names if known.get(name, {}).get("state") != state_of(name)]
    size = max(SLICE, EACH * int(options.jobs))
    for start in range(0, len(left), size):
        if time.monotonic() >= end:
            break
        known |= judge(what, left[start : start + size], HOSTS[host], options.recordings, options.jobs)
        file.write_text(json.dumps(known, indent=1), encoding="utf-8")
    return {name: known[name] for name in names if known.get(name, {}).get("state") == state_of(name)}


def verdict_of(found: dict[str, Any]) -> str:
    """Return kind, cases passed and the first failing case as text."""
    case = found.get("case")
    where = f"{case['dtype']}:{case['index']}" if isinstance(case, dict) else str(case or "")
    return f"{found['kind']}, {found['cases_passed']} passed{f', first {where}' if where else ''}"


def compare(what: str, judged: dict[str, Found]) -> int:
    """Print failures and differences; return how many operators differ."""
    title, differing = TITLES[what], 0
    names = sorted(set.intersection(*(set(found) for found in judged.values())))
    for name in names:
        ways = {host: verdict_of(found[name]) for host, found in judged.items()}
        if len(set(ways.values())) > 1:
            print(f"{title}: {name} differs: {'; '.join(f'{host}: {way}' for host, way in ways.items())}")
        elif not next(iter(ways.values())).startswith("passed"):
            print(f"{title}: {name} everywhere: {next(iter(ways.values()))}")
        inputs, exact, near = (
            differences(way, [found[name] for found in judged.values()]) for way in ("inputs", "exact", "host")
        )
        exact = [case for case in exact if case not in inputs]
        if inputs:
            print(f"{title}: {name}: other inputs on another host: {shown(inputs)}")
        if exact:
            print(f"{title}: {name}: another reference on another host, though it must be met exactly: {shown(exact)}")
        if near:
            print(f"{title}: {name}: no exact reference, and another one on another host: {shown(near)}")
        differing += len(set(ways.values())) > 1 or bool(exact or inputs)
    for host, found in judged.items():
        kinds = Counter(found[name]["kind"] for name in names)
        cases = sum(found[name]["cases_passed"] for name in names)
        print(f"{title}, {host}: {len(names)} operators, {cases} cases passed; operators by verdict: {dict(kinds)}")
    print(f"{title}: {differing} operators differ between hosts")
    return differing


def differences(way: str, found: list[dict[str, Any]]) -> list[str]:
    """Return the cases whose reference is not the same everywhere."""
    known = [one.get("references", {}) for one in found]
    return [case for case in known[0] if len({one.get(case, {}).get(way) for one in known}) > 1]


def shown(cases: list[str]) -> str:
    """Return cases as text, the first few by name."""
    return f"{', '.join(cases[:6])}{' ...' if len(cases) > 6 else ''} ({len(cases)})"


def main() -> None:
    """Judge and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default="all", help="globs, separated by commas")
    parser.add_argument("--recordings", default="vpe-pe64")
    parser.add_argument("--only", choices=("oracle", "recorded"))
    parser.add_argument("--hosts", default=USUAL, help="of " + ", ".join(HOSTS))
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--keep", type=Path, help="a folder for what has been judged")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so many")
    options = parser.parse_args()
    unknown = set(options.hosts.split(",")) - set(HOSTS)
    if unknown:
        parser.error(f"no such host: {', '.join(sorted(unknown))}; there are {', '.join(HOSTS)}")
    end = time.monotonic() + 60 * options.minutes
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for what in (options.only,) if options.only else ("oracle", "recorded"):
            names = names_of(what, options.ops, options.recordings)
            judged = {
                host: judge_all(what, names, host, folder / f"{what}-{host}.json", end, options)
                for host in options.hosts.split(",")
            }
            left = {host: len(names) - len(found) for host, found in judged.items() if len(found) < len(names)}
            if left:
                print(f"{TITLES[what]}: still to be judged: {left}; run the same command again")
            failed |= bool(compare(what, judged)) or bool(left)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
