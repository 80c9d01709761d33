"""The tokenizer of a folder: its ``tokenizer.json``, as the library ``tokenizers`` reads it."""

from typing import Any

from lev_runtime.errors import UserError

from .directory import Directory, optional_library

TOKENIZER = "tokenizer.json"
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


def read_settings(directory: Directory) -> dict[str, Any]:
    """Returns the settings of a folder's tokenizer, special tokens among them, by transformers'
    names."""
    settings: dict[str, Any] = dict(SPECIAL_TOKENS[directory.kind])
    for name in SETTINGS:
        if directory.has(name):
            settings |= directory.read_json(name, "settings of the tokenizer")
    for name, value in settings.items():
        if isinstance(value, dict) and "content" in value:  # a token and how it is treated
            settings[name] = value["content"]
    return settings


def read_tokenizer(directory: Directory) -> Any:
    """Returns a ``tokenizers.Tokenizer``; raises :class:`UserError` without its file, or where that
    is damaged."""
    library = optional_library("tokenizers", f"{directory.path}: reading its tokenizer")
    if not directory.has(TOKENIZER):
        raise UserError(
            f"{directory.path}: has no {TOKENIZER}; make it once, where transformers is installed: "
            f"AutoTokenizer.from_pretrained({directory.path!r}).save_pretrained({directory.path!r})"
        )
    try:
        return library.Tokenizer.from_file(directory.file(TOKENIZER))
    except Exception as error:  # the library has no class of its own for a damaged file
        raise UserError(f"{directory.path}: cannot read its tokenizer ({error!s:.200})") from None
