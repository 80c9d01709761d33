"""Text encoders that fairseq registers without a configuration, or that lose spaces."""

from dataclasses import dataclass

from ..io.patching import Stock, patches
from ..io.text_files import plain_spaces


def configure_plain_encoders() -> None:
    """Makes ``--bpe characters`` work, and lets encoders take every space for one.

    Faults: it is registered without a config dataclass, so every command that is given it dies
    while it composes its configuration (``Could not find 'bpe/characters'``). And a non-breaking or
    another space of Unicode becomes a part of a token; where tokens are told apart, at whitespace,
    it vanishes, and the words beside it are joined.
    """
    from fairseq.dataclass import FairseqDataclass
    from fairseq.registry import REGISTRIES
    from hydra.core.config_store import ConfigStore

    @dataclass
    class PlainEncoderConfig(FairseqDataclass):
        """No options."""

    known = REGISTRIES["bpe"]
    if known["dataclass_registry"].get("characters") is None:
        known["dataclass_registry"]["characters"] = PlainEncoderConfig
        node = PlainEncoderConfig()
        node._name = "characters"
        ConfigStore.instance().store(name=node._name, group="bpe", node=node, provider="fairseq")
    for name in ("sentencepiece", "characters", "subword_nmt"):

        @patches(known["registry"][name], "encode")
        def encode(stock: Stock, *arguments: object, **named: object) -> str:
            """fairseq's, of the text with plain spaces; the text comes last."""
            *owner, text = (*arguments, *named.values())
            return str(stock(*owner, plain_spaces(str(text))))
