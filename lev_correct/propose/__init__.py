"""Proposes edits: models that write, ranking of what they and the lists propose, and spaces."""
