"""The Python interface: load a checkpoint, edit text.

>>> from lev_plugins import LevenshteinEditor
>>> editor = LevenshteinEditor.from_pretrained("checkpoints")
>>> editor.edit(["a source"], ["its draft"])[0].text
"""

import dataclasses
import os
from argparse import Namespace
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from fairseq import checkpoint_utils, utils
from fairseq.data import Dictionary, encoders
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from .compat import explain
from .errors import UserError
from .generators import RefinementGenerator, RefinementOptions
from .generators.history import EditTrace, Iteration
from .models.levenshtein import LevenshteinEditorModel
from .tasks import TranslationEditConfig, TranslationEditTask

CHECKPOINTS = ("checkpoint_best.pt", "checkpoint_last.pt", "model.pt")


class LevenshteinEditor:
    """A trained model, its dictionaries and its text processing.

    Args:
        model: a ``levenshtein_editor``.
        task: the ``translation_edit`` task that it belongs to.
        tokenizer, bpe: fairseq's text encoders, or None.
    """

    def __init__(
        self,
        model: LevenshteinEditorModel,
        task: TranslationEditTask,
        tokenizer: Any = None,
        bpe: Any = None,
    ) -> None:
        self.model, self.task = model.eval(), task
        self.tokenizer, self.bpe = tokenizer, bpe

    @classmethod
    def from_pretrained(
        cls, path: str, data: Optional[str] = None, device: Optional[str] = None, **overrides: Any
    ) -> "LevenshteinEditor":
        """Loads a checkpoint.

        Args:
            path: a checkpoint, or a folder with checkpoint_best.pt, checkpoint_last.pt or
                model.pt (the first that is there).
            data: folder with the dictionaries; by default those that the checkpoint carries.
            device: such as ``cuda``; the CPU by default.
            **overrides: text processing as in fairseq, such as ``bpe="sentencepiece"``,
                ``sentencepiece_model=…``, ``bpe="characters"``, ``tokenizer="moses"``; by default
                what the model was trained with on the command line.

        Raises:
            UserError: no checkpoint there, one that cannot be read, of another kind, or with
                other dictionaries.
        """
        path = _checkpoint(path)
        state = _load_state(path)
        task = _task(state, path, data)
        name = getattr(state["cfg"].model, "_name", None)
        try:
            models, cfg, _ = checkpoint_utils.load_model_ensemble_and_task(
                [path], task=task, state=state
            )
        except RuntimeError as error:  # parameters that do not fit
            raise UserError(explain(error) or f"checkpoint {path}: {error}") from error
        if not hasattr(models[0], "deletion_logits"):
            raise UserError(f"{path} holds a {name}, not an edit model")
        tokenizer, bpe = _text_encoders(cfg, overrides)
        return cls(models[0].to(device or "cpu"), task, tokenizer, bpe)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def edit(
        self,
        sources: Sequence[str],
        drafts: Optional[Sequence[Optional[str]]] = None,
        max_iter: int = 10,
        batch_size: int = 64,
        empty_penalty: float = 0.0,
        delete_threshold: Optional[float] = None,
    ) -> List[EditTrace]:
        """Edits every draft, or writes an output for every source that has none.

        Args:
            sources: plain text, one sentence each.
            drafts: a draft or None for every source; None where there are no drafts at all.
            max_iter: T_max, iterations at most.
            batch_size: sentences decoded at once; does not change the outputs.
            empty_penalty: γ, makes longer outputs likelier (paper, §3.3).
            delete_threshold: probability above which a token is deleted; default: the task's.

        Returns:
            a trace for every source, in order: text, score (mean log-probability in nats of
            what each token's last action was) and the iterations.

        Raises:
            UserError: as many drafts as sources are needed; a sentence beyond the model's limit.
        """
        if isinstance(sources, str) or isinstance(drafts, str):
            raise UserError("edit() takes lists of sentences, not a single string")
        drafts = [None] * len(sources) if drafts is None else list(drafts)
        if len(drafts) != len(sources):
            raise UserError(f"{len(sources)} sources but {len(drafts)} drafts")
        threshold = self.task.cfg.delete_threshold if delete_threshold is None else delete_threshold
        options = RefinementOptions(
            max_iter=max_iter,
            empty_penalty=empty_penalty,
            delete_threshold=threshold,
            retain_history=True,
            max_len_b=max(200, self.task.cfg.max_target_positions),
        )
        generator = RefinementGenerator(self.task.tgt_dict, self.task.placeholder, options)
        items = [self._encode_pair(*pair) for pair in zip(sources, drafts)]
        self._check_lengths(items)
        order = sorted(range(len(items)), key=lambda i: len(items[i][0]) + len(items[i][1]))
        traces: List[Optional[EditTrace]] = [None] * len(items)
        for start in range(0, len(order), max(batch_size, 1)):
            chosen = order[start : start + max(batch_size, 1)]
            batch = self._batch([items[i] for i in chosen])
            for i, hypotheses in zip(chosen, generator.generate([self.model], batch)):
                traces[i] = self._trace(sources[i], drafts[i], hypotheses[0])
        return [trace for trace in traces if trace is not None]

    # text to tokens ---------------------------------------------------------------------------

    def _apply(self, text: str) -> str:
        text = self.tokenizer.encode(text) if self.tokenizer else text
        return self.bpe.encode(text) if self.bpe else text

    def _encode_pair(self, source: str, draft: Optional[str]) -> Tuple[Tensor, Tensor]:
        encode = self.task.encode_text
        return (
            encode(source, self._apply, self.task.src_dict),
            encode(draft or "", self._apply, self.task.tgt_dict),
        )

    def _check_lengths(self, items: List[Tuple[Tensor, Tensor]]) -> None:
        for number, pair in enumerate(items, start=1):
            for name, tokens, limit in zip(("source", "draft"), pair, self.model.max_positions()):
                if len(tokens) > limit:
                    raise UserError(
                        f"{name} {number} has {len(tokens)} tokens where the model's limit is "
                        f"{limit}; split it into sentences"
                    )

    def _batch(self, items: List[Tuple[Tensor, Tensor]]) -> Dict[str, Any]:
        pad = self.task.tgt_dict.pad()
        sources, drafts = (
            torch.nn.utils.rnn.pad_sequence(list(side), batch_first=True, padding_value=pad)
            for side in zip(*items)
        )
        net_input = {"src_tokens": sources.to(self.device), "src_lengths": None}
        return {"net_input": net_input, "draft": drafts.to(self.device)}

    # tokens to text ---------------------------------------------------------------------------

    def _trace(self, source: str, draft: Optional[str], hypothesis: Dict[str, Any]) -> EditTrace:
        words = self._apply(draft or "").split()
        return EditTrace(
            source=source,
            draft=draft,
            text=self._text(self._symbols(hypothesis, words)),
            score=hypothesis["score"],
            iterations=tuple(self._iterations(hypothesis["history"], words)),
            terminated=hypothesis["terminated"],
        )

    def _symbols(self, state: Dict[str, Any], words: List[str]) -> Tuple[str, ...]:
        """Tokens as strings; an unknown token that stands since the draft is the draft's own."""
        dictionary = self.task.tgt_dict
        symbols = []
        for token, origin in zip(state["tokens"].tolist()[1:-1], state["origin"].tolist()[1:-1]):
            known = token != dictionary.unk() or origin < 1
            symbols.append(dictionary[token] if known else words[origin - 1])
        return tuple(symbols)

    def _text(self, symbols: Sequence[str]) -> str:
        text = " ".join(symbols)
        text = self.bpe.decode(text) if self.bpe else text
        return self.tokenizer.decode(text) if self.tokenizer else text

    def _iterations(self, history: List[Dict[str, Any]], words: List[str]) -> List[Iteration]:
        """The recorded phases (draft, then delete, placeholder, token in turn) as iterations."""
        iterations = []
        for before, delete, after in zip(history[0::3], history[1::3], history[3::3]):
            size = len(before["tokens"])
            iterations.append(
                Iteration(
                    before=self._symbols(before, words),
                    deleted=tuple((~delete["mask"][1 : size - 1]).tolist()),
                    after=self._symbols(after, words),
                    inserted=tuple(after["mask"][1 : len(after["tokens"]) - 1].tolist()),
                )
            )
        return iterations


