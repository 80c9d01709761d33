"""Noise on plain text: a function of a line and its random numbers that gives a noisy line."""
