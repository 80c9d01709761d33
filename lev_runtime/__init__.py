"""What needs neither torch nor fairseq: for lev_plugins, and for exported models without it."""

__version__ = "0.6.0"
