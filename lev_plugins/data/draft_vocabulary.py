"""Where replacements of synthetic drafts come from."""

import re
from collections import Counter

from ..errors import UserError
from ..io.text_files import read_lines, refuse_special_tokens

_COUNT = re.compile(r"[0-9]{1,18}")
_OVERWRITE = "#fairseq:overwrite"  # a flag in dictionary files, behind the count


def read_vocabulary(path: str) -> Counter[str]:
    """Tokens and frequencies of a file; a token without a frequency counts once.

    Raises:
        UserError: the file cannot be read, or a line is neither ``token`` nor ``token count``.
    """
    counts: Counter[str] = Counter()
    for number, line in enumerate(read_lines(path), start=1):
        words = line.split()
        if len(words) == 3 and words[2] == _OVERWRITE:
            words.pop()
        if not words:
            continue
        count = words[1] if len(words) > 1 else "1"
        if len(words) > 2 or not _COUNT.fullmatch(count):
            raise UserError(
                f"{path}: line {number}: {line[:60]!r} is neither 'token' nor 'token count', the "
                "count a whole number of up to 18 digits"
            )
        refuse_special_tokens(path, number, words[:1])
        counts[words[0]] += int(count)
    return counts
