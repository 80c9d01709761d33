"""Text encoders that fairseq registers without a configuration."""

from dataclasses import dataclass

_PLAIN = ("characters", "bytes")


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
