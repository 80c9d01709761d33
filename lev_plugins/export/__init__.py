"""Trained models as folders that ``lev_runtime`` reads: ONNX graphs, words, settings."""
