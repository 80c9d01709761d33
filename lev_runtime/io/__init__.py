"""Reads and writes the files and pipes of commands; their options and errors."""
