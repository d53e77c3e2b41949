#!/usr/bin/env bash
# Debian packages the project needs; does nothing where they are there already.
set -euo pipefail
missing=()
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
command -v git >/dev/null || missing+=(git)
if ! command -v apt-get >/dev/null; then
  [ ${#missing[@]} -eq 0 ] && exit 0 # chromium and coq are for tests that skip without them
  echo "please install: ${missing[*]}" >&2
  exit 1
fi
# tests/pages open every page that we write in a browser
command -v chromium chromium-browser google-chrome >/dev/null || missing+=(chromium)
# tests/proofs and `make proofs` compile the theorems of proofs/ and the checker that Coq extracts
command -v coqc >/dev/null && command -v ocamlfind >/dev/null && [ -e /usr/lib/ocaml/zarith/zarith.cmxa ] && [ -e /usr/lib/ocaml/coq/user-contrib/mathcomp/algebra_tactics/ring.vo ] ||
  missing+=(coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics libcoq-mathcomp-zify ocaml-findlib libzarith-ocaml-dev)
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
$sudo apt-get update -qq
$sudo apt-get install -y -qq "${missing[@]}"
