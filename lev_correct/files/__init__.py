"""Reads files: their kinds, and which of their characters are prose; knows nothing of edits.

A new format has its endings in :mod:`.file_kinds` and its patterns in :mod:`.formats`; a language
of Pygments has neither, but its escapes in :mod:`.escapes`. Why a character of a line stays is
noted in one place, :mod:`lev_correct.text.protection`.
"""
