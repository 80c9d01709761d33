"""What is said once, on standard error, of input that a model was not trained for."""

import sys
from collections.abc import Collection

GIVE_DRAFTS = "Give 'source<TAB>draft'; where the source itself is to be corrected: paste FILE FILE"


def say_no_draft(what: str, draft_lang: str, way: str) -> None:
    """``what`` has no draft, and the model was trained with some; ``way``: how to give them."""
    if sys.stderr is not None:
        print(
            f"note: {what}, and the model was trained to correct drafts (--draft-lang "
            f"{draft_lang}): such lines are generated from nothing. {way}",
            file=sys.stderr,
            flush=True,
        )


def subwords_in(symbols: Collection[str]) -> tuple[str | None, str]:
    """The name for ``--bpe`` that symbols look like, and one of them; None without."""
    kinds = {
        "sentencepiece": [one for one in symbols if one[:1] == "▁" != one],
        "subword_nmt": [one for one in symbols if one.endswith("@@") and one != "@@"],
    }
    for name, found in kinds.items():
        if 10 * len(found) > len(symbols):
            return name, found[0]
    return None, ""
