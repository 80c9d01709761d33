"""Which exceptions a user's mistake causes, and what to say about them.

Each ``_…`` function below takes an exception and returns its line, or ``None`` if it does not know
it. Exceptions of fairseq carry little, so the file they are about is looked up in the local
variables of the functions that the exception has left.
"""

import errno
import os
import re
import traceback
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from pathlib import Path
from types import FrameType

from ..errors import UserError
from .limits import tightest, way_out

_READERS = {
    "load_checkpoint_to_cpu": ("local_path", "path"),
    "load_ema_from_checkpoint": ("fpath",),
    "read_checkpoint": ("path",),
}
# what builds by a name: function, file, the section (or the variable that has it), the variable of
# the name, and that of the names
_CHOOSERS = (
    ("build_x", "fairseq/registry.py", "registry_name", "choice", "REGISTRY"),
    ("setup_task", "fairseq/tasks/__init__.py", "task", "task_name", "TASK_REGISTRY"),
    ("build_model", "fairseq/models/__init__.py", "model", "model_type", "ARCH_MODEL_REGISTRY"),
)
_NO_ACCESS = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM}
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
_LONGEST_REASON = 240

NO_REPLACEMENT = (
    "--replace-unk fails in fairseq at the first unknown word; leave it out: python -m lev_plugins "
    "correct keeps unknown words as they were typed"
)
_SAID_BY_FAIRSEQ = (
    (r"Model file not found: (.+)", "checkpoint {0} does not exist; check --path"),
    (
        r"--finetune-from-model (.+) does not exist",
        "checkpoint {0} does not exist; check --finetune-from-model",
    ),
    (
        r"Dataset not found: (\S+) \((.+)\)",
        "no data named {0} in {1}; check --gen-subset, --train-subset or --valid-subset and the "
        "languages",
    ),
    (
        r"Could not infer language pair",
        "the data folder does not tell the languages; give --source-lang and --target-lang, or "
        "another folder",
    ),
    (
        r"Incorrect encoding detected in (.+), please",
        "dictionary {0} is not UTF-8; make it again with the preprocess command",
    ),
    (
        r"Source and target must contain the same number of examples",
        "source and target have other numbers of lines; check the text (carriage returns cut "
        "lines for fairseq-preprocess) and make the data again with lev-preprocess",
    ),
    (r"Not found: \"(.+)\": No such file", "{0} does not exist; check the path"),
    (r"file (.+) not found$", "{0} does not exist; check the path"),
    (r"(Please install .*)", "{0}"),
    (r"(Valid paths .* will be ignored.*)", "{0}"),
    (r"((?:Criterion|Optimizer) does not match.*|Cannot combine --fp16 and --tpu.*)", "{0}"),
    (r"--replace-unk requires a raw text dataset", NO_REPLACEMENT),
    (
        r"DiverseBeamSearch requires",
        "--beam must be a multiple of --diverse-beam-groups, as 4 is of 2",
    ),
    (
        r"Provided Search parameters are mutually exclusive",
        "give at most one of --sampling, --diverse-beam-groups, --match-source-len and "
        "--diversity-rate",
    ),
)


def _frames(error: BaseException) -> Iterator[FrameType]:
    """The functions the exception has left, outermost first."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        yield frame


def _local(error: BaseException, function: str, *names: str) -> str | None:
    """A text in a local variable of a function that the exception has left, the first of names."""
    found = None
    for frame in _frames(error):
        if frame.f_code.co_name == function:
            values = [frame.f_locals.get(name) for name in names]
            found = next((value for value in values if isinstance(value, str)), found)
    return found


def _passed(error: BaseException, function: str, file: str) -> bool:
    """Whether the exception came through a function of a source file whose path ends so."""
    return any(
        frame.f_code.co_name == function and Path(frame.f_code.co_filename).match(file)
        for frame in _frames(error)
    )


def _checkpoint_read(error: BaseException) -> str | None:
    """The checkpoint that was being read when the exception was raised."""
    paths = (_local(error, function, *names) for function, names in _READERS.items())
    return next((path for path in paths if path is not None), None)


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 1] + "…"


def _our_own(error: BaseException) -> str | None:
    """A UserError, also one from a worker process, whose text holds the worker's traceback."""
    name = f"{UserError.__module__}.{UserError.__qualname__}: "
    text = str(error)
    if isinstance(error, UserError) or type(error).__name__ == "ProcessRaisedException":
        if name in text:
            return text.rpartition(name)[2]
    return text if isinstance(error, UserError) else None


