"""What is said once, on standard error, of input that a model was not trained for."""

import sys
from collections.abc import Collection, Sequence

GIVE_DRAFTS = "Give 'source<TAB>draft'; where the source itself is to be corrected: paste FILE FILE"
#: tokens that are looked at, of all lines
ENOUGH = 1000
# what subwords leave in a text that is cut already, by the name for --bpe
_SIGNS = {
    "sentencepiece": "▁",
    "characters": "▁",
    "subword_nmt": "@@",
    "hf_sentencepiece": "▁",
    "hf_wordpiece": "##",
    "hf_gpt2_bpe": "Ġ",
}


def note(text: str) -> None:
    """``note: …`` on standard error, where there is one."""
    if sys.stderr is not None:
        print(f"note: {text}", file=sys.stderr, flush=True)


def say_no_draft(what: str, draft_lang: str, way: str) -> None:
    """``what`` has no draft, and the model was trained with some; ``way``: how to give them."""
    note(
        f"{what}, and the model was trained to correct drafts (--draft-lang "
        f"{draft_lang}): such lines are generated from nothing. {way}"
    )


def encoder_name(settings: object) -> str | None:
    """Name of a tokenizer or of subwords in a configuration of fairseq, None where none is set."""
    name = settings if isinstance(settings, str) else getattr(settings, "_name", None)
    return name if isinstance(name, str) else None


class CutNotes:
    """Says once that text does not seem to be cut as the model's was.

    Args:
        symbols: of the source's dictionary.
        used: the name for ``--bpe`` by which text is cut here, or None.
        trained: that of the checkpoint, or None.
    """

    def __init__(
        self, symbols: Collection[str], used: str | None, trained: str | None = None
    ) -> None:
        self.used, self.trained, self.shown = used, trained, ""
        self.tokens = self.unknown = 0
        self.told = False
        if used is None and trained is None:
            self.trained, self.shown = subwords_in(symbols)

    @property
    def done(self) -> bool:
        """Whether nothing more will be said."""
        return self.told or self.tokens >= ENOUGH

    def look_at(self, lines: Sequence[str], tokens: int, unknown: int) -> None:
        """Lines as they were typed, and how many tokens they have and the model does not know."""
        if self.done or not tokens:
            return
        self.tokens += tokens
        self.unknown += unknown
        said = self._uncut(lines) or self._unknown()
        if said:
            self.told = True
            way = f" (--bpe {self.trained})" if self.trained and not self.used else ""
            note(f"{said}; text has to be cut as it was for the training{way}")

    def _uncut(self, lines: Sequence[str]) -> str | None:
        """What tells that plain text came where subwords are read."""
        if self.trained is None or self.used == self.trained:
            return None
        sign = _SIGNS.get(self.trained)
        if sign is not None and any(sign in line for line in lines):
            return None
        if self.trained != "sentencepiece" and not self.unknown:  # whole words, it may be
            return None
        here = f"--bpe {self.used}" if self.used else "no --bpe"
        if self.shown:
            return f"the dictionary has symbols such as {self.shown}, and there is {here} here"
        return f"the checkpoint was trained with --bpe {self.trained}, and there is {here} here"

    def _unknown(self) -> str | None:
        if 2 * self.unknown <= self.tokens:
            return None
        share = self.unknown / self.tokens
        return f"{share:.1%} of the first {self.tokens} source tokens are not in the dictionary"


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
