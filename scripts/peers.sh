#!/usr/bin/env bash
# An environment of its own for the peers of bench/regularized_peers.py, with globalmin's dependencies beside them (pyGAM needs a scipy below
# ours); prints the path of its python. Every package by hash from bench/constraints-peers.txt, torch's CPU build from constraints-torch.txt.
# Safe to run twice.
# usage: scripts/peers.sh [directory]      the environment
#        scripts/peers.sh --lock           resolve bench/constraints-peers.txt anew
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${VENV:-.venv}/bin/uv
lock=bench/constraints-peers.txt
if [ "${1:-}" = --lock ]; then
  # pyscnn asks for torchvision without using it, and for torch's default build: neither is resolved here
  override=$(mktemp)
  trap 'rm -f "$override"' EXIT
  printf '%s\n' "torch ; sys_platform == 'never'" "torchvision ; sys_platform == 'never'" > "$override"
  "$uv" pip compile --quiet --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --no-annotate \
    --no-emit-package globalmin-check --override "$override" pyproject.toml --group peers -o "$lock"
  exit 0
fi
home=${1:-.cache/peers}
stamp=$home/.installed
if [ ! -f "$stamp" ] || [ "$lock" -nt "$stamp" ]; then
  "$uv" venv --quiet --clear --seed --python 3.11 "$home" >&2
  "$uv" pip install --quiet --python "$home/bin/python" --require-hashes --no-deps -r "$lock" >&2
  VENV=$home scripts/torch.sh >&2
  touch "$stamp"
fi
echo "$home/bin/python"
