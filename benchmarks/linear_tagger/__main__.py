"""lev-predict for a linear tagger, which the import registers."""

import first_subword  # noqa: F401

from lev_plugins.cli.predict import main
from lev_runtime.io.commands import run_cli

if __name__ == "__main__":
    run_cli(main)
