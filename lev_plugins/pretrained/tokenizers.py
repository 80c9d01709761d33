"""The tokenizer of a folder, as the library ``tokenizers`` has it.

``tokenizer.json`` is taken as it is. Where it is missing the tokenizer is made of the files that
the model was published with: WordPiece of BERT's ``vocab.txt``, byte-level pairs of BART's
``vocab.json`` and ``merges.txt``, Unigram of T5's sentencepiece model.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from lev_runtime.errors import UserError

from .directory import Directory, optional_library

WHOLE = "tokenizer.json"
WORD_PIECES, BYTE_PAIRS, MERGES, SENTENCEPIECE = (
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
)
#: kind → files that a tokenizer is made of where there is no ``tokenizer.json``
FILES = {"bert": (WORD_PIECES,), "bart": (BYTE_PAIRS, MERGES), "t5": (SENTENCEPIECE,)}
#: special tokens that a folder need not name
SPECIAL_TOKENS = {
    "bert": {
        "cls_token": "[CLS]",
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
        "mask_token": "[MASK]",
    },
    "bart": {
        "cls_token": "<s>",
        "pad_token": "<pad>",
        "sep_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    },
    "t5": {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
}
#: files with settings of a tokenizer; the later ones win
SETTINGS = ("special_tokens_map.json", "tokenizer_config.json")
NUM_EXTRA_IDS = 100  #: of T5, behind the pieces of its model
SPACE = "▁"


def read_settings(directory: Directory) -> dict[str, Any]:
    """The settings of a folder's tokenizer, special tokens among them, by transformers' names."""
    settings: dict[str, Any] = dict(SPECIAL_TOKENS[directory.kind])
    for name in SETTINGS:
        if directory.has(name):
            settings |= directory.read_json(name, "settings of the tokenizer")
    for name, value in settings.items():
        if isinstance(value, dict) and "content" in value:  # a token and how it is treated
            settings[name] = value["content"]
    return settings


def read_tokenizer(directory: Directory, settings: dict[str, Any]) -> Any:
    """A ``tokenizers.Tokenizer``; raises :class:`UserError` without its files, or damaged ones."""
    library = optional_library("tokenizers", f"{directory.path}: reading its tokenizer")
    names = FILES[directory.kind]
    build = _BUILDERS[directory.kind]
    if not directory.has(WHOLE) and not all(map(directory.has, names)):
        raise UserError(f"{directory.path}: has no tokenizer ({WHOLE} or {' and '.join(names)})")
    try:
        if directory.has(WHOLE):
            return library.Tokenizer.from_file(directory.file(WHOLE))
        return build(library, directory, settings)
    except UserError:
        raise
    except Exception as error:  # the library has no class of its own for a damaged file
        raise UserError(f"{directory.path}: cannot read its tokenizer ({error!s:.200})") from error


def _word_piece(library: Any, directory: Directory, settings: dict[str, Any]) -> Any:
    with open(directory.file(WORD_PIECES), encoding="utf-8", newline="\n") as file:
        rows = {line.rstrip("\r\n"): row for row, line in enumerate(file)}
    model = library.models.WordPiece(rows, unk_token=settings["unk_token"])
    tokenizer = library.Tokenizer(model)
    tokenizer.normalizer = library.normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = library.decoders.WordPiece(prefix="##")
    return tokenizer


def _byte_pairs(library: Any, directory: Directory, settings: dict[str, Any]) -> Any:
    files = directory.file(BYTE_PAIRS), directory.file(MERGES)
    tokenizer = library.Tokenizer(library.models.BPE.from_file(*files))
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(
        add_prefix_space=settings.get("add_prefix_space", False)
    )
    tokenizer.decoder = library.decoders.ByteLevel()
    return tokenizer


def _unigram(library: Any, directory: Directory, settings: dict[str, Any]) -> Any:
    path = directory.file(SENTENCEPIECE)
    optional_library("google.protobuf", f"{path}: reading it")
    model = import_module("sentencepiece.sentencepiece_model_pb2").ModelProto()
    model.ParseFromString(Path(path).read_bytes())
    pieces = [(piece.piece, piece.score) for piece in model.pieces]
    for number in reversed(range(settings.get("extra_ids", NUM_EXTRA_IDS))):
        pieces.append((f"<extra_id_{number}>", 0.0))
    unknown = model.trainer_spec.unk_id
    tokenizer = library.Tokenizer(library.models.Unigram(pieces, unknown, False))
    charsmap = model.normalizer_spec.precompiled_charsmap
    if charsmap:
        tokenizer.normalizer = library.normalizers.Precompiled(charsmap)
    metaspace = {"replacement": SPACE, "prepend_scheme": "always", "split": True}
    steps = library.pre_tokenizers
    tokenizer.pre_tokenizer = steps.Sequence(
        [steps.WhitespaceSplit(), steps.Metaspace(**metaspace)]
    )
    tokenizer.decoder = library.decoders.Metaspace(**metaspace)
    return tokenizer


_BUILDERS = {"bert": _word_piece, "bart": _byte_pairs, "t5": _unigram}
