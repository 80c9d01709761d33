"""Settings that fairseq runs as Python."""

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from ..errors import UserError

#: modules of fairseq that call ``eval``, on what a checkpoint, the command line or a file says
EVALUATING = (
    "criterions.ctc data.audio.raw_audio_dataset data.codedataset models.fconv models.fconv_lm "
    "models.fconv_self_att models.hubert.hubert models.lightconv_lm "
    "models.speech_to_text.s2t_wav_transformer models.transformer_lm models.wav2vec.wav2vec "
    "models.wav2vec.wav2vec2 optim.adafactor optim.adam optim.adamax optim.cpu_adam "
    "optim.fused_lamb utils"
).split()
_LONGEST, _MOST = 10_000, 10_000  # characters of a setting, entries of a list


def evaluate_settings() -> None:
    """Let fairseq compute settings and run none.

    Fault: fairseq calls ``eval`` on settings, such as the layers of ``--arch fconv``, and takes
    those of a model from its checkpoint. A checkpoint in which such a setting is a call runs it as
    soon as somebody decodes with it, and no unpickler has anything to refuse: it is a text.
    """
    for name in EVALUATING:
        if f"fairseq.{name}" in sys.modules:
            _disarm(sys.modules[f"fairseq.{name}"])
    if not any(isinstance(finder, _Disarmed) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Disarmed())


def _disarm(module: ModuleType) -> None:
    vars(module)["eval"] = evaluated


class _Disarmed(MetaPathFinder):
    """Finds those of :data:`EVALUATING` that are imported later, whoever imports them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Python's own, whose module has another ``eval`` before its first line runs."""
        home, _, name = fullname.partition(".")
        if home != "fairseq" or name not in EVALUATING:
            return None
        found = PathFinder.find_spec(fullname, path)
        if found is None:
            return None
        loader: Any = found.loader
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            _disarm(module)
            run(module)

        loader.exec_module = exec_module
        return found


def evaluated(setting: object) -> Any:
    """What a setting says: numbers, texts, lists and tables of them, and sums and products.

    Args:
        setting: such as ``"[(512, 3)] * 20"``.

    Raises:
        TypeError: it is no text, as ``eval`` has it.
        UserError: it is anything else, or has too many entries.
    """
    if not isinstance(setting, str):
        raise TypeError(f"a setting is a text, and {setting!r:.60} is none")
    try:
        if len(setting) <= _LONGEST:
            return _value(ast.parse(setting.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        pass
    raise UserError(
        f"the setting {setting!r:.80} is not made of numbers, texts and lists such as "
        "'[(512, 3)] * 20'; nothing else is computed, and nothing is run"
    )


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Tuple(parts):
            return tuple(map(_value, parts))
        case ast.List(parts):
            return list(map(_value, parts))
        case ast.Dict(keys, parts) if None not in keys:
            return {_value(key): _value(part) for key, part in zip(keys, parts) if key is not None}
        case ast.UnaryOp(ast.USub(), part):
            return -_value(part)
        case ast.BinOp(left, operator, right):
            return _computed(_value(left), operator, _value(right))
    raise ValueError(f"{type(node).__name__} is no value")


def _computed(left: Any, operator: ast.operator, right: Any) -> Any:
    sizes = [len(one) for one in (left, right) if isinstance(one, (str, bytes, list, tuple))]
    counts = [one for one in (left, right) if isinstance(one, int)]
    match operator:
        case ast.Add() if sum(sizes) <= _MOST:
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult() if not sizes or not counts or sizes[0] * counts[0] <= _MOST:
            return left * right
        case ast.Div():
            return left / right
    raise ValueError("no sum and no product that is computed")
