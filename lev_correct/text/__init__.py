"""Text of a line: its units, what is protected and what is mentioned."""
