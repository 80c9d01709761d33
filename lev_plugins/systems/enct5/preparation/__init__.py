"""Labelled text for EncT5: read, checked and binarised."""
