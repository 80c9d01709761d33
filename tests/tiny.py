"""Tiny dictionaries, tasks, models and batches, made without a file on disk.

Sentences are written as strings of letters, a letter being a token: ``"abc"`` stands for
``<s> a b c </s>`` and ``""`` for the empty sentence. ``_`` is the unknown symbol and ``?`` the
placeholder.
"""

import dataclasses
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from fairseq import utils
from fairseq.data import Dictionary, data_utils, indexed_dataset
from torch import Tensor

from lev_plugins.systems.levenshtein import LevenshteinEditorConfig, LevenshteinEditorModel
from lev_plugins.systems.levenshtein.expert import States, make_states
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask
from lev_runtime.refine.policy import EditPolicy, EditState, Trace

LETTERS = "abcdefgh"
UNKNOWN, PLACEHOLDER = "_", "?"
SIZES: dict[str, Any] = {
    "encoder_embed_dim": 8,
    "encoder_ffn_embed_dim": 12,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_embed_dim": 8,
    "decoder_ffn_embed_dim": 12,
    "decoder_layers": 2,
    "decoder_attention_heads": 2,
    "dropout": 0.0,
    "max_insertions": 5,
    "max_source_positions": 64,
    "max_target_positions": 64,
}


class Triple(NamedTuple):
    """A source, its target y* and a draft y⁰."""

    source: str
    target: str
    draft: str


def dictionary(letters: Iterable[str] = LETTERS) -> Dictionary:
    """<s> <pad> </s> <unk> and one symbol a letter."""
    dictionary_ = Dictionary()
    for letter in letters:
        dictionary_.add_symbol(letter)
    return dictionary_


def dictionaries(folder: Path, letters: Iterable[str] = LETTERS) -> Path:
    """A folder with two equal dictionaries, ``src`` and ``tgt``."""
    folder.mkdir(parents=True, exist_ok=True)
    for side in ("src", "tgt"):
        dictionary(letters).save(str(folder / f"dict.{side}.txt"))
    return folder


def write_indexed(prefix: Path, rows: Iterable[Tensor], size: int = 100) -> None:
    """Tokens as preprocess writes them, ``size`` being that of the dictionary."""
    builder = indexed_dataset.make_builder(f"{prefix}.bin", "mmap", size)
    for row in rows:
        builder.add_item(row.int())
    builder.finalize(f"{prefix}.idx")


def sentencepiece_model(path: Path, lines: Iterable[str], **options: Any) -> Path:
    import sentencepiece

    with open(path, "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=file, minloglevel=2, **options
        )
    return path


def task(joined: bool = False, letters: str = LETTERS, **options: Any) -> TranslationEditTask:
    """A task over letters; ``options`` are fields of its configuration."""
    values = {"seed": 1, "max_source_positions": 64, "max_target_positions": 64, **options}
    symbols = dictionary(letters)
    target = symbols if joined else dictionary(letters)
    return TranslationEditTask(TranslationEditConfig(**values), symbols, target)


def model(of: TranslationEditTask, seed: int = 1, **options: Any) -> LevenshteinEditorModel:
    """A model of two blocks of width 8, with heads that are not undecided as new ones are.

    ``options`` are fields of its configuration.
    """
    torch.manual_seed(seed)
    cfg = LevenshteinEditorConfig(**{**SIZES, **options})
    with torch.device("cpu"):  # the same parameters on every device
        model = LevenshteinEditorModel.build_model(cfg, of)
        for head in (model.deletion_head, model.placeholder_head):
            torch.nn.init.normal_(head.weight, std=head.weight.size(1) ** -0.5)
    return model.to(torch.get_default_device())


