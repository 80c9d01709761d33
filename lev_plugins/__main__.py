"""Lists the commands, or runs one: ``python -m lev_plugins [COMMAND …]``."""

from .cli.names import main
from .io.command_errors import run_cli

if __name__ == "__main__":
    run_cli(main)
