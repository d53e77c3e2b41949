#!/usr/bin/env bash
# The walk of a new user, timed part by part: both wheels into a clean environment (their dependencies, no development
# tools), torch, the two blocks of docs/bring-your-model.md as printed, then the independent program on the file they leave.
# Who has torch already counts only the last line but one. Give an empty folder for everything.
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
last=$begun
part() { # what ended just now: its own seconds
  local now
  now=$(date +%s)
  echo "$((now - last)) s: $*"
  last=$now
}
python3 -m venv "$out/env"
pip() { "$out/env/bin/python" -m pip "$@"; }
pip wheel --quiet --no-deps --wheel-dir "$out/wheels" packaging/globalmin-check .
part "installation: a clean environment, two wheels built"
pip install --quiet "$out"/wheels/*.whl
part "installation: the wheels and their dependencies"
pip install --quiet --require-hashes --no-deps -r constraints-torch.txt || true # its CPU build, where the index has it
pip install --quiet torch                                                       # and what it needs
part "installation: torch"
"$out/env/bin/python" - docs/bring-your-model.md > "$out/walk.py" << 'PY'
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
print("".join(re.findall(r"```python\n(.*?)```", page, re.S)[:2]))
PY
cd "$out"
env/bin/python walk.py
env/bin/globalmin-check examined/given.gmc
part "the walk: a torch model trained, examined, certified, and its certificate accepted by the independent program"
echo "$((last - begun)) s: all; processor time of all, user and system:"
times > "$out/times"
tail -n 1 "$out/times"
