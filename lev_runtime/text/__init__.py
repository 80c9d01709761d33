"""Turns text into tokens, and edits into text."""
