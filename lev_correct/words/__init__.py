"""Lists of words and letter models."""
