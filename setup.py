"""Refuses an old Python in one line; everything else is declared in pyproject.toml.

Written so that the old Python can still parse it.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "error: lev_plugins needs Python 3.11 or newer, this is Python %d.%d (%s): "
        "call a newer one, such as python3.11 -m pip install"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )

from setuptools import setup  # noqa: E402

setup()