def normal(seed: int, *shape: int) -> Tensor:
    """Normally distributed numbers, the same on every device."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, device="cpu").to(torch.get_default_device())


def moved(sample: Any) -> Any:
    """A batch of a data set on the device of the test."""
    return utils.apply_to_sample(lambda value: value.to(torch.get_default_device()), sample)


def random_state() -> Tensor:
    """That of the device of the test."""
    device = torch.get_default_device()
    return torch.get_rng_state() if device.type == "cpu" else torch.cuda.get_rng_state(device)


def sharpen(net: torch.nn.Module, factor: float = 3.0) -> torch.nn.Module:
    """Scales every parameter up, so that an untrained model is far from undecided."""
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(factor)
    return net


def sentence(letters: str, symbols: Dictionary, placeholder: int | None = None) -> Tensor:
    """A string of letters → tokens with <s> and </s>."""
    special = {UNKNOWN: symbols.unk(), PLACEHOLDER: placeholder}
    inner = [special[letter] if letter in special else symbols.index(letter) for letter in letters]
    return torch.tensor([symbols.bos(), *inner, symbols.eos()])


def letters(tokens: Tensor, symbols: Dictionary) -> str:
    """Tokens → a string of letters; padding is left out, <s> and </s> have to be in place."""
    row = tokens[tokens.ne(symbols.pad())].tolist()
    assert row[0] == symbols.bos() and row[-1] == symbols.eos(), f"no sentence: {row}"
    return "".join(UNKNOWN if n == symbols.unk() else symbols[n] for n in row[1:-1])


def stack(rows: Sequence[Tensor], pad: int, left: bool = False, extra: int = 0) -> Tensor:
    """Rows of any length → B × T, with ``extra`` columns of padding more than it takes."""
    width = max(map(len, rows)) + extra
    return data_utils.collate_tokens(rows, pad, left_pad=left, pad_to_length=width)


def triples(count: int, seed: int = 1, longest: int = 7) -> list[Triple]:
    """Random sources, targets and drafts; some empty, some drafts equal to their targets."""
    rng = random.Random(seed)

    def word(alphabet: str = LETTERS) -> str:
        return "".join(rng.choices(alphabet, k=rng.randint(0, longest)))

    batch_triples = []
    for number in range(count):
        target = word()
        draft = target if number % 5 == 4 else "" if number % 5 == 3 else word(LETTERS[:4])
        batch_triples.append(Triple(word(), target, draft))
    return batch_triples


def batch(
    of: TranslationEditTask,
    rows: Sequence[Triple],
    ids: Sequence[int] | None = None,
    left: bool = False,
    extra: int = 0,
    drafted: bool = True,
) -> dict[str, Any]:
    """A batch as the task's data set makes it, its rows in the order given.

    ``left``: sources are padded on the left. ``extra``: columns of padding on every side.
    ``drafted``: whether there are drafts at all.
    """
    source, target = of.source_dictionary, of.target_dictionary
    sources = [sentence(row.source, source) for row in rows]
    targets = [sentence(row.target, target) for row in rows]
    sample = {
        "id": torch.tensor(list(range(len(rows)) if ids is None else ids)),
        "nsentences": len(rows),
        "ntokens": sum(map(len, targets)),
        "net_input": {
            "src_tokens": stack(sources, source.pad(), left, extra),
            "src_lengths": torch.tensor(list(map(len, sources))),
        },
        "target": stack(targets, target.pad(), extra=extra),
    }
    if drafted:
        drafts = [sentence(row.draft, target) for row in rows]
        sample["draft"] = stack(drafts, target.pad(), extra=extra)
    return sample


def states(
    of: TranslationEditTask, sample: dict[str, Any], epoch: int = 1, **options: Any
) -> States:
    """The states of a batch of :func:`batch`; alpha and beta are one half."""
    values = {"alpha": 0.5, "beta": 0.5, "tokens": "argmax", "seed": 1, **options}
    cfg = dataclasses.replace(of.cfg, roll_in_tokens=values["tokens"], seed=values["seed"])
    shares = values["alpha"], values["beta"]
    return make_states(sample, epoch, shares, cfg, of.symbols, of.frequencies)


def logits(
    policy: EditPolicy,
    head: str,
    tokens: Tensor,
    encoder_out: Any,
    where: Tensor | None = None,
    trace: Trace | None = None,
) -> Tensor:
    """What a head says of tokens."""
    return policy.logits(head, EditState(tokens, encoder_out, trace, where))


def training_batch(of: TranslationEditTask, rows: Sequence[Triple], **options: Any) -> dict:
    """:func:`batch` with its states, as a criterion gets it."""
    names = options.keys() & {"alpha", "beta", "epoch", "tokens"}
    roll_in = {name: options.pop(name) for name in names}
    sample = batch(of, rows, **options)
    return {**sample, "states": states(of, sample, **roll_in)}
