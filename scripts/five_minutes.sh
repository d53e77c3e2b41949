#!/usr/bin/env bash
# The walk of a new user, timed: both wheels, a clean environment, torch, and the block "Certify a torch model" of
# docs/bring-your-model.md as printed, then the independent program on the file it leaves. Give an empty folder for everything.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?give a folder, for instance out/walk}
if [ -e "$out/env" ]; then
  echo "$out/env is there already: give a new folder." >&2
  exit 2
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
begun=$(date +%s)
step() { echo "$(($(date +%s) - begun)) s: $*"; }
python3 -m venv "$out/env"
pip() { "$out/env/bin/python" -m pip install --quiet "$@"; }
pip build
"$out/env/bin/python" -m build --wheel --outdir "$out/wheels" packaging/globalmin-check > "$out/build.log"
"$out/env/bin/python" -m build --wheel --outdir "$out/wheels" . >> "$out/build.log"
step "two wheels built"
pip "$out"/wheels/*.whl
step "wheels and their dependencies installed"
pip --require-hashes --no-deps -r constraints-torch.txt || true # its CPU build, where the index has it
pip torch                                                        # and what it needs
step "torch installed"
"$out/env/bin/python" - docs/bring-your-model.md > "$out/walk.py" << 'PY'
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
print("".join(re.findall(r"```python\n(.*?)```", page, re.S)[:2]))
PY
cd "$out"
env/bin/python walk.py
step "a torch model trained, examined and certified"
env/bin/globalmin-check examined/given.gmc
step "the certificate accepted by the independent program"
echo "processor time, user and system:"
times | tail -1
