"""The options of task ``noisy_translation``, and the noise that they mean."""

from dataclasses import dataclass
from typing import Any

from omegaconf import II

from ..data.noise import DEFAULT_EDITS, KINDS, PAPER, NoiseOptions, parse_edits, parse_kinds
from ..errors import UserError
from ..options import OptionalStr, option
from .evaluation import EvaluationConfig


@dataclass
class NoisyTranslationConfig(EvaluationConfig):
    noise: str = option(
        "none",
        f"noise on the source, comma separated: {', '.join(KINDS)}; all: "
        f"{', '.join(PAPER)}; of several one is sampled for each sentence. none: the source is "
        "read as it is",
    )
    noise_valid: OptionalStr = option(
        None,
        "noise of splits named valid…, the same every time (default: as --noise, none with "
        "--noise-target-share)",
    )
    noise_test: OptionalStr = option(
        None,
        "noise of all splits but these and the training set, the same every time (default: as "
        "--noise, none with --noise-target-share)",
    )
    noise_word_rate: float = option(0.3, "share of the words of a sentence that are changed")
    noise_char_rate: float = option(0.3, "share of the letters of such a word that are changed")
    noise_max_words: int = option(10, "changed words in a sentence, at most")
    noise_max_chars: int = option(10, "changed letters in a word, at most")
    noise_min_length: int = option(4, "words of fewer letters are left alone")
    noise_random_edits: str = option(
        ",".join(DEFAULT_EDITS),
        "what random noise does to a letter: insert, delete, substitute, swap",
    )
    noise_seed: int = option(1, "seed of the noise; in training --seed counts as well")
    noise_confusions: OptionalStr = option(
        None,
        "table of confusions for ocr noise, as cli.noise --learn-confusions makes it; its rates "
        "then take the place of the shares above",
    )
    noise_confusion_scale: float = option(
        1.0, "the rates of --noise-confusions are multiplied by this"
    )
    noise_target_share: float = option(
        0.0,
        "share of the training lines whose source is made anew in each epoch, from the target "
        "with --noise; the other pairs, validation and test sets are then read as they are",
    )
    # what the commands are told about the text; a task is given nothing but its own options
    text_bpe: Any = II("bpe")
    text_tokenizer: Any = II("tokenizer")
    seed: int = II("common.seed")


def noises_of(cfg: NoisyTranslationConfig) -> dict[str, NoiseOptions]:
    """The noise of train, valid and test, without confusions."""
    kinds = {"train": parse_kinds("--noise", cfg.noise)}
    share = cfg.noise_target_share
    if not 0 <= share <= 1:
        raise UserError(
            f"--noise-target-share {share} is outside [0, 1]; give a share of the lines"
        )
    if share and not kinds["train"]:
        raise UserError(
            f"--noise-target-share {share} needs noise: give --noise ocr or another kind"
        )
    for split, given in (("valid", cfg.noise_valid), ("test", cfg.noise_test)):
        flag = f"--noise-{split}"
        same = () if share else kinds["train"]
        kinds[split] = same if given is None else parse_kinds(flag, given)
    if cfg.noise_confusions is not None and not any("ocr" in some for some in kinds.values()):
        raise UserError(
            f"--noise-confusions {cfg.noise_confusions} is for ocr noise, and none is asked for; "
            "give --noise ocr"
        )
    edits = parse_edits("--noise-random-edits", cfg.noise_random_edits)
    limits = ("word_rate", "char_rate", "max_words", "max_chars", "min_length", "confusion_scale")
    numbers = {name: getattr(cfg, f"noise_{name}") for name in limits}
    return {
        split: NoiseOptions(kinds=chosen, random_edits=edits, **numbers)
        for split, chosen in kinds.items()
    }
