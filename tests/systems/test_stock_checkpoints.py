"""Models of fairseq's own ``levenshtein_transformer``, run by our code: the same outputs."""

import itertools
import random
import re
from argparse import Namespace
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
import tiny
import torch
from contract import Hypotheses
from fairseq import options
from fairseq.data import Dictionary
from fairseq.models.nat.levenshtein_transformer import LevenshteinTransformerModel
from fairseq.tasks.translation_lev import TranslationLevenshteinTask
from omegaconf import OmegaConf
from refusals import refuses
from seq2seq_models import PBD
from tables import cases
from torch import Tensor

from lev_plugins.systems.levenshtein import LevenshteinEditorModel
from lev_plugins.systems.levenshtein.stock import editor_config
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask
from lev_runtime.text.markup import KEEP

pytestmark = [pytest.mark.device, pytest.mark.kernels]

TINY = (
    "data --task translation_lev --arch levenshtein_transformer --encoder-layers 2 "
    "--decoder-layers 3 --encoder-embed-dim 16 --decoder-embed-dim 16 --encoder-ffn-embed-dim 24 "
    "--decoder-ffn-embed-dim 24 --encoder-attention-heads 2 --decoder-attention-heads 2"
)
SENTENCES = 16
PRE_NORM = "--encoder-normalize-before --decoder-normalize-before"
SETTINGS = {
    "pre-norm": PRE_NORM,
    "learned positions, one table": "--encoder-learned-pos --decoder-learned-pos "
    "--share-all-embeddings",
    "one target table, early exit": "--share-decoder-input-output-embed --activation-fn gelu "
    "--early-exit 1,2,3",
    "other architecture": "--arch levenshtein_transformer_wmt_en_de_big --decoder-layers 3",
    "all apart": "--no-share-discriminator --no-share-maskpredictor --early-exit 1,2,3",
    "tokens apart, unequal exits": "--no-share-discriminator --share-discriminator-maskpredictor "
    f"--early-exit 2,1,3 {PRE_NORM}",
    # stock's --early-exit is 6,6,6 unless it is given: a stack of its own has six layers
    "deletion deeper than the decoder": "--no-share-discriminator --decoder-layers 2",
    "placeholders deeper than the decoder": "--no-share-maskpredictor --early-exit 1,4,3",
    "a shared stack deeper than the decoder": "--no-share-discriminator "
    "--share-discriminator-maskpredictor --decoder-layers 2",
}


class Stock(NamedTuple):
    """A stock model with its options and its task."""

    args: Namespace
    task: TranslationLevenshteinTask
    model: LevenshteinTransformerModel


def dictionaries(args: Namespace) -> tuple[Dictionary, Dictionary]:
    source = tiny.dictionary("abcdefghijkl")
    return source, source if args.share_all_embeddings else tiny.dictionary("mnopqrstuvwxyz")


def stock_options(flags: str) -> Namespace:
    args = options.parse_args_and_arch(options.get_training_parser(), f"{TINY} {flags}".split())
    args._name = args.arch
    return args


def stock_model(args: Namespace, seed: int) -> Stock:
    """A stock model with random parameters that inserts, deletes and replaces."""
    task = TranslationLevenshteinTask(args, *dictionaries(args))
    torch.manual_seed(seed)
    model = task.build_model(args).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape)
            if parameter.dim() == 1:
                parameter.add_(0.2 * noise)
            else:
                attends = "encoder_attn" in name
                parameter.copy_((3 if attends else 1.2) * noise * parameter.size(1) ** -0.5)
        tame(model.decoder)
    return Stock(args, task, model)


def tame(decoder: Any) -> None:
    """Few insertions at a time, and never <pad>, which trained models hardly ever write.

    Feature 0 becomes a constant by which the heads can prefer or avoid a class.
    """
    norm = decoder.layers[-1].final_layer_norm if decoder.layer_norm is None else decoder.layer_norm
    norm.weight[0], norm.bias[0] = 0.0, 8.0
    heads = (decoder.embed_mask_ins, decoder.embed_word_del, decoder.output_projection)
    for head in heads:
        head.weight[:, 0] = 0.0
    decoder.embed_mask_ins.weight[:, 16] = 0.0
    decoder.embed_mask_ins.weight[4:, 0] = -1.0
    decoder.output_projection.weight[1, 0] = -8.0