def _not_a_checkpoint(error: BaseException) -> str | None:
    """Torch can read the file, and what is in it was not saved by fairseq."""
    if str(error).startswith("Neither args nor cfg exist in state"):
        path = _local(error, "load_model_ensemble_and_task", "filename")
    elif isinstance(error, (AttributeError, IndexError, KeyError, RuntimeError, TypeError)):
        upgrading = _passed(error, "_upgrade_state_dict", "fairseq/checkpoint_utils.py")
        no_dictionary = any(
            not isinstance(frame.f_locals.get("state", {}), dict)
            for frame in _frames(error)
            if frame.f_code.co_name == "load_checkpoint_to_cpu"
        )
        path = _checkpoint_read(error) if upgrading or no_dictionary else None
    else:
        return None
    return path and f"{path} is not a checkpoint that fairseq has saved; check the path"


def _misfit_checkpoint(error: BaseException) -> str | None:
    """Parameters of another shape or with other names."""
    text, cause = str(error), error.__context__
    told = re.match(r"Cannot load model parameters from checkpoint (.+); please ensure", text)
    if told is not None:
        if isinstance(cause, UserError):
            return str(cause)
        path, reason = told[1], str(cause)
    elif text.startswith("Error(s) in loading state_dict"):
        path, reason = _local(error, "load_model_ensemble_and_task", "filename") or "", text
    else:
        return None
    reason = (reason.partition("\n")[2] or reason).partition("\n")[0]
    return (
        f"checkpoint {path} does not fit this model or dictionary ({_shorten(reason)}); "
        "use the --arch, options and data it was trained with"
    )


def _bad_dictionary(error: BaseException) -> str | None:
    """A line of a dictionary that is no word and count, or a word that comes twice."""
    path = _local(error, "add_from_file", "f")
    text = str(error)
    if path is None or not text.startswith(("Incorrect dictionary format", "Duplicate word found")):
        return None
    return f"dictionary {path}: {_shorten(text)}"


def _refused_by_system(error: BaseException) -> str | None:
    """A path that is not there or may not be read; a disk that is full or closed."""
    if not isinstance(error, OSError) or error.errno not in _NO_ACCESS | _NO_ROOM:
        return None
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else None
    reason = os.strerror(error.errno)
    why = reason[0].lower() + reason[1:]
    if error.errno in _NO_ROOM:
        return f"{name or 'the output'} is not written: {why}; free some space or write elsewhere"
    way = "check the path"
    return name and f"{name}: {why}; {way}"


def _too_long(error: BaseException) -> str | None:
    """A line with more tokens than the model reads, in a task of fairseq's own.

    fairseq names it by its place, from 0: in the data, or in fairseq-interactive's buffer.
    """
    told = re.match(
        r"Size of sample #(\d+) is invalid \(=(.+)\) since max_positions=(.+?), skip", str(error)
    )
    if told is None:
        return None
    places = [frame.f_locals for frame in _frames(error)]
    before = (place.get("start_id") for place in places)
    number = int(told[1]) + 1 + next((count for count in before if isinstance(count, int)), 0)
    sizes, limits = (list(map(int, re.findall(r"\b\d+\b", text))) for text in told.group(2, 3))
    loaded = next((place["models"] for place in places if place.get("models")), None)
    learnt = loaded and tightest(*(model.max_positions() for model in loaded))
    sides = " (source/target)" if len(sizes) == 2 else ""
    return (
        f"line {number} has {'/'.join(map(str, sizes))} tokens{sides}, </s> counted, where the "
        f"limit is {'/'.join(map(str, limits))}; {way_out(sizes, limits, learnt)}"
    )


def _unknown_metric(error: BaseException) -> str | None:
    """``--best-checkpoint-metric`` names something that validation does not give."""
    for frame in _frames(error):
        if frame.f_code.co_name in ("validate", "get_valid_stats"):
            cfg, stats = frame.f_locals.get("cfg"), frame.f_locals.get("stats")
            metric = getattr(getattr(cfg, "checkpoint", None), "best_checkpoint_metric", None)
            if isinstance(error, KeyError) and error.args == (metric,) and isinstance(stats, dict):
                known = ", ".join(sorted(stats))
                return f"--best-checkpoint-metric {metric}: validation gives only {known}"
    return None


