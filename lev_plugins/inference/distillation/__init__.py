"""Sequence-level distillation: a teacher, its lines, and the journal of what is finished."""
