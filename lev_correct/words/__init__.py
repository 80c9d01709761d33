"""Lists of words, counts and misspellings."""
