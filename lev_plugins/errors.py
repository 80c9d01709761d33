"""The one exception for a user's mistake, and the line that commands print for it."""


class UserError(ValueError):
    """Something the user can mend: a missing file, a line that cannot be read, a bad value.

    The message is a single line that names the file, line or value and the way out.
    Commands print it after ``error:`` and exit with status 1 (see ``compat.one_line_errors``);
    in Python it is a :class:`ValueError`.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(str(message).split()))
