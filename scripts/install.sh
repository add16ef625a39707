#!/usr/bin/env bash
# Make the virtual environment and install bringup with its development tools, versions pinned by constraints.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
venv="${VENV:-.venv}"

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "error: $python is older than Python 3.11; set PYTHON to a newer one" >&2
    exit 3
fi
if [ ! -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv" || {
        # Debian ships venv apart from Python itself.
        if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
            rm -rf "$venv"
            apt-get update -q && apt-get install -qy python3-venv
            "$python" -m venv "$venv"
        else
            echo "error: cannot make a virtual environment; install your system's python3-venv package" >&2
            exit 3
        fi
    }
fi
# Twice quiet: errors are told, the warnings of every index that has not every package are not.
pip=("$venv/bin/python" -m pip install --quiet --quiet --disable-pip-version-check)
"${pip[@]}" --upgrade 'pip>=25.1'
# torch first and alone: a CPU build where one is offered, and nothing later may replace it.
"$venv/bin/python" -c 'import torch' 2>/dev/null || "${pip[@]}" --constraint constraints.txt torch
"${pip[@]}" --constraint constraints.txt --group dev --editable .
# Judge processes write no bytecode: without it each of them would compile what only they import.
"$venv/bin/python" -m compileall -q src/bringup
"$venv/bin/python" -c 'import bringup, torch, triton; print("bringup", bringup.__version__, "torch", torch.__version__, "triton", triton.__version__)'
