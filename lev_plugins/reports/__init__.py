"""Figures and tables of outputs, and traces as text."""
