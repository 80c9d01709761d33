"""Decodes from left to right, by beam search."""