def converted(stock: Stock) -> tuple[TranslationEditTask, LevenshteinEditorModel]:
    """Our task in stock's way of decoding, and our model with the stock model's parameters."""
    task = TranslationEditTask(
        TranslationEditConfig(stock_decoding=True, seed=1), *dictionaries(stock.args)
    )
    model = task.build_model(stock.args, from_checkpoint=True)
    model.load_state_dict(stock.model.state_dict())
    return task, model.eval()


def batch(rows: list[Tensor]) -> dict[str, Any]:
    """Rows padded on the left, as both tasks hand them out."""
    lengths = torch.tensor([len(row) for row in rows])
    return {"net_input": {"src_tokens": tiny.stack(rows, 1, left=True), "src_lengths": lengths}}


def generator(task: Any, model: Any, flags: dict[str, Any]) -> Any:
    asked = {
        "iter_decode_max_iter": 9,
        "iter_decode_eos_penalty": 0.0,
        "iter_decode_force_max_iter": False,
        "retain_iter_history": isinstance(task, TranslationEditTask),
    }
    return task.build_generator([model], Namespace(**{**asked, **flags}))


def sources(stock: Stock) -> list[Tensor]:
    """Sentences of 0 to 9 tokens, with <s> and </s>; some hold the unknown symbol."""
    rng, symbols = random.Random(3), stock.task.source_dictionary
    known = range(symbols.unk(), len(symbols))
    return [torch.tensor([0, *rng.choices(known, k=n % 10), 2]) for n in range(SENTENCES)]


def by_stock(stock: Stock, drafts: Sequence[Tensor] = (), **flags: Any) -> list[Any]:
    """Tokens and number of the last step: what stock's code makes of its model.

    Its generator raises IndexError when the first iteration changes only some sentences of a
    batch, so it gets one at a time. It has no way to be given a draft: here it is told that its
    empty start is one.
    """
    hypotheses, model, begin = [], stock.model, stock.model.initialize_output_tokens
    decoder = generator(stock.task, model, flags)
    for row, draft in itertools.zip_longest(sources(stock), drafts):
        if draft is not None:
            start = {"output_tokens": draft[None], "output_scores": torch.zeros(1, len(draft))}
            model.initialize_output_tokens = lambda *two, start=start: begin(*two)._replace(**start)
        hypotheses += decoder.generate([model], batch([row]))
    model.initialize_output_tokens = begin
    return outcomes(hypotheses)


def by_us(stock: Stock, drafts: Sequence[Tensor] = (), **flags: Any) -> Hypotheses:
    """What our code makes of it in one batch."""
    task, model = converted(stock)
    sample = batch(sources(stock))
    if drafts:
        sample["draft"] = tiny.stack(drafts, 1)
    return generator(task, model, flags).generate([model], sample)


def outcomes(hypotheses: Hypotheses) -> list[tuple[list[int], int]]:
    return [(best["tokens"].tolist(), best["steps"]) for (best,) in hypotheses]


def varied(flags: str) -> Stock:
    """The first random model that treats sentences differently, deletes and goes on a while."""
    args = stock_options(flags)
    for seed in range(1, 40):
        stock = stock_model(args, seed)
        hypotheses = by_us(stock)
        texts, steps = zip(*outcomes(hypotheses), strict=True)
        deleted = 0
        for (best,) in hypotheses:
            lengths = [len(step["tokens"]) for step in best["history"]]
            deleted += sum(max(0, now - then) for now, then in itertools.pairwise(lengths))
        if len(set(map(tuple, texts))) >= 6 and deleted >= 6 and max(steps) >= 3:
            return stock
    raise AssertionError("every random model does the same to all sentences: nothing is tested")


@pytest.fixture(scope="module")
def lively():
    return varied(PRE_NORM)


