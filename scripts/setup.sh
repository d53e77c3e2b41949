#!/usr/bin/env bash
# One environment in .venv: every package by hash from constraints.txt, then our two distributions, editable. Safe to run twice.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
stamp=$venv/.installed
sources=(constraints.txt pyproject.toml packaging/globalmin-check/pyproject.toml src/globalmin_check)  # the checker is installed as a copy
if [ -f "$stamp" ] && [ -z "$(find "${sources[@]}" -name '*.py' -newer "$stamp" -o -name '*.t*' -newer "$stamp" | head -1)" ]; then
  exit 0
fi
scripts/debian.sh
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if [ ! -x "$venv/bin/uv" ]; then
  only_uv=$(mktemp)
  trap 'rm -f "$only_uv"' EXIT
  awk '/^[a-zA-Z0-9]/ {keep = ($0 ~ /^uv==/)} keep' constraints.txt > "$only_uv"
  "$venv/bin/python" -m pip install --quiet --require-hashes --no-deps -r "$only_uv"
fi
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --compile-bytecode --require-hashes -r constraints.txt
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation -e packaging/globalmin-check -e .
touch "$stamp"
