"""Pre-trained models from local folders: their weights, vocabularies and tokenizers.

    backbone = load_backbone(folder, source, target, dropout=0.1, …)

A trained model must not need the folder any more: :func:`describe_backbone` gives what
:func:`build_backbone` makes the same modules of, to be filled from fairseq's checkpoint.

Importing this registers the tokenizers for ``--bpe``. Nothing here needs the network or
``transformers``; ``safetensors`` and ``tokenizers`` are imported when they are needed.
"""

from . import bpe as bpe
from .directory import Directory
from .loading import Inspection, build_backbone, describe_backbone, inspect, load_backbone
from .vocabulary import Vocabulary, read_vocabulary

__all__ = [
    "Directory",
    "Inspection",
    "Vocabulary",
    "build_backbone",
    "describe_backbone",
    "inspect",
    "load_backbone",
    "read_vocabulary",
]
