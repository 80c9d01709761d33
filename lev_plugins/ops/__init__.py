"""Alignment and edit scripts: tensors in, tensors out, nothing of fairseq."""
