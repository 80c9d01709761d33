"""How words are written in a line: their capitals, apostrophes and spaces."""

from ..text.markup import opens_sentence
from ..text.units import plain_apostrophes

Words = tuple[str, ...]
_NO_LETTERS = str.maketrans("", "", " '")


def case_of(line: str, start: int, end: int) -> str:
    """``small``, ``first`` (a capital that a sentence begins with), ``name`` or ``mixed``."""
    text = line[start:end]
    if text == text.lower():
        return "small"
    if text[1:] != text[1:].lower():
        return "mixed"
    return "first" if opens_sentence(line, start) else "name"


def looked_up(word: str) -> str:
    """A word in small letters, with plain apostrophes."""
    return plain_apostrophes(word.lower())


def has_letters_of(words: Words, others: Words) -> bool:
    """Whether two texts differ in spaces, apostrophes and doubled words alone."""
    first, second = (bare_letters("".join(text)) for text in (words, others))
    return first == second or words == others + others


def as_written(letters: str, words: Words) -> str:
    """Words with the capitals of the letters that stand there."""
    if len(words) > 1 or has_letters_of((letters.lower(),), words):
        return spaced(letters, words)
    (word,) = words  # with a slip
    if letters == letters.upper():
        return word.upper()
    return word if letters[0].islower() else word.capitalize()


def spaced(letters: str, words: Words) -> str:
    """Letters as these words, which begin with them: with their spaces and apostrophes."""
    parts, rest = [], iter(bare_letters(letters))
    for word in words:
        text = "".join(mark if mark == "'" else next(rest) for mark in word)
        parts.append(text.capitalize() if word.split("'")[0] == "i" else text)
    return " ".join(parts)


def bare_letters(text: str) -> str:
    """A text without spaces and apostrophes."""
    return plain_apostrophes(text).translate(_NO_LETTERS)
