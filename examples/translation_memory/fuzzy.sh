#!/usr/bin/env bash
# Fills the fuzzy entries of a .po file with proposals, which stay fuzzy; a comment has the probability:
#
#     bash examples/translation_memory/fuzzy.sh WORK messages.po [-o OUTPUT] [--memory FOLDER]
set -euo pipefail
unset CDPATH
source "$(dirname "${BASH_SOURCE[0]}")/../recipe.sh"
exec python "$folder/fuzzy.py" "$@"
