"""Words of a line: its units, what is protected, what is mentioned."""
