"""What models are deployed with: lev_runtime for LevT, CTranslate2 for a Transformer.

Both decode numbers or strings of tokens, text processing left out. See levt_against_ar.py.
"""

import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scripted import SCRIPTED, Script

from lev_plugins import LevenshteinEditor
from lev_plugins.export.folder import editor_writer, write_folder
from lev_runtime import Editor
from lev_runtime.decoding import Decoding
from lev_runtime.errors import UserError
from lev_runtime.feature_cache import ReusedFeatures
from lev_runtime.options import RefinementOptions
from lev_runtime.policy import EditPolicy, EditState
from lev_runtime.records import EditHypothesis

KINDS = {"fp32": "float32", "int8": "int8"}  #: ours → CTranslate2's
BEAMS = {"greedy": 1, "beam 5": 5}


class ScriptedPolicy(EditPolicy):
    """A policy of the runtime for which a script decides; every head is still computed."""

    def __init__(self, policy: ReusedFeatures, script: Script) -> None:
        self.policy, self.script = policy, script
        self.traces = policy.traces
        self.encode, self.best_tokens = policy.encode, policy.best_tokens

    def logits(self, head: str, state: EditState) -> np.ndarray:
        """What the script says of deletions and insertions."""
        computed = self.policy.logits(head, state)
        tokens, encoder_out = state.tokens, state.encoder_out.encoder_out
        with self.script.at_work():
            logits = np.zeros(computed.shape, computed.dtype)
            place = np.arange(logits.shape[1])
            if head == "deletion":
                is_deleted = self.script.deleted(tokens, place)
                logits[..., 1] = np.where(is_deleted, SCRIPTED, -SCRIPTED)
                return logits
            wanted = encoder_out.arrays["source_mask"].sum(1)[encoder_out.index]
            counts = np.minimum(self.script.inserted(tokens, wanted, place), logits.shape[2] - 1)
            logits[np.arange(len(logits))[:, None], place, counts] = SCRIPTED
            return logits


def runtime_decoder(peers: Any, folder: Path, int8: bool, script: Script, iterations: int) -> Any:
    """What decodes a batch as the script says, with the export of the package's model."""
    model = copy.copy(peers.ours)
    model.forbidden_symbols = sorted({*model.forbidden_symbols, *range(script.special)})
    writer = editor_writer(LevenshteinEditor([model], peers.our_task), int8)
    write_folder(folder, writer, int8)
    editor = Editor(folder, threads=torch.get_num_threads())
    policy = ScriptedPolicy(editor.policy, script)
    options = RefinementOptions(iterations)

    def decode(sample: dict[str, Any]) -> list[EditHypothesis]:
        source = sample["net_input"]["src_tokens"].numpy()
        return Decoding(policy, source, None, None, editor.symbols, options).run()

    return decode


@torch.no_grad()
def translator(model: Any, symbols: Any, args: Any, folder: Path, kind: str) -> Any:
    """fairseq's Transformer in CTranslate2.

    Raises:
        UserError: it is not installed.
    """
    try:
        import ctranslate2
        from ctranslate2.converters import fairseq as converter
        from ctranslate2.specs import common_spec, transformer_spec
    except ImportError as error:
        raise UserError("pip install -r benchmarks/requirements-peers.txt") from error
    sides = len(model.encoder.layers), len(model.decoder.layers)
    relu = common_spec.Activation.RELU
    spec = transformer_spec.TransformerSpec.from_config(
        sides, args.heads, pre_norm=False, activation=relu
    )
    converter.set_transformer_encoder(spec.encoder, model.encoder)
    converter.set_transformer_decoder(spec.decoder, model.decoder)
    words = converter._get_vocab(symbols)
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.decoder_start_token = spec.config.eos_token
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    folder.mkdir()
    spec.save(str(folder))
    threads = {"inter_threads": 1, "intra_threads": torch.get_num_threads()}
    return ctranslate2.Translator(str(folder), compute_type=KINDS[kind], **threads)


def translate(translator: Any, symbols: Any, beam: int, sample: dict[str, Any]) -> Any:
    """The best output of each sentence; a batch's are all as long as its longest source."""
    rows = sample["net_input"]["src_tokens"].tolist()
    special = (symbols.bos(), symbols.pad(), symbols.eos())
    sources = [[symbols[token] for token in row if token not in special] for row in rows]
    size = max(map(len, sources))
    lengths = {"min_decoding_length": size, "max_decoding_length": size}
    return translator.translate_batch(sources, beam_size=beam, **lengths)


def runtime_decoders(peers: Any, folder: Path, script: Script, iterations: int) -> dict[str, Any]:
    """By their names the exports that decode a batch."""
    decoders = {}
    for kind in KINDS:
        decode = runtime_decoder(peers, folder / kind, kind == "int8", script, iterations)
        decoders[f"runtime, {kind}"] = decode
    return decoders


def translators(model: Any, symbols: Any, args: Any, folder: Path) -> dict[str, Any]:
    """By their names the conversions of fairseq's Transformer that translate a batch."""
    decoders = {}
    for kind in KINDS:
        converted = translator(model, symbols, args, folder / f"ct2_{kind}", kind)
        for name, beam in BEAMS.items():
            translate_with = partial(translate, converted, symbols, beam)
            decoders[f"CTranslate2, {kind}, {name}"] = translate_with
    return decoders
