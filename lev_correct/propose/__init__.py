"""Candidates for words: models, lists and rules that propose edits."""
