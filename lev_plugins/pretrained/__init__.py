"""Pre-trained BERT, BART and T5 from local folders as Hugging Face writes them.

Needs ``safetensors`` and ``tokenizers``. A trained model does not need its folder any more:
:meth:`Pretrained.description` is what :func:`build_backbone` makes the modules of. Importing this
registers ``--bpe hf``.
"""

from .folder import Pretrained, build_backbone
from .vocabulary import Vocabulary, read_vocabulary

__all__ = ["Pretrained", "Vocabulary", "build_backbone", "read_vocabulary"]
