"""Where words begin and end, in scripts with and without spaces."""

import regex

# scripts without spaces, and Korean, whose endings are countless: each character is a word
SINGLE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# scripts whose small words stand in front of names and numbers without a space
PREFIXING = r"\p{Hebrew}\p{Arabic}"
#: letters of all other scripts, and their marks, for a set of the module regex (V1)
OTHER_LETTERS = rf"[[\p{{L}}\p{{M}}]--[{SINGLE}{PREFIXING}]]"
_WORD = regex.compile(r"[\w\p{M}]")
_SINGLE = regex.compile(rf"[{SINGLE}]")
_PREFIXING = regex.compile(rf"(?V1)[[\p{{L}}\p{{M}}]&&[{PREFIXING}]]")
_DECIMAL = regex.compile(r"\d[.,٫٬]\d")


def goes_on(left: str, right: str) -> bool:
    """Returns whether two adjacent characters, either of which may be "", are of one word."""
    both = left, right
    if not all(map(_WORD.match, both)) or any(map(_SINGLE.match, both)):
        return False
    return bool(_PREFIXING.match(left)) == bool(_PREFIXING.match(right))


def places(text: str, part: str) -> list[tuple[int, int]]:
    """Returns the spans of a part in a text, not inside a word or a number."""
    spans = []
    start = text.find(part)
    while start >= 0 and part:
        end = start + len(part)
        before, after = text[max(start - 2, 0) : start], text[end : end + 2]
        is_within = (
            goes_on(before[-1:], part[0])
            or goes_on(part[-1], after[:1])
            or _DECIMAL.fullmatch(before + part[0])
            or _DECIMAL.fullmatch(part[-1] + after)
        )
        if not is_within:
            spans.append((start, end))
        start = text.find(part, end if not is_within else start + 1)
    return spans