@pytest.mark.parametrize("setting", SETTINGS)
def test_outputs_are_the_stock_decoders_token_for_token(setting):
    stock = varied(SETTINGS[setting])
    assert outcomes(by_us(stock)) == by_stock(stock)


@pytest.mark.parametrize("flags, drafted", cases("systems/cases.tsv", "stock options"), ids=str)
def test_options_and_drafts_mean_what_they_mean_to_the_stock_decoder(lively, flags, drafted):
    rng, size = random.Random(5), len(lively.task.target_dictionary)
    inner = [rng.choices(range(3, size), k=number % 8) for number in range(SENTENCES)]
    drafts = [torch.tensor([0, *tokens, 2]) for tokens in inner] if drafted else []
    written = outcomes(by_us(lively, drafts, **flags))
    assert written == by_stock(lively, drafts, **flags)
    assert written != outcomes(by_us(lively)), "nothing was tested"


@pytest.mark.parametrize("beam, trace, mark", [(1, False, KEEP), (2, False, 0), (1, True, 0)])
def test_other_options_exclude_the_rules_of_stock(beam, trace, mark):
    task = tiny.task(stock_decoding=True)
    sample = tiny.batch(task, [tiny.Triple("a", "", "b")])
    net, marks = tiny.model(task, deletion_trace=trace), torch.tensor([[0, mark, 0]])
    with refuses("--stock-decoding"):
        decoder = generator(task, net, {"iter_decode_with_beam": beam})
        decoder.generate([net], {**sample, "marks": marks})


@pytest.mark.parametrize("sharing", ["none", "all"])
def test_an_autoregressive_transformer_is_a_start(sharing):
    """Its parameters are those of a stock model without heads; stacks begin like the tokens'."""
    stock = stock_model(stock_options(PRE_NORM), 1)
    task, full = converted(stock)
    cfg = editor_config(stock.args)
    cfg.weight_sharing = sharing
    model = task.build_model(OmegaConf.structured(cfg))
    new = {name: value.clone() for name, value in model.state_dict().items()}
    heads = "decoder.embed_mask_ins", "decoder.embed_word_del"
    state = stock.model.state_dict()
    model.load_state_dict({name: state[name] for name in state if not name.startswith(heads)})
    learned = full.state_dict()
    for name, value in model.state_dict().items():
        alike = re.sub(r"decoder\.(deletion|placeholder)\.", "decoder.token.", name)
        is_new = name in ("deletion_head.weight", "placeholder_head.weight", "source_copy")
        assert torch.equal(value, new[name] if is_new else learned[alike]), name


def test_a_pbd_transformer_that_reads_no_future_is_a_start():
    """In one block the last token sees there what all see here."""
    options = {"encoder_layers": 1, "encoder_normalize_before": True, "rotary_positions": True}
    pbd = PBD.build(no_parameter_sharing=True, no_future_modelling=True,
                    share_all_embeddings=True, **options)  # fmt: skip
    task, options = tiny.task(joined=True), {**options, "decoder_layers": 1}
    model = tiny.model(task, share_all_embeddings=True, decoder_normalize_before=True, **options)
    model.double().eval().load_state_dict(dict(pbd.state_dict()))
    rows, tokens = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[2, 7, 8, 9]])
    wanted = pbd(rows, None, tokens)[0][:, -1]
    last = torch.tensor([[False, False, False, True]])
    logits = tiny.logits(model, "token", tokens, model.encode(rows), last)
    torch.testing.assert_close(logits[:, :-1], wanted, rtol=1e-9, atol=1e-9)


def test_what_the_model_does_not_have_is_refused_by_name():
    switches = "--no-scale-embedding", "--no-token-positional-embeddings", "--cross-self-attention"
    activations = [f"--activation-fn {name}" for name in ("tanh", "gelu_accurate", "linear")]
    for flags in (*switches, *activations, "--decoder-layerdrop 0.2"):
        with refuses(flags.removesuffix(" 0.2")):
            editor_config(stock_options(flags))
    assert str(editor_config(stock_options("--encoder-layerdrop 0.2")).weight_sharing) == "all"
    # a left-to-right transformer has no options of heads
    assert str(editor_config(Namespace()).weight_sharing) == "all"
