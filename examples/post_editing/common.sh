# Sourced by the steps of the examples: the repository's folder, its environment where there is one, and
# what several steps do.
root="$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

fail() {
  printf 'error: %s\n' "${1//[[:cntrl:]]/?}" >&2
  exit 1
}

whole() { # whole NAME VALUE WHAT: refuses a value that is no number of 1 or more
  [[ "$2" =~ ^[1-9][0-9]*$ ]] || fail "$1=$2: give a number of $3"
}

triples_there() { # triples_there DATA: are the nine files of post-editing there?
  local part side missing=()
  for part in train dev test; do
    for side in src mt pe; do
      [ -f "$1/$part.$side" ] || [ -f "$1/$part.$side.gz" ] || missing+=("$part.$side")
    done
  done
  [ ${#missing[@]} -eq 0 ] || fail "$1 lacks ${missing[*]} (plain or .gz)"
}

unpack() { # unpack FILE COPY: FILE, or FILE.gz, as COPY; what ends in .gz is unpacked
  local file="$1"
  [ -f "$file" ] || file="$1.gz"
  rm -f "$2"
  case "$file" in
  *.gz) gzip -dc "$file" >"$2" || fail "$file cannot be unpacked: fetch it again" ;;
  *) cp "$file" "$2" ;;
  esac
  chmod u+w "$2"
}

languages() { # languages DATA: sets from and to by the names of binarised data
  local files=("$1"/train.*-*.*.idx)
  local pair="${files[0]##*/train.}"
  pair="${pair%%.*}"
  from="${pair%-*}" to="${pair#*-}"
}

case ":$PATH:" in
*":$root/.venv/bin:"*) ;; # active already: what stands before it was put there on purpose
*) [ ! -x "$root/.venv/bin/python" ] || export PATH="$root/.venv/bin:$PATH" ;;
esac
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
