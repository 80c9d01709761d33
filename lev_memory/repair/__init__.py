"""Repairs a translation from both sources and the words of a memory: ``entries.Repairer``."""