def _of_a_checkpoint(error: BaseException) -> bool:
    """Whether settings are a checkpoint's, which is then named as a whole."""
    readers = ("fairseq/checkpoint_utils.py", "io/checkpoint_files.py")
    files = [Path(frame.f_code.co_filename) for frame in _frames(error)]
    return any(file.match(reader) for file in files for reader in readers)


def _bad_setting(error: BaseException) -> str | None:
    """A setting of fairseq-hydra-train that there is not, or a value that it cannot have."""
    merging = _passed(error, "merge_with_parent", "fairseq/dataclass/utils.py")
    if not merging or _of_a_checkpoint(error):
        return None
    from omegaconf.errors import OmegaConfBaseException  # not for --help

    if not isinstance(error, OmegaConfBaseException):
        return None
    known = getattr(error.object_type, "__dataclass_fields__", ())
    reason = str(error).partition("\n")[0]
    return f"setting {error.full_key}: {reason}{_nearest(error.key, known)}"


def _bad_overrides(error: BaseException) -> str | None:
    """``--model-overrides`` or ``--optimizer-overrides`` that Python cannot read."""
    if not isinstance(error, (SyntaxError, ValueError)) or not _passed(
        error, "literal_eval", "ast.py"
    ):
        return None
    return (
        "--model-overrides or --optimizer-overrides is no dictionary of Python; write "
        "\"{'name': value}\""
    )


def _no_task(error: BaseException) -> str | None:
    """fairseq-validate has no task by default."""
    asked = _passed(error, "parse_args_and_arch", "fairseq/options.py")
    if isinstance(error, KeyError) and error.args == (None,) and asked:
        return "no task is named; give the one of the training: --task NAME, enct5 say"
    return None


def _no_subword_model(error: BaseException) -> str | None:
    """``--bpe NAME`` without the file that it needs."""
    told = re.match(r"Missing mandatory value: (\w+)", str(error))
    if told is None or not _passed(error, "build_x", "fairseq/registry.py"):
        return None
    name = _local(error, "build_x", "choice")
    return f"--bpe {name} needs --{told[1].replace('_', '-')} FILE"


def _bad_name(error: BaseException) -> str | None:
    """``_name`` of a section of fairseq-hydra-train that names nothing."""
    if not isinstance(error, (KeyError, AssertionError)) or _of_a_checkpoint(error):
        return None
    for frame in _frames(error):
        file, values = frame.f_code.co_filename, frame.f_locals
        for function, path, kind, name, registry in _CHOOSERS:
            if frame.f_code.co_name == function and Path(file).match(path):
                chosen = values.get(name)
                known: Collection[str] = values.get(registry, frame.f_globals.get(registry, ()))
                if known and isinstance(chosen, str) and chosen not in known:
                    kind = values.get(kind) or kind
                    return f"{kind}._name: there is no {kind} {chosen!r}{_nearest(chosen, known)}"
    return None


def _nearest(name: object, known: Collection[str]) -> str:
    """The name that was meant, perhaps."""
    found = [] if name in known else get_close_matches(str(name), list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""


def _fairseq_message(error: BaseException) -> str | None:
    """A message of fairseq that says it all, or nearly."""
    text = str(error)
    for pattern, line in _SAID_BY_FAIRSEQ:
        match = re.match(pattern, text, re.DOTALL)
        if match is not None:
            return line.format(*match.groups())
    return None


def _refused_option(error: BaseException) -> str | None:
    """The commands check their options with assertions; those with a text are meant for users."""
    *_, last = [None, *_frames(error)]
    if not isinstance(error, AssertionError) or last is None or not str(error):
        return None
    return str(error) if Path(last.f_code.co_filename).parent.name == "fairseq_cli" else None


def _no_data_folder(error: BaseException) -> str | None:
    """Nobody named it to fairseq-hydra-train."""
    if isinstance(error, TypeError) and _passed(error, "split_paths", "fairseq/utils.py"):
        return "no data folder is named; give it: task.data=FOLDER"
    return None


_KNOWN = (
    _our_own,
    _misfit_checkpoint,
    _not_a_checkpoint,
    _bad_dictionary,
    _refused_by_system,
    _too_long,
    _unknown_metric,
    _fairseq_message,
    _refused_option,
    _bad_overrides,
    _no_task,
    _no_subword_model,
    _bad_setting,
    _bad_name,
    _no_data_folder,
)


def explain(error: BaseException) -> str | None:
    """The line to print for a user's mistake, or ``None`` where a traceback says more."""
    for cause in _KNOWN:
        line = cause(error)
        if line:
            return " ".join(line.split())
    return None
