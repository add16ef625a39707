#!/usr/bin/env bash
# Test bringup with several versions of torch, each with the Triton that it is built for, in virtual environments of
# their own. Prints a line for each and exits with 1 when any of them failed, 3 when one could not be installed.
set -uo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'TEXT'
usage: scripts/test_matrix.sh [--index-url URL] [--find-links DIR] [--folder DIR] [--fast] [TORCH:TRITON ...] [-- PYTEST OPTIONS]

  TORCH:TRITON      versions, by default 2.11.0:3.6.0 2.12.0:3.7.0 2.13.0:3.7.1
  --index-url URL   where torch comes from: an index with CPU builds (default: pip's own configuration)
  --find-links DIR  a folder or page with wheels of torch, beside the index
  --folder DIR      where the virtual environments are kept (default: .matrix)
  --fast            only the tests of `make test-fast`
  -- ...            handed to pytest

A build of torch for CUDA is refused before it is fetched.
TEXT
}

index=() links=() folder=.matrix fast=no pairs=() options=()
while [ $# -gt 0 ]; do
    case "$1" in
        --index-url | --find-links | --folder)
            [ $# -ge 2 ] || { echo "error: $1 needs a value" >&2; usage >&2; exit 2; }
            case "$1" in
                --index-url) index=(--index-url "$2") ;;
                --find-links) links=(--find-links "$2") ;;
                --folder) folder="$2" ;;
            esac
            shift 2 ;;
        --fast) fast=yes; shift ;;
        --help | -h) usage; exit 0 ;;
        --) shift; options=("$@"); break ;;
        *:*) pairs+=("$1"); shift ;;
        *) echo "error: '$1' is neither an option nor TORCH:TRITON" >&2; usage >&2; exit 2 ;;
    esac
done
[ ${#pairs[@]} -gt 0 ] || pairs=(2.11.0:3.6.0 2.12.0:3.7.0 2.13.0:3.7.1)
[ ${#options[@]} -gt 0 ] || options=(-n 2 --dist loadfile --no-loadscope-reorder)
[ "$fast" = no ] || options+=(-m "not slow" $(make --silent --no-print-directory fast-tests))

mkdir -p "$folder"
# The pins of constraints.txt but for the two that vary and what they decide.
grep -viE '^(torch|triton|numpy|sympy|networkx|mpmath|setuptools)==' constraints.txt >"$folder/constraints.txt"

# Install one pair into $1, which may be there from before; what went wrong is told in one line.
install() {
    local venv="$1" torch="$2" triton="$3" log="$4" pip
    [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv" >>"$log" 2>&1 || { echo "no virtual environment"; return 1; }
    pip=("$venv/bin/python" -m pip --quiet --disable-pip-version-check)
    "${pip[@]}" install --upgrade 'pip>=25.1' >>"$log" 2>&1 || { echo "pip cannot be brought up to date"; return 1; }
    if ! "$venv/bin/python" -c "import torch; assert torch.__version__.split('+')[0] == '$torch'" 2>/dev/null; then
        # Asked first, since the wheels of CUDA builds weigh gigabytes: they are the ones that want NVIDIA's packages.
        if ! "${pip[@]}" install --dry-run --no-deps --ignore-installed --report "$venv/report.json" "${index[@]}" "${links[@]}" "torch==$torch" >>"$log" 2>&1; then
            echo "torch $torch is not offered: name an index with CPU builds (--index-url)"
            return 1
        fi
        if grep -qE '"(nvidia|cuda)-' "$venv/report.json"; then
            echo "torch $torch is offered for CUDA only: name an index with CPU builds (--index-url)"
            return 1
        fi
        "${pip[@]}" install "${index[@]}" "${links[@]}" "torch==$torch" >>"$log" 2>&1 || { echo "torch $torch does not install"; return 1; }
    fi
    "${pip[@]}" install "triton==$triton" >>"$log" 2>&1 || { echo "triton $triton does not install"; return 1; }
    printf 'torch==%s\ntriton==%s\n' "$torch" "$triton" | cat "$folder/constraints.txt" - >"$venv/constraints.txt"
    "${pip[@]}" install --constraint "$venv/constraints.txt" --group dev --editable . >>"$log" 2>&1 || { echo "bringup does not install"; return 1; }
}

status=0
for pair in "${pairs[@]}"; do
    torch="${pair%%:*}" triton="${pair##*:}"
    venv="$folder/torch-$torch-triton-$triton" log="$folder/torch-$torch-triton-$triton.log"
    : >"$log"
    if ! why=$(install "$venv" "$torch" "$triton" "$log"); then
        echo "torch $torch, triton $triton: not tested: $why; see $log"
        [ "$status" = 1 ] || status=3
        continue
    fi
    if "$venv/bin/python" -m pytest "${options[@]}" >>"$log" 2>&1; then
        echo "torch $torch, triton $triton: $(tail -n 1 "$log")"
    else
        echo "torch $torch, triton $triton: FAILED: $(tail -n 1 "$log"); see $log"
        status=1
    fi
done
exit "$status"
