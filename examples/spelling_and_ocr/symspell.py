"""A dictionary corrector to hold ours against: symspellpy with given words.

    python examples/spelling_and_ocr/symspell.py WORDS < noisy > corrected

WORDS has a word a line, with its count behind it or without; `pip install symspellpy`.
"""

import sys
from collections.abc import Callable, Mapping, Sequence

from lev_correct.text.units import spans, with_case
from lev_correct.words.lexicon import Lexicon
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.output import standard_output

Correct = Callable[[Sequence[str]], list[str]]


def symspell(words: Mapping[str, float]) -> Correct:
    """symspellpy with words and counts, on the letters of a line, with its capitals.

    Its own ``transfer_casing`` writes words that it does not know in small letters, and exchanged
    letters with the capitals where they were (Sotff: SToff), so capitals are put back here.
    """
    try:
        from symspellpy import SymSpell, Verbosity
    except ImportError as error:
        raise UserError("symspellpy is not installed: pip install symspellpy") from error
    speller = SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
    for word, count in words.items():
        speller.create_dictionary_entry(word.lower(), max(int(count), 1))

    def word_of(word: str) -> str:
        small = word.lower()
        suggestions = speller.lookup(small, Verbosity.TOP, max_edit_distance=2)
        return (
            with_case(suggestions[0].term, word)
            if suggestions and suggestions[0].term != small
            else word
        )

    def line_of(line: str) -> str:
        parts, place = [], 0
        for start, end in spans(line, "letters"):
            parts += [line[place:start], word_of(line[start:end])]
            place = end
        return "".join(parts) + line[place:]

    return lambda lines: [line_of(line) for line in lines]


def main() -> None:
    """Correct standard input."""
    if len(sys.argv) != 2:
        raise UserError("a list of words is needed: symspell.py WORDS < noisy > corrected")
    correct = symspell(Lexicon.read(sys.argv[1]).counts)
    lines = [line.rstrip("\n") for line in sys.stdin]
    standard_output().writelines(line + "\n" for line in correct(lines))


if __name__ == "__main__":
    run_cli(main)
