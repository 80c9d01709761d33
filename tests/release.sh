#!/usr/bin/env bash
# Is the tree ready to be released? Checks that git has no changes, that the version is the same
# everywhere and not released yet, and that CI passes in a fresh clone; then says what is left to do.
#
#     bash tests/release.sh            # an hour
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/common.sh"
cd "$root"
[ -z "$(git status --porcelain)" ] || fail "git has changes: commit or remove them"
bash examples/environment.sh
version="$(.venv/bin/python -c 'from lev_runtime import __version__; print(__version__)')"
[ -z "$(git tag --list "v$version")" ] || fail "v$version is released: raise lev_runtime.__version__"
.venv/bin/python -m pytest -q tests/test_install.py -k version
clone="$(mktemp -d)"
trap 'rm -rf "$clone"' EXIT
git clone -q . "$clone/lev_plugins"
bash "$clone/lev_plugins/.ci/run"
echo "release: ready. Next: git tag -a v$version -m 'lev_plugins $version' && git push --tags"
