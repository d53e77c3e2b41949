#!/usr/bin/env bash
# torch for the tests: its CPU build by hash (the default build brings several gigabytes of accelerator packages). Safe to run twice.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
stamp=$venv/.installed-torch
if [ -f "$stamp" ] && [ "$stamp" -nt constraints-torch.txt ]; then
  exit 0
fi
if ! "$venv/bin/python" -m pip install -qqq --require-hashes --no-deps -r constraints-torch.txt; then
  echo "torch 2.13.0+cpu is not at your package index: add one that carries torch's CPU wheels through PIP_EXTRA_INDEX_URL." >&2
  exit 1
fi
touch "$stamp"
