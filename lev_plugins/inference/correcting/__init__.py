"""correcting."""
