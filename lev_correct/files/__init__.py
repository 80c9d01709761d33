"""Reads files: their kinds, and which of their characters are prose; knows nothing of edits."""
