"""Commands: ``python -m lev_plugins`` lists them; ``python -m lev_plugins.cli.NAME --help``."""
