"""Text encoders that fairseq registers without a configuration, or that lose spaces."""

from dataclasses import dataclass

from ..io.patching import Stock, patches
from ..io.text_files import plain_spaces

_PLAIN = ("characters", "bytes")
#: those that know the plain space alone
_ONE_SPACE = ("sentencepiece", "characters", "subword_nmt")


def configure_plain_encoders() -> None:
    """Make ``--bpe characters`` and ``--bpe bytes`` work.

    Fault: both are registered without a config dataclass, so every command that is given one
    dies while it composes its configuration (``Could not find 'bpe/characters'``).
    """
    from fairseq.dataclass import FairseqDataclass
    from fairseq.registry import REGISTRIES
    from hydra.core.config_store import ConfigStore

    @dataclass
    class PlainEncoderConfig(FairseqDataclass):
        """No options."""

    known = REGISTRIES["bpe"]["dataclass_registry"]
    for name in _PLAIN:
        if name in known or name not in REGISTRIES["bpe"]["registry"]:
            continue
        node = PlainEncoderConfig()
        node._name = name
        known[name] = PlainEncoderConfig
        ConfigStore.instance().store(name=name, group="bpe", node=node, provider="fairseq")


def keep_words_apart() -> None:
    """Let ``--bpe sentencepiece``, ``characters`` and ``subword_nmt`` take every space for one.

    Fault: they leave a non-breaking or another space of Unicode as it is (sentencepiece where its
    model does not normalise), as a token or a part of one. Where their tokens are told apart, at
    whitespace, it vanishes, and the words beside it are joined.
    """
    from fairseq.registry import REGISTRIES

    known = REGISTRIES["bpe"]["registry"]
    for kind in (known[name] for name in _ONE_SPACE if name in known):

        @patches(kind, "encode")
        def encode(stock: Stock, *arguments: object, **named: object) -> str:
            """fairseq's, of the text with plain spaces; the text comes last."""
            *owner, text = (*arguments, *named.values())
            return str(stock(*owner, plain_spaces(str(text))))
