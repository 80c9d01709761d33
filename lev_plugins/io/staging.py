"""A folder whose files appear when all of them are whole."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import UserError


@contextmanager
def staged(destdir: str) -> Iterator[str]:
    """A folder to write into; what is there at the end of the block goes to ``destdir``.

    It lies in ``destdir``, or in the nearest folder above that exists: on the same file system,
    so that moving is renaming. Files of ``destdir`` with other names stay.

    Raises:
        UserError: the system refuses to write.
    """
    anchor = final = Path(destdir).resolve()
    while not anchor.exists():
        anchor = anchor.parent
    try:
        with tempfile.TemporaryDirectory(prefix=".preprocess-", dir=anchor) as folder:
            yield folder
            final.mkdir(parents=True, exist_ok=True)
            for path in sorted(Path(folder).iterdir()):
                path.replace(final / path.name)
    except BrokenPipeError:  # the reader of our standard output has gone: no fault of destdir
        raise
    except OSError as error:
        why = f"{error.strerror or error} ({error.filename})" if error.filename else str(error)
        raise UserError(f"--destdir {destdir}: {why}; fix that or choose another") from error
