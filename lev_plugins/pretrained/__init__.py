"""Pre-trained BERT, BART and T5 from local folders, which ``transformers`` reads.

    backbone = Pretrained(folder).backbone(source, target, dropout=0.1, …)

A trained model does not need the folder any more: :meth:`Pretrained.description` is what
:func:`build_backbone` makes the same modules of, to be filled from fairseq's checkpoint.

Importing this registers ``--bpe hf``; ``transformers`` is imported once a folder is opened.
"""

from .folder import Pretrained, build_backbone
from .vocabulary import Vocabulary, read_vocabulary

__all__ = ["Pretrained", "Vocabulary", "build_backbone", "read_vocabulary"]
