"""How probable it is that an edit is right, by what its text tells."""