def _checkpoint(path: str) -> str:
    if os.path.isdir(path):
        for name in CHECKPOINTS:
            if os.path.isfile(os.path.join(path, name)):
                return os.path.join(path, name)
        names = ", ".join(CHECKPOINTS)
        raise UserError(f"{path} holds none of {names}; name the checkpoint itself")
    if not os.path.isfile(path):
        raise UserError(f"checkpoint {path} does not exist")
    return path


def _load_state(path: str) -> Dict[str, Any]:
    try:
        state = checkpoint_utils.load_checkpoint_to_cpu(path)
    except Exception as error:  # whatever a damaged file makes torch raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise UserError(
            f"checkpoint {path} cannot be read ({reason}): damaged, or not a fairseq checkpoint"
        ) from error
    if state.get("cfg") is None and state.get("args") is not None:
        from fairseq.dataclass.utils import convert_namespace_to_omegaconf

        state["cfg"] = convert_namespace_to_omegaconf(state["args"])
    if "model" not in state or state.get("cfg") is None:
        raise UserError(f"checkpoint {path} is not a fairseq checkpoint")
    return state


def _task(state: Dict[str, Any], path: str, data: Optional[str]) -> TranslationEditTask:
    """The task, with the dictionaries of ``data``, else of the checkpoint, else of its data."""
    cfg = state["cfg"].task
    symbols = state.get("task_state") or {}
    if cfg._name not in ("translation_edit", "translation_lev"):
        raise UserError(f"{path} was trained with task {cfg._name}, not translation_edit")
    config = TranslationEditConfig()
    for field in dataclasses.fields(config):
        default = getattr(config, field.name)
        known = field.name in cfg and field.name != "_name"
        if known:
            setattr(config, field.name, cfg[field.name])
        elif isinstance(default, str) and default.startswith("${"):
            setattr(config, field.name, 1 if field.name == "seed" else None)
    if data is None and "source_symbols" in symbols:
        sides = (_dictionary(symbols[f"{side}_symbols"]) for side in ("source", "target"))
        return TranslationEditTask(config, *sides)
    if data is not None:
        config.data = data
    elif not os.path.isdir(utils.split_paths(config.data)[0]):
        config.data = os.path.dirname(os.path.abspath(path))
    return TranslationEditTask.setup_task(config)


def _dictionary(symbols: Sequence[str]) -> Dictionary:
    dictionary = Dictionary()
    for symbol in symbols[dictionary.nspecial :]:
        dictionary.add_symbol(symbol)
    return dictionary


def _text_encoders(cfg: DictConfig, overrides: Dict[str, Any]) -> List[Any]:
    """fairseq's tokenizer and BPE, from the checkpoint's configuration or as asked for.

    Raises:
        UserError: a name that is not known, or a file or package that is not there.
    """
    built = []
    for kind, build in (("tokenizer", encoders.build_tokenizer), ("bpe", encoders.build_bpe)):
        wanted = cfg.get(kind)
        if overrides.get(kind):
            wanted = Namespace(**overrides)
        elif wanted is not None:
            known = {name: value for name, value in overrides.items() if name in wanted}
            wanted = OmegaConf.merge(wanted, known)
        try:
            built.append(None if wanted is None else build(wanted))
        except KeyError as error:
            raise UserError(f"{kind} {error} is not one that fairseq has") from error
        except (ImportError, OSError) as error:
            raise UserError(
                f"{kind}: {error}; name its files to from_pretrained (sentencepiece_model=… "
                "bpe_codes=…)"
            ) from error
    return built
