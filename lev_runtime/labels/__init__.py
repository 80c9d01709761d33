"""Labels texts and words (EncT5)."""
