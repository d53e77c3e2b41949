#!/usr/bin/env bash
# Resolve every dependency anew into constraints.txt, and the peers of the benchmarks, which `make setup` leaves out, into
# bench/constraints.txt: exact versions, hashes of all files, no registry address.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
  "${VENV:-.venv}/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
    --no-emit-find-links --no-annotate "$@"
}
compile --no-emit-package globalmin-check --all-extras \
  --group test --group lint --group docs --group build --group setup pyproject.toml -o constraints.txt
compile --group pyproject.toml:baselines --constraints constraints.txt -o bench/constraints.txt
