"""Task ``translation_edit``: from a source, and a draft where there is one, to a target."""

import copy
import functools
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from fairseq.criterions import CRITERION_REGISTRY, FairseqCriterion
from fairseq.data import Dictionary, FairseqDataset, PrependTokenDataset, data_utils
from fairseq.dataclass import ChoiceEnum
from fairseq.models import ARCH_MODEL_REGISTRY, BaseFairseqModel
from fairseq.optim import FairseqOptimizer
from fairseq.tasks import FairseqTask, register_task
from fairseq.token_generation_constraints import unpack_constraints
from omegaconf import II, OmegaConf
from torch import Tensor, nn

from ...data.edit_dataset import EditDataset, OnHost
from ...errors import UserError
from ...fairseq_patches import compare_symbols
from ...nn.packing import Layout
from ...options import option
from ...tasks.post_editing import PLACEHOLDER, PostEditingConfig, PostEditingTask
from .decoding import RefinementGenerator, RefinementOptions
from .decoding.diversity import DIVERSITY
from .decoding.oracle import ORACLES
from .joining import Joining
from .markup import JOINED, KEEP, Mark, parse_markup, token_marks, whole_words
from .oov import OOVWords
from .roll_in import KEPT_TOKENS, ROLL_IN_TOKENS, TOKEN_MASKING, RollInOptions, build_roll_in

# how to read other projects' model configurations: name → function of (cfg) → our configuration
MODEL_ADAPTERS: Dict[str, Callable[[Any], Any]] = {}


TUNED = "tuned"  # in a checkpoint's state of the task: γ and the deletion threshold


class Draft(NamedTuple):
    """N tokens of a draft with <s> and </s>, and the bits of the marks on each."""

    tokens: Tensor
    marks: Tensor


@dataclass
class TranslationEditConfig(PostEditingConfig):
    alpha: float = option(
        0.5,
        "share of deletion states that are the draft, in [0, 1]; the others are the model's own "
        "insertions (paper, Eq. 6)",
    )
    beta: float = option(
        0.5,
        "share of insertion states that are the draft after the expert's deletion, without a "
        "draft the empty sentence, in [0, 1]; the others are targets with tokens dropped at "
        "random (paper, Eq. 7)",
    )
    alpha_start: Optional[float] = option(None, "alpha at the first update (see --roll-in-updates)")
    beta_start: Optional[float] = option(None, "beta at the first update (see --roll-in-updates)")
    roll_in_updates: int = option(
        0,
        "updates over which alpha and beta move linearly from their start values to --alpha and "
        "--beta: learn to generate first, then to edit drafts",
    )
    roll_in_share: float = option(
        0.0,
        "with --lr-scheduler time_budget, in the place of --roll-in-updates: share of the time "
        "over which alpha and beta move",
    )
    roll_in_tokens: ChoiceEnum(ROLL_IN_TOKENS) = option(  # type: ignore[valid-type]
        "argmax",
        "what stands for the model's own insertions when it learns to delete: argmax (Alg. 1), "
        "sample (Eq. 6), or random, words sampled by frequency: nothing of the model itself, the "
        "DAE of Table 2b",
    )
    kept_tokens: ChoiceEnum(KEPT_TOKENS) = option(  # type: ignore[valid-type]
        "uniform",
        "how many of n tokens random dropping keeps: uniform, 0 to n alike; incomplete, 0 to n - "
        "1, as fairseq does; few, the square of a uniform share, so that more is gone",
    )
    token_masking: ChoiceEnum(TOKEN_MASKING) = option(  # type: ignore[valid-type]
        "none",
        "uniform: the token head learns to predict a uniform share of the tokens that stand as "
        "well, as a masked language model does; placeholders and deletions are learnt as before. "
        "It gets more labels from a batch",
    )
    delete_threshold: Optional[float] = option(
        None,
        "decoding: a token goes when its probability of deletion is above this; higher leaves "
        "more of a draft alone (default: what tune --keep has put into the checkpoint, else 0.5, "
        "the argmax)",
    )
    untuned: bool = option(False, "decoding: ignore what tune --keep has put into the checkpoint")
    stock_decoding: bool = option(
        False,
        "decode as fairseq's levenshtein_transformer does, token for token: one iteration more, "
        "unk refilled, whole iterations compared, its length limit",
    )
    oracle: ChoiceEnum(ORACLES) = option(  # type: ignore[valid-type]
        "none",
        "decoding with the reference's help (paper, Fig. 5): none, deletion, or "
        "deletion+placeholder",
    )
    diversity: ChoiceEnum(DIVERSITY) = option(  # type: ignore[valid-type]
        "length",
        "how the candidates of --iter-decode-with-beam differ: length (the likeliest changes of a "
        "number of insertions), penalty (gamma up to 3), or noise (noisy parallel decoding)",
    )
    noise_scale: float = option(
        0.5, ("scale of the Gumbel noise of --diversity noise; 1 samples from the policies")
    )
    markup: bool = option(
        False,
        "interactive: drafts have marks: [=stays=], [-goes-], [~another~], [+term+]; a backslash "
        "before [ makes it text",
    )
    seed: int = II("common.seed")


