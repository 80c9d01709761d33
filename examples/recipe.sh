# Sourced by the steps of the examples: the repository's folder, its environment where there is one, how arguments
# are refused, and what several steps do. `here` is the step's own name.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
folder="$(cd "$(dirname "$0")" && pwd)" && here="examples/${folder##*/}/${0##*/}"

usage() { # the comment at the top of the step
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
  exit 0
}
case "${1:-}" in -h | --help) usage ;; esac

whole() { # whole NAME VALUE WHAT: refuses a value that is no number of 1 or more
  [[ "$2" =~ ^[1-9][0-9]*$ ]] || fail "$1=$2: give a number of $3"
}

number() { # number NAMES…: refuses variables that are no whole numbers
  local name
  for name in "$@"; do [[ "${!name}" =~ ^[0-9]+$ ]] || fail "$name=${!name}: give a whole number"; done
}

one_of() { # one_of NAME VALUE CHOICES…
  local name="$1" value="$2"
  shift 2
  [[ " $* " == *" $value "* ]] || fail "$name $value: give one of $*"
}

new_folder() { # new_folder DATA WORK: there is something to read, and nothing is written over
  [ -d "$1" ] || fail "no folder $1: see bash $here --help"
  [ ! -e "$2/data" ] || fail "$2/data is there already: delete it or name another folder"
}

prepared() { # prepared WORK FILE SCRIPT: sets work where WORK holds what SCRIPT makes
  [ -e "$1/$2" ] || fail "no $2 in $1: bash examples/$3 makes it"
  work="$(cd "$1" && pwd)"
}

best() { # best FOLDER: prints the checkpoint to use, the best by BLEU or else the last; fails where there is none
  local name
  for name in best last; do
    [ "$name-${1##*/}" != best-stock ] || continue # whose best is that by loss
    [ ! -f "$1/checkpoint_$name.pt" ] || { echo "$1/checkpoint_$name.pt" && return; }
  done
  return 1
}

trained() { # trained NAME STEP SYSTEMS…: sets chosen, the SYSTEMS, or all folders of work with a checkpoint_NAME.pt
  local name="checkpoint_$1.pt" path system
  chosen=("${@:3}")
  [ $# -gt 2 ] || for path in "$work"/*/"$name"; do [ ! -f "$path" ] || chosen+=("$(basename "$(dirname "$path")")"); done
  [ ${#chosen[@]} -gt 0 ] || echo "only baselines: no model is trained yet (bash examples/$2)" >&2
  for system in "${chosen[@]}"; do
    [ -f "$work/$system/$name" ] || fail "no $work/$system/$name: bash examples/$2 makes one"
  done
}

given_lexicon() { # given_lexicon [--lexicon WORDS …]: sets lexicon and shifted, how many words that were
  shifted=0
  [ "${1:-}" = --lexicon ] || return 0
  lexicon="${2:-}" shifted=2
  [ -f "$lexicon" ] || fail "--lexicon $lexicon: there is no such file"
}

require() { # require FOLDER FILES…: are they there, plain or packed?
  local folder="$1" missing=() file
  shift
  for file in "$@"; do [ -f "$folder/$file" ] || [ -f "$folder/$file.gz" ] || missing+=("$file"); done
  [ ${#missing[@]} -eq 0 ] || fail "$folder lacks ${missing[*]} (text, plain or .gz)"
}

unpack() { # unpack FILE COPY: FILE, or FILE.gz, as COPY
  local file="$1"
  [ -f "$file" ] || file="$1.gz"
  mkdir -p "$(dirname "$2")" || fail "cannot make a folder for $2: name another one"
  case "$file" in
  *.gz) gzip -dc "$file" >"$2.part" || fail "$file cannot be unpacked: fetch it again" ;;
  *) cat "$file" >"$2.part" ;;
  esac
  mv "$2.part" "$2"
}

languages() { # languages DATA: sets from and to by the names of binarised data
  local files=("$1"/train.*-*.*.idx)
  local pair="${files[0]##*/train.}"
  pair="${pair%%.*}"
  from="${pair%-*}" to="${pair#*-}"
}

logged() { # logged LOG COMMAND…: the output goes to LOG and its end is shown where the command fails
  local log="$1"
  shift
  "$@" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    fail "$1 ${2:-} failed: see $log"
  }
}

budget() { # budget UPDATES WARM-UP MINUTES: sets length, of so many updates (WARM-UP reckons with them) or, if given, minutes
  whole UPDATES "$1" updates
  length=(--lr-scheduler polynomial_decay --warmup-updates "$(($2))" --total-num-update "$1" --max-update "$1")
  [ -z "$3" ] || {
    whole MINUTES "$3" minutes
    length=(--lr-scheduler time_budget --stop-time-hours "$(awk "BEGIN { print $3 / 60 }")")
  }
}

both_sides() { # both_sides DIM LAYERS: sets sizes, flags of encoder and decoder
  local side
  sizes=()
  for side in encoder decoder; do
    sizes+=("--$side-embed-dim" "$1" "--$side-ffn-embed-dim" "$((4 * $1))" "--$side-layers" "$2"
      "--$side-attention-heads" 4 "--$side-normalize-before")
  done
}

preprocess() { # lev-preprocess, without the step that it names next
  python -m lev_plugins preprocess "$@" | sed '/^next: /d'
}

case ":$PATH:" in
*":$root/.venv/bin:"*) ;; # active already: what stands before it was put there on purpose
*) [ ! -x "$root/.venv/bin/python" ] || export PATH="$root/.venv/bin:$PATH" ;;
esac
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
