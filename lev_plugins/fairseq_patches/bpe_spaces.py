"""What ``--bpe`` reads: any space is the plain one, and ``characters`` can be asked for."""

from dataclasses import dataclass

from fairseq.dataclass import FairseqDataclass
from fairseq.registry import REGISTRIES
from hydra.core.config_store import ConfigStore

from lev_runtime.text_processing import plain_spaces

from ..io.patching import Stock, patches

_ENCODERS = REGISTRIES["bpe"]


@dataclass
class PlainEncoderConfig(FairseqDataclass):
    """No options: ``--bpe characters`` has no config dataclass, without which it is not taken."""


if _ENCODERS["dataclass_registry"].get("characters") is None:
    _ENCODERS["dataclass_registry"]["characters"] = PlainEncoderConfig
    _node = PlainEncoderConfig()
    _node._name = "characters"
    ConfigStore.instance().store(name=_node._name, group="bpe", node=_node, provider="fairseq")


def _encode(stock: Stock, *arguments: object, **named: object) -> str:
    """Fault: another space than the plain one becomes a part of a token, or joins words."""
    *encoder, text = (*arguments, *named.values())
    return str(stock(*encoder, plain_spaces(str(text))))


for _name in ("sentencepiece", "characters", "subword_nmt", "fastbpe"):
    patches(_ENCODERS["registry"][_name], "encode")(_encode)
