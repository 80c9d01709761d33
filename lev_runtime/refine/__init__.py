"""Decodes by deletion and insertion until nothing changes (LevT)."""
