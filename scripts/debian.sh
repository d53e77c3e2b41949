#!/usr/bin/env bash
# Debian packages the project needs; does nothing where they are there already.
set -euo pipefail
missing=()
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
command -v git >/dev/null || missing+=(git)
if ! command -v apt-get >/dev/null; then
  [ ${#missing[@]} -eq 0 ] && exit 0 # chromium is for the tests of pages, which skip without it
  echo "please install: ${missing[*]}" >&2
  exit 1
fi
# tests/pages open every page that we write in a browser
command -v chromium chromium-browser google-chrome >/dev/null || missing+=(chromium)
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
$sudo apt-get update -qq
$sudo apt-get install -y -qq "${missing[@]}"
