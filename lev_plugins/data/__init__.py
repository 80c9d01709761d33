"""Data sets and what is made of them before a model is called."""
