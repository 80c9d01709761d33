"""Lists the commands, or runs one: ``python -m lev_plugins [COMMAND …]``."""

from lev_runtime.io.commands import run_cli

from .cli.names import main

if __name__ == "__main__":
    run_cli(main)
