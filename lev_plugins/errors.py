"""The one exception for a user's mistake, and the line that commands print for it."""

_LONGEST = 2_000  # characters of a message; a line of text that it quotes may have any number


class UserError(ValueError):
    """Something the user can mend: a missing file, a line that cannot be read, a bad value.

    The message is a single line that names the file, line or value and the way out.
    Commands print it after ``error:`` and exit with status 1 (see ``compat.one_line_errors``);
    in Python it is a :class:`ValueError`.
    """

    def __init__(self, message: str) -> None:
        text = " ".join(str(message).split())
        if len(text) > _LONGEST:  # the way out stands at the end
            text = f"{text[: _LONGEST // 2]} […] {text[-_LONGEST // 2 :]}"
        super().__init__(text)
