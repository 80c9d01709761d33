"""Checks the files of a repository."""
