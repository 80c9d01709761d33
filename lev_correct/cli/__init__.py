"""The commands ``lev-correct``, ``lev-correct check`` and ``lev-correct tune``."""