@register_task("translation_edit", dataclass=TranslationEditConfig)
class TranslationEditTask(PostEditingTask):
    """Generation and post-editing by insertion and deletion.

    fairseq's translation data, with ``train.src-tgt.DRAFT`` beside them where ``--draft-lang``
    names drafts. The target dictionary gets one symbol more, the placeholder ``<plh>``.
    """

    cfg: TranslationEditConfig

    def __init__(
        self, cfg: TranslationEditConfig, src_dict: Dictionary, tgt_dict: Dictionary
    ) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        for dictionary in {id(d): d for d in (src_dict, tgt_dict)}.values():
            dictionary.add_symbol(PLACEHOLDER)
        self.placeholder = tgt_dict.index(PLACEHOLDER)
        self.epoch = 1
        self.trained_here = False  # this task has trained the checkpoint that is loaded
        self.edits = False  # whether the model built last is an edit model
        self.tuned: Dict[str, float] = {}  # how to decode, by tune --keep
        # how often a word is met, for random roll-in; dictionaries of checkpoints know it of none
        self.frequencies = torch.tensor(tgt_dict.count[: len(tgt_dict)], dtype=torch.double)
        self.state.merge_state_dict(
            {"source_symbols": list(src_dict.symbols), "target_symbols": list(tgt_dict.symbols)}
        )

    @classmethod
    def setup_task(cls, cfg: TranslationEditConfig, **kwargs: Any) -> "TranslationEditTask":
        """Loads the dictionaries.

        Raises:
            UserError: a value out of range, or what the base class refuses.
        """
        shares = ("alpha", "beta", "alpha_start", "beta_start", "roll_in_share", "delete_threshold")
        for name in shares:
            value = getattr(cfg, name)
            if value is not None and not 0 <= value <= 1:
                flag = "--" + name.replace("_", "-")
                raise UserError(f"{flag} {value} is outside [0, 1]; give a share between 0 and 1")
        if cfg.roll_in_share and cfg.roll_in_updates:
            raise UserError("give --roll-in-updates or --roll-in-share, not both")
        return super().setup_task(cfg, **kwargs)

    # data -------------------------------------------------------------------------------------

    def make_dataset(
        self,
        source: FairseqDataset,
        target: Optional[FairseqDataset],
        draft: Optional[FairseqDataset],
        shuffle: bool,
    ) -> EditDataset:
        """Every side with <s> in front."""
        bos = self.tgt_dict.bos()
        source = PrependTokenDataset(source, bos)
        target, draft = (
            None if side is None else PrependTokenDataset(side, bos) for side in (target, draft)
        )
        return EditDataset(
            source,
            source.sizes,
            self.src_dict,
            target,
            None if target is None else target.sizes,
            self.tgt_dict,
            draft=draft,
            draft_sizes=None if draft is None else draft.sizes,
            left_pad_source=self.cfg.left_pad_source,
            left_pad_target=False,
            num_buckets=self.cfg.num_batch_buckets,
            learn=shuffle and target is not None,
            shuffle=shuffle,
            pad_to_multiple=self.cfg.required_seq_len_multiple,
        )

    # interactive and Python -------------------------------------------------------------------

    def get_interactive_tokens_and_lengths(
        self, lines: List[str], encode_fn: Callable[[str], str]
    ) -> Tuple[List[Any], List[int]]:
        """Reads ``source`` or ``source<TAB>draft``, with marks on the draft if the task has them.

        Raises:
            UserError: a line with more than one tab, or marks that cannot be read.
        """
        self._forget_words()  # those of the lines before are printed
        oov_words = self.new_oov_words()
        found = self.encode_lines(
            lines, encode_fn, lambda draft: self.encode_draft(draft, encode_fn, None, oov_words)
        )
        self.tgt_dict.symbols += oov_words.words  # by which fairseq-interactive prints
        self.tgt_dict.count += [0] * len(oov_words.words)
        return found

    def new_oov_words(self) -> OOVWords:
        """Where :meth:`encode_draft` numbers the words of one batch that are not known."""
        return OOVWords(self.tgt_dict, self.placeholder + 1)

    def _forget_words(self) -> None:
        """Takes the words behind the placeholder from the dictionary."""
        first, known = self.placeholder + 1, self.tgt_dict
        for word in known.symbols[first:]:
            # fairseq gives an index to words that it has joined (--post-process)
            if known.indices.get(word, 0) >= first:
                del known.indices[word]
        del known.symbols[first:], known.count[first:]

    def encode_draft(
        self,
        text: str,
        encode_fn: Callable[[str], str],
        markup: Optional[bool] = None,
        oov_words: Optional[OOVWords] = None,
    ) -> Draft:
        """A draft's tokens with <s> and </s>, and the marks on them.

        Args:
            markup: whether the text has marks; by default what ``--markup`` says.
            oov_words: gives words that are not known their numbers, above the dictionary's: they
                are read as <unk> and can be written as they came. Without it they are <unk>.

        Raises:
            UserError: marks that cannot be read, or a term with a word that is not known.
        """
        if self.cfg.markup if markup is None else markup:
            return self._coded(*parse_markup(text), encode_fn, oov_words)
        return self._coded(text, [], encode_fn, oov_words)

    def _coded(
        self,
        plain: str,
        spans: Sequence[Mark],
        encode_fn: Callable[[str], str],
        oov_words: Optional[OOVWords] = None,
    ) -> Draft:
        """A draft from its plain text and the marks on it.

        Marks on more tokens than are read are not placed, which would take the square of their
        number: such a draft is refused, or skipped, for its length.
        """
        if spans and len(encode_fn(plain).split()) + 2 > self.cfg.max_target_positions:
            spans = []
        words, bits = token_marks(plain, spans, encode_fn)
        terms = [mark for mark in spans if mark.kind == "term"]
        tokens = [self._draft_token(word, oov_words) for word in words]
        for word, token, bit in zip(words, tokens, bits):
            if terms and bit & KEEP and not self._knows(token):
                self._refuse_unknown(word, terms, plain, encode_fn)
        if any(bits):
            bits = whole_words(words, bits, self.joining)
        bos, eos = self.tgt_dict.bos(), self.tgt_dict.eos()
        return Draft(torch.tensor([bos, *tokens, eos]), torch.tensor([0, *bits, 0]))

    @functools.cached_property
    def joining(self) -> Joining:
        """How tokens of the target join into words."""
        return Joining(self.tgt_dict.symbols[: self.placeholder])

    def encode_terms(
        self,
        terms: Sequence[str],
        encode_fn: Callable[[str], str],
        oov_words: Optional[OOVWords] = None,
    ) -> Draft:
        """Terms as the draft to start from, each to stay whole (Susanto et al., 2020).

        Args:
            oov_words: as of :meth:`encode_draft`, for what stands between terms.

        Raises:
            UserError: an empty term, or a word that is not known.
        """
        text, marks = "", []
        for term in terms:
            if not term.strip():
                raise UserError("a term is empty; leave it out, or give its text")
            text += " " if text else ""
            marks.append(Mark(len(text), len(text) + len(term), "term"))
            text += term
        return self._coded(text, marks, encode_fn, oov_words)

    def _draft_token(self, word: str, oov_words: Optional[OOVWords]) -> int:
        token: int = self.tgt_dict.index(word)
        if self._knows(token):
            return token
        return self.tgt_dict.unk() if oov_words is None else oov_words.number(word)

    def _knows(self, token: int) -> bool:
        """Whether it stands for text; a special symbol typed as text is not a special symbol."""
        return self.tgt_dict.nspecial <= token < self.placeholder

    def _refuse_unknown(
        self, word: str, terms: Sequence[Mark], text: str, encode_fn: Callable[[str], str]
    ) -> None:
        for term in terms:
            shown = text[term.start : term.end]
            if word in encode_fn(shown).split():
                raise UserError(
                    f"the term {shown!r} has {word!r}, which is not in the vocabulary; the model "
                    "cannot place what it does not know: choose another word, or mark it [=…=] in "
                    "a draft"
                )

    def build_dataset_for_inference(
        self,
        src_tokens: Sequence[Union[Tensor, Tuple[Tensor, Optional[Draft]]]],
        src_lengths: Sequence[int],
        constraints: Optional[Tensor] = None,
    ) -> EditDataset:
        """Data of sources, or of (source, draft) pairs as interactive reads them.

        Args:
            constraints: terms as fairseq-interactive packs them under ``--constraints``.

        Raises:
            UserError: a term that is empty or has a word that is not known.
        """
        bos = self.src_dict.bos()
        pairs = [item if isinstance(item, tuple) else (item, None) for item in src_tokens]
        if constraints is not None:
            self._check_terms(constraints)
        sources = [s if s[0] == bos else torch.cat([s.new_tensor([bos]), s]) for s, _ in pairs]
        empty = torch.tensor([bos, self.tgt_dict.eos()])
        nothing = Draft(empty, torch.zeros_like(empty))
        drafts = [nothing if draft is None else draft for _, draft in pairs]
        return EditDataset(
            sources,
            [len(source) for source in sources],
            self.src_dict,
            tgt_dict=self.tgt_dict,
            draft=[draft.tokens for draft in drafts],
            draft_sizes=[len(draft.tokens) for draft in drafts],
            marks=[draft.marks for draft in drafts] if constraints is None else None,
            constraints=constraints,
            left_pad_source=self.cfg.left_pad_source,
            shuffle=False,
        )

    def _check_terms(self, constraints: Tensor) -> None:
        for number, packed in enumerate(constraints, start=self.lines_before + 1):
            for term in unpack_constraints(packed):
                words = term.ge(self.tgt_dict.nspecial) & term.lt(self.placeholder)
                if not len(term) or not words.all():
                    raise UserError(
                        f"input line {number}: a term of --constraints is empty or has a word that "
                        "is not in the vocabulary; choose another word"
                    )

    def _drafts_of_terms(self, constraints: Tensor) -> Tensor:
        """Packed terms → drafts and marks, B × 2 × N: the terms in their order, each whole."""
        bos, eos, pad = self.tgt_dict.bos(), self.tgt_dict.eos(), self.tgt_dict.pad()
        drafts, marks = [], []
        for packed in constraints.cpu():
            terms = unpack_constraints(packed)
            inside = [
                whole_words(
                    [self.tgt_dict[token] for token in term.tolist()],
                    [KEEP | JOINED] * (len(term) - 1) + [KEEP],
                    self.joining,
                )
                for term in terms
            ]
            drafts.append(torch.tensor([bos, *(t for term in terms for t in term.tolist()), eos]))
            marks.append(torch.tensor([0, *(bit for bits in inside for bit in bits), 0]))
        sides = (data_utils.collate_tokens(drafts, pad), data_utils.collate_tokens(marks, 0))
        return torch.stack(sides, 1).to(constraints.device)

    # training ---------------------------------------------------------------------------------

    def begin_epoch(self, epoch: int, model: nn.Module) -> None:
        self.epoch = epoch

    def train_step(
        self,
        sample: Dict[str, Any],
        model: nn.Module,
        criterion: FairseqCriterion,
        optimizer: FairseqOptimizer,
        update_num: int,
        ignore_grad: bool = False,
    ) -> Tuple[Tensor, int, Dict[str, Any]]:
        """fairseq's step, on the states that the roll-in has for this epoch and moment.

        Raises:
            UserError: ``--roll-in-share`` and a schedule that does not know the time.
        """
        mixture = self.mixture(update_num, getattr(optimizer, "time_share", None))
        sample = self._with_roll_in(sample, self.epoch, mixture)
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def valid_step(
        self, sample: Dict[str, Any], model: nn.Module, criterion: FairseqCriterion
    ) -> Tuple[Tensor, int, Dict[str, Any]]:
        # epoch 0: the same states at every validation, so that losses can be compared
        return super().valid_step(self._with_roll_in(sample, 0, self.mixture()), model, criterion)

    def mixture(
        self, update: Optional[int] = None, time_share: Optional[float] = None
    ) -> Tuple[float, float]:
        """α and β at an update, or when a share of the time has passed; final values without one.

        Raises:
            UserError: ``--roll-in-share``, and no schedule that tells the time.
        """
        done: Optional[float] = update
        whole = float(self.cfg.roll_in_updates)
        if self.cfg.roll_in_share and update is not None:
            if time_share is None:
                raise UserError(
                    f"--roll-in-share {self.cfg.roll_in_share} needs --lr-scheduler time_budget; "
                    "with other schedules give --roll-in-updates"
                )
            done, whole = time_share, self.cfg.roll_in_share
        moved = done / whole if done is not None and done < whole else 1.0

        def at(start: Optional[float], end: float) -> float:
            return end if start is None else start + moved * (end - start)

        return at(self.cfg.alpha_start, self.cfg.alpha), at(self.cfg.beta_start, self.cfg.beta)

    def _with_roll_in(
        self,
        sample: Dict[str, Any],
        epoch: int,
        mixture: Optional[Tuple[float, float]] = None,
    ) -> Dict[str, Any]:
        cfg = self.cfg
        mixture = mixture or self.mixture()
        options = RollInOptions(
            *mixture,
            str(cfg.roll_in_tokens),
            cfg.seed,
            str(cfg.kept_tokens),
            str(cfg.token_masking),
        )
        # on the host, from numbers and tokens that it has: a device would be asked for each
        host = sample.get("on_host") or OnHost.of(sample)
        roll_in = build_roll_in(
            host.target,
            host.draft,
            host.ids,
            epoch,
            options,
            self.tgt_dict,
            self.placeholder,
            self.frequencies,
            host.alignment,
        )
        roll_in.source = Layout.of(host.source.ne(self.src_dict.pad()))
        if sample["target"].device != host.target.device:
            roll_in = roll_in.to(sample["target"].device)
        return {**sample, "roll_in": roll_in}

    # models, decoding and checkpoints -----------------------------------------------------------

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> BaseFairseqModel:
        """Builds the model, that of another project in our form.

        Raises:
            UserError: it is a checkpoint's, and neither this task has trained it nor is it known;
                or it is to be trained here and does not edit.
        """
        name = getattr(cfg, "_name", None) or getattr(cfg, "arch", None)
        found = ARCH_MODEL_REGISTRY.get(name)
        if not from_checkpoint and found is not None and not hasattr(found, "deletion_logits"):
            raise UserError(
                f"--arch {name} is no edit model of ours; --task translation_edit goes with "
                "--arch levenshtein_editor"
            )
        if from_checkpoint and name in MODEL_ADAPTERS:
            cfg = OmegaConf.structured(MODEL_ADAPTERS[name](cfg))
        elif from_checkpoint and not self.trained_here:
            if self.edits:  # it stands behind an edit model: a re-ranker
                return FairseqTask.build_model(self._without_placeholder(), cfg, from_checkpoint)
            raise UserError(
                f"the checkpoint holds a model of the kind {name}, which another task has trained; "
                "run it with that task (such as --task translation), or give a checkpoint trained "
                "with --task translation_edit or of a levenshtein_transformer"
            )
        model = super().build_model(cfg, from_checkpoint)
        self.edits = hasattr(model, "deletion_logits")
        return model

    def build_criterion(self, cfg: Any) -> FairseqCriterion:
        """Builds the criterion.

        Raises:
            UserError: one of fairseq's, which know no roll-in, or what the base class refuses.
        """
        name = getattr(cfg, "_name", None)
        if getattr(CRITERION_REGISTRY.get(name), "__module__", "").startswith("fairseq."):
            raise UserError(
                f"--criterion {name}: --task translation_edit goes with "
                "--criterion edit_policy_loss"
            )
        return super().build_criterion(cfg)

    def _without_placeholder(self) -> "TranslationEditTask":
        """This task with the dictionaries that other tasks know."""
        plain = copy.copy(self)
        plain.src_dict = _trimmed(self.src_dict)
        joined = self.src_dict is self.tgt_dict
        plain.tgt_dict = plain.src_dict if joined else _trimmed(self.tgt_dict)
        return plain

    def build_generator(
        self,
        models: Sequence[nn.Module],
        args: Any,
        seq_gen_cls: Optional[type] = None,
        extra_gen_cls_kwargs: Optional[Dict[str, Any]] = None,
        **kwargs: Any,
    ) -> Any:
        """Refinement for models with edit policies; fairseq's beam search for any other."""
        if not any(hasattr(model, "deletion_logits") for model in models):
            return super().build_generator(
                models, args, seq_gen_cls, extra_gen_cls_kwargs, **kwargs
            )
        options = RefinementOptions.from_generation(args, **self.decoding_options())
        if not options.empty_penalty:
            options = replace(options, empty_penalty=self.empty_penalty)
        return RefinementGenerator(self.tgt_dict, self.placeholder, options)

    @property
    def delete_threshold(self) -> float:
        """As the options say, else as the checkpoint was tuned, else 0.5."""
        if self.cfg.delete_threshold is not None:
            return self.cfg.delete_threshold
        return self._tuned("delete_threshold", 0.5)

    @property
    def empty_penalty(self) -> float:
        """γ, as the checkpoint was tuned, else 0."""
        return self._tuned("empty_penalty", 0.0)

    def _tuned(self, name: str, default: float) -> float:
        ignored = self.cfg.untuned or self.cfg.stock_decoding
        return default if ignored else self.tuned.get(name, default)

    def decoding_options(self) -> Dict[str, Any]:
        """What the task, and not fairseq, says about decoding."""
        return {
            "delete_threshold": self.delete_threshold,
            "stock": self.cfg.stock_decoding,
            "oracle": str(self.cfg.oracle),
            "diversity": str(self.cfg.diversity),
            "noise_scale": self.cfg.noise_scale,
            "seed": self.cfg.seed or 1,
        }

    def inference_step(
        self,
        generator: Any,
        models: Sequence[Any],
        sample: Dict[str, Any],
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
    ) -> List[List[Dict[str, Any]]]:
        """``constraints`` carries drafts and marks, or terms, in interactive."""
        if not isinstance(generator, RefinementGenerator):
            return super().inference_step(generator, models, sample, prefix_tokens)
        if prefix_tokens is not None:
            raise UserError("--prefix-size is not supported by edit models; give the draft instead")
        if constraints is not None:
            if constraints.dim() == 2:  # as --constraints packs them
                constraints = self._drafts_of_terms(constraints)
            sample = {**sample, "draft": constraints[:, 0], "marks": constraints[:, 1]}
        with torch.no_grad():
            return generator.generate(models, sample)

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Checks that a checkpoint was trained with the same dictionaries.

        Raises:
            UserError: it was not.
        """
        compare_symbols(self, state_dict)
        self.trained_here = "target_symbols" in state_dict
        self.tuned = dict(state_dict.get(TUNED, {}))
        for side, dictionary in (("source", self.src_dict), ("target", self.tgt_dict)):
            saved = state_dict.get(f"{side}_symbols", dictionary.symbols)
            self.refuse_other_symbols(f"another {side} dictionary", saved, dictionary)


def _trimmed(dictionary: Dictionary) -> Dictionary:
    """A dictionary without the placeholder and what stands behind it."""
    plain = copy.deepcopy(dictionary)
    end = plain.indices.pop(PLACEHOLDER)
    del plain.symbols[end:], plain.count[end:]
    return plain
