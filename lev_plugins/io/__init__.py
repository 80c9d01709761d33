"""Files in and out: text by the line, whole files or none, checkpoints read without trust."""
