#!/usr/bin/env bash
# The main job on a real table: train, prove, check with the independent program, report; first zero training loss, then the
# model for new rows, with weight decay, then a network that torch trained. Everything lands in out/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo
mkdir -p "$out"
.venv/bin/python scripts/diabetes_csv.py "$out/diabetes.csv"
fit() { # name, then options of `globalmin fit`
  local name=$1
  shift
  .venv/bin/globalmin fit "$out/diabetes.csv" --target progression --out "$out/$name" --force "$@"
  .venv/bin/globalmin-check "$out/$name/certificate.gmc"
  echo
}
fit softplus --interpolate --activation softplus --test-size 0
fit relu --interpolate --activation relu --test-size 0
fit held-out --interpolate --activation softplus --test-size 0.25
fit regularized --test-size 0.25
.venv/bin/python scripts/torch_network.py "$out/diabetes.csv" "$out/rows.csv" "$out/theirs.pt"
.venv/bin/globalmin examine "$out/theirs.pt" "$out/rows.csv" --target progression --activation tanh --out "$out/examined"
.venv/bin/globalmin-check "$out/examined/given.gmc"
echo
echo "Open $out/regularized/report.html (chosen by cross-validation), $out/softplus/report.html, $out/relu/report.html and $out/held-out/report.html."
