"""Files, changes and settings that ``lev-correct check`` reads, and its reports."""
