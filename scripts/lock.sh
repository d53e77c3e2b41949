#!/usr/bin/env bash
# Resolve every dependency anew into constraints.txt, the peers of the benchmarks, which have an environment of their own, into
# bench/constraints-peers.txt, and torch, which only the tests use, into constraints-torch.txt: exact versions, hashes of all files, no registry address.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
  "${VENV:-.venv}/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
    --no-emit-find-links --no-annotate "$@"
}
compile --no-emit-package globalmin-check --extra parquet --extra deep --extra dask --extra ray \
  --group test --group frameworks --group lint --group docs --group build --group setup pyproject.toml -o constraints.txt
scripts/peers.sh --lock
python=${VENV:-.venv}/bin/python
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
"$python" -m pip download --quiet --no-deps --dest "$wheels" torch==2.13.0+cpu
printf 'torch==2.13.0+cpu \\\n%s\n' "$("$python" -m pip hash "$wheels"/torch-*.whl | grep -o -- '--hash=.*' | sed 's/^/    /')" > constraints-torch.txt
rest=$(mktemp)
compile --group pyproject.toml:torch --constraints constraints.txt -o "$rest"
cat "$rest" >> constraints-torch.txt
rm -f "$rest"
