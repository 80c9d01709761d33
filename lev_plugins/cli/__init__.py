"""Commands: ``python -m lev_plugins.cli.NAME --help``."""
