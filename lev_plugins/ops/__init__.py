"""Alignment and edit scripts: functions of tensors, independent of fairseq."""
