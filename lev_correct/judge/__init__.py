"""Judges edits: how probable each is where it stands."""
