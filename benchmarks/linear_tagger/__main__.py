"""lev-predict for a linear tagger, which the import registers."""

from lev_plugins.cli.predict import main
from lev_runtime.io.commands import run_cli

from . import LinearTagger as LinearTagger

if __name__ == "__main__":
    run_cli(main)
