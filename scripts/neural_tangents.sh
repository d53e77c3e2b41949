#!/usr/bin/env bash
# An environment of its own for Neural Tangents, which needs an old jax; prints the path of its python. Safe to run twice.
# usage: scripts/neural_tangents.sh [directory]
set -euo pipefail
cd "$(dirname "$0")/.."
home=${1:-.cache/neural-tangents}
if [ ! -f "$home/.installed" ]; then
  uv=${VENV:-.venv}/bin/uv
  "$uv" venv --quiet --clear --python 3.11 "$home" >&2
  "$uv" pip install --quiet --python "$home/bin/python" neural-tangents==0.6.5 jax==0.5.3 jaxlib==0.5.3 tf2jax==0.3.5 >&2
  touch "$home/.installed"
fi
echo "$home/bin/python"
