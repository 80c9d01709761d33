"""Refuses an old Python in one line, makes README a description for a package index, and tells
fairseq of an editable install; the rest is in pyproject.toml.

Written so that the old Python can still parse it.
"""

import os
import re
import sys

if sys.version_info < (3, 11):
    sys.exit(
        "error: lev_plugins needs Python 3.11 or newer, this is Python %d.%d (%s): "
        "call a newer one, such as python3.11 -m pip install"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )

from setuptools import Command, setup  # noqa: E402
from setuptools.command.build import build  # noqa: E402

PACKAGE = "lev_plugins"
#: A Markdown link or picture that leads to a file of the repository, or to a heading.
RELATIVE = r"\[([^\]]+)\]\((?!https?:)[^)]+\)"


def described():
    """Return README as it is read without the repository: such links and pictures as their text."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "README.md")
    with open(place, encoding="utf-8") as file:
        return re.sub(RELATIVE, r"\1", re.sub("!" + RELATIVE, r"*\1*", file.read()))


class UserDir(Command):
    """A step of the build: in an editable install, a file where fairseq looks for --user-dir.

    For ``--user-dir lev_plugins`` fairseq looks beside its own package that something of this name
    is there, and then imports it by its name. A plain install puts the package there. An editable
    one puts nothing there, so that fairseq would give up; the file is enough to make it import,
    and Python, for which a file without an ending is no module, finds the sources.
    """

    editable_mode = False  # set by setuptools

    user_options = []

    def initialize_options(self):
        """Nothing to choose."""

    def finalize_options(self):
        """Nothing to choose."""

    def run(self):
        """Write the file into the wheel, so that pip removes it with the rest."""
        if self.editable_mode:
            place = os.path.join(self.get_finalized_command("install").install_lib, PACKAGE)
            with open(place, "w") as file:
                file.write("An editable install of lev_plugins: fairseq finds --user-dir here.\n")

    def get_source_files(self):
        """No source file belongs to this step."""
        return []

    def get_outputs(self):
        """Nothing in the folder of the build."""
        return []

    def get_output_mapping(self):
        """Nothing in the folder of the build."""
        return {}


build.sub_commands = [*build.sub_commands, ("user_dir", None)]
setup(
    cmdclass={"user_dir": UserDir},
    long_description=described(),
    long_description_content_type="text/markdown",
)
