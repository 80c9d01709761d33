"""Pre-trained BERT, BART and T5 from local folders, which ``transformers`` reads.

    backbone = load_backbone(folder, source, target, dropout=0.1, …)

A trained model does not need the folder any more: :func:`describe_backbone` gives what
:func:`build_backbone` makes the same modules of, to be filled from fairseq's checkpoint.

Importing this registers ``--bpe hf``; ``transformers`` is imported once a folder is opened.
"""

from .directory import Directory
from .loading import build_backbone, describe_backbone, inspect, load_backbone
from .vocabulary import Vocabulary, read_vocabulary

__all__ = [
    "Directory",
    "Vocabulary",
    "build_backbone",
    "describe_backbone",
    "inspect",
    "load_backbone",
    "read_vocabulary",
]
