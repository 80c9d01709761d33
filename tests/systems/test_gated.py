"""gated-Trans as a model: batches, decoding, training, and the plain Transformer inside it."""

import io
import itertools
from argparse import Namespace

import pytest
import torch
import torch.nn.functional as F
from closeness import assert_near
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator, SequenceGeneratorWithAlignment
from fairseq.sequence_scorer import SequenceScorer
from gated_models import (
    ALL,
    DIVERSITY,
    EOS,
    EXACT,
    KINDS,
    OTHERS,
    PAD,
    PRE,
    ROWS,
    SEARCH,
    SIZES,
    SUBSETS,
    SYMBOLS,
    Pair,
    allowed,
    answers,
    assert_same,
    batch,
    build,
    dictionary,
    sample,
    shifted,
    stepwise,
    task,
    tokens,
)

from lev_plugins.errors import UserError
from lev_plugins.systems.gated import GatedTransformerConfig, GatedTransformerModel

LAYOUTS = [
    {"left": left, "left_target": left_target, "extra": extra}
    for left, left_target, extra in itertools.product([True, False], [True, False], [0, 2])
]


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def model(request):
    return build(**request.param)


# steps, padding, batches ----------------------------------------------------------------------


def test_step_by_step_it_computes_what_it_computes_at_once(model):
    expected = answers(model, ROWS)
    for layout in LAYOUTS[1::2]:
        assert_same(stepwise(model, ROWS, **layout), expected)


def test_padding_on_either_side_changes_nothing(model):
    expected = answers(model, ROWS)
    for layout in LAYOUTS:
        assert_same(answers(model, ROWS, **layout), expected)


def test_a_sentence_alone_is_answered_as_in_a_batch_and_in_any_order(model):
    expected = answers(model, ROWS)
    assert_same([answers(model, [row])[0] for row in ROWS], expected)
    assert_same(answers(model, ROWS[::-1])[::-1], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_in_single_precision_steps_agree_but_for_rounding(kind):
    model = build(factor=1.0, **KINDS[kind]).float()
    expected = answers(model, ROWS)
    found = stepwise(model, ROWS, left=True)
    for one, other in zip(found, expected, strict=True):
        for left, right in zip(one, other, strict=True):
            assert (left is None) == (right is None)
            if left is not None:
                assert_near(left, right)


@pytest.mark.parametrize("kind", SEARCH)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_finite_and_close(kind, dtype):
    model = build(factor=1.0, **KINDS[kind]).float()
    expected = [one.logits.log_softmax(1).exp() for one in answers(model, ROWS)]
    half = model.to(dtype)
    for found in (answers(half, ROWS, left=True), stepwise(half, ROWS, left=True)):
        for one, other in zip(found, expected, strict=True):
            assert one.logits.isfinite().all() and one.gates.isfinite().all()
            chances = one.logits.float().softmax(1)
            torch.testing.assert_close(chances, other, rtol=0, atol=0.05)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", SEARCH)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_on_a_gpu_it_computes_what_it_computes_on_a_cpu(kind, dtype):
    model = build(factor=1.0, **KINDS[kind]).float()
    expected = answers(model, ROWS)
    made = batch(ROWS, left=True)
    scores, _ = model.to("cuda", dtype)(made.source.cuda(), None, made.before.cuda())
    chances = scores.float().softmax(2).cpu()
    for row, real, other in zip(chances, made.target.ne(PAD), expected, strict=True):
        tolerance = 1e-4 if dtype == torch.float32 else 0.05
        torch.testing.assert_close(row[real], other.logits.softmax(1), rtol=0, atol=tolerance)


# probabilities --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [SYMBOLS, OTHERS], ids=["one dictionary", "two"])
@pytest.mark.parametrize("kind", SEARCH)
def test_chances_sum_to_one(kind, target):
    model = build(target=target, **KINDS[kind])
    made = batch(ROWS, target=target)
    net_output = model(made.source, None, made.before)
    for log in (True, False):
        found = model.get_normalized_probs(net_output, log_probs=log)
        total = (found.exp() if log else found).sum(2)
        assert_near(total, torch.ones_like(total))
    if model.decoder.variant == "pointer":  # its logits are log-probabilities as they are
        total = net_output[0].exp().sum(2)
        torch.testing.assert_close(total, torch.ones_like(total), **EXACT)
    gates = net_output[1]["gates"].sum(2)
    torch.testing.assert_close(gates, torch.ones_like(gates), **EXACT)


def test_a_pointer_copies_what_the_target_does_not_know_as_unknown():
    """f, g and h are in the source's dictionary alone."""
    model = build(target=OTHERS, gate_variant="pointer", gates="copy,generate", factor=1.0)
    with torch.no_grad():
        model.decoder.gates.gates["copy"].bias.fill_(30.0)
        model.decoder.gates.gates["copy"].weight.zero_()
        model.decoder.gates.gates["generate"].weight.zero_()
    for source, copied in (("hfg", {"<unk>", "</s>"}), ("abe", {"a", "b", "e", "</s>"})):
        scores, _ = model(tokens(source)[None], None, shifted("", OTHERS)[None])
        chances = scores[0, 0].exp()
        likely = {OTHERS[i] for i in range(len(OTHERS)) if chances[i].item() > 1e-6}
        assert likely == copied
        assert chances.sum().item() == pytest.approx(1)


def test_chances_that_round_to_nothing_have_a_finite_logarithm():
    model = build(gate_variant="pointer", factor=40.0).float()
    for dtype in (torch.float32, torch.bfloat16):
        scores = answers(model.to(dtype), ROWS)
        assert all(one.logits.isfinite().all() for one in scores)


# rows change places ---------------------------------------------------------------------------

ORDERS = [
    [0, 0, 0, 1, 1, 1, 2, 2, 2],  # every sentence gets three beams
    [2, 0, 1, 3, 5, 4, 8, 7, 6],  # which change places
    [0, 0, 0, 3, 4, 3, 8, 8, 8],  # some go, others are there twice
    [6, 7, 8, 0, 1, 2],  # a sentence is done; the others change places
    [5, 3, 3],  # one sentence is left
    [1],
]


@pytest.mark.parametrize("kind", SEARCH)
@pytest.mark.parametrize("left", [True, False])
def test_rows_that_change_places_leave_and_come_twice(kind, left):
    """Against the model without a state, for sources and beginnings in that order."""
    model = build(**KINDS[kind])
    source = batch([Pair("abcdef", ""), Pair("hg", ""), Pair("cafe", "")], left=left).source
    encoder_out, state = model.encoder(source), {}
    before = source.new_full((3, 1), EOS)
    generator = torch.Generator().manual_seed(5)
    for order in ORDERS:
        rows = torch.tensor(order)
        model.decoder(before, encoder_out=encoder_out, incremental_state=state)
        model.decoder.reorder_incremental_state_scripting(state, rows)
        encoder_out = model.encoder.reorder_encoder_out(encoder_out, rows)
        source, before = source[rows], before[rows]
        memory, fresh = encoder_out["memory"][0], model.encoder(source)["memory"][0]
        for name in ("masked", "tokens", "states", "mask"):
            torch.testing.assert_close(getattr(memory, name), getattr(fresh, name), **EXACT)
        newest = torch.randint(4, 12, (len(rows), 1), generator=generator)
        before = torch.cat([before, newest], 1)
        once = dict(state)  # looking must not write into the state of the search
        found, extra = model.decoder(before, encoder_out=encoder_out, incremental_state=once)
        expected, said = model(source, None, before)
        torch.testing.assert_close(found, expected[:, -1:], **EXACT)
        torch.testing.assert_close(extra["gates"], said["gates"][:, -1:], **EXACT)


# beam search ----------------------------------------------------------------------------------


# seeds and factors of models that end sentences of several lengths
_LIVELY = {"paper": (6, 1.5), "code": (2, 1.0), "pointer": (2, 1.0)}


def lively(kind):
    seed, factor = _LIVELY[KINDS[kind]["gate_variant"]]
    return build(seed, factor, **KINDS[kind])


def searched(models, rows, left=True, cls=SequenceGenerator, prefix=None, **options):
    generator = cls(models, SYMBOLS, **{"beam_size": 4, "max_len_b": 14, **options})
    return generator.generate(models, sample(rows, left), prefix_tokens=prefix)


def forced(models, row, hypothesis):
    """Log-probabilities of a hypothesis, the mean of several models' probabilities."""
    before = torch.cat([torch.tensor([EOS]), hypothesis[:-1]])[None]
    chances = [
        model(tokens(row.source)[None], None, before)[0][0].double().softmax(-1) for model in models
    ]
    found = torch.stack(chances).mean(0).log()
    return found.gather(1, hypothesis[:, None])[:, 0].float()


@pytest.mark.parametrize("kind", SEARCH)
@pytest.mark.parametrize("left", [True, False])
def test_the_scores_of_beam_search_are_those_of_its_hypotheses_forced(kind, left):
    model = lively(kind)
    lengths = set()
    for row, hypotheses in zip(ROWS, searched([model], ROWS, left), strict=True):
        assert len({tuple(one["tokens"].tolist()) for one in hypotheses}) == 4
        for one in hypotheses:
            scores = forced([model], row, one["tokens"])
            found = one["positional_scores"].float()
            # the search adds up single precision, and takes differences of the sums
            assert_near(found, scores)
            lengths.add(len(one["tokens"]))
    assert len(lengths) > 3, "sentences end at different times"


def test_an_ensemble_of_variants_averages_probabilities():
    models = [build(seed=i, factor=1.5, gate_variant=name) for i, name in enumerate(DIVERSITY)]
    for row, hypotheses in zip(ROWS, searched(models, ROWS), strict=True):
        for one in hypotheses:
            found = one["positional_scores"].float()
            assert_near(found, forced(models, row, one["tokens"]))


@pytest.mark.parametrize("kind", SEARCH)
def test_a_reference_is_scored_as_it_is_forced(kind):
    model = lively(kind)
    scorer = SequenceScorer(SYMBOLS)
    for row, (found,) in zip(ROWS, scorer.generate([model], sample(ROWS)), strict=True):
        assert torch.equal(found["tokens"], tokens(row.target))
        scores = forced([model], row, tokens(row.target))
        assert_near(found["positional_scores"].float(), scores)


@pytest.mark.parametrize("kind", SEARCH)
def test_prefixes_sampling_and_alignments_work(kind):
    model = lively(kind)
    prefix = torch.stack([tokens("ab")[:2]] * len(ROWS))
    for hypotheses in searched([model], ROWS, prefix=prefix):
        assert all(one["tokens"][:2].tolist() == prefix[0].tolist() for one in hypotheses)
    aligned = searched([model], ROWS, cls=SequenceGeneratorWithAlignment)
    for row, hypotheses in zip(ROWS, aligned, strict=True):
        places = {place for pair in hypotheses[0]["alignment"] for place in [int(pair[0])]}
        assert places <= set(range(len(row.source) + 1))


# the plain Transformer ------------------------------------------------------------------------

PLAIN = {
    "post-norm": {},
    "pre-norm": PRE,
    "learned, one table": {"encoder_learned_pos": True, "share_all_embeddings": True},
    "deep decoder, gelu": {
        "decoder_layers": 3, "activation_fn": "gelu", "share_decoder_input_output_embed": True,
        **PRE,
    },
}  # fmt: skip


def stock_options(values):
    """Our options as fairseq's Transformer has them: its decoder has its own."""
    merged = {**SIZES, **values}
    for name in (
        "embed_dim",
        "ffn_embed_dim",
        "attention_heads",
        "normalize_before",
        "learned_pos",
    ):
        if f"encoder_{name}" in merged:
            merged[f"decoder_{name}"] = merged[f"encoder_{name}"]
    args = Namespace(**merged)
    base_architecture(args)
    return args


def attention(state, prefix, cross):
    """Three projections of fairseq's, joined as ours are, and the output's."""
    parts = {}
    for kind in ("weight", "bias"):
        query, key, value = (state[f"{prefix}.{name}_proj.{kind}"] for name in "qkv")
        if cross:
            parts[f"query.{kind}"] = query
        parts[f"inputs.{kind}"] = torch.cat([key, value] if cross else [query, key, value])
        parts[f"output.{kind}"] = state[f"{prefix}.out_proj.{kind}"]
    return parts


def put(made, prefix, values):
    made.update({f"{prefix}.{name}": value for name, value in values.items()})


def layer(state, prefix):
    """A layer's norm or projection."""
    return {kind: state[f"{prefix}.{kind}"] for kind in ("weight", "bias")}


def from_stock(stock, ours):
    """The parameters of fairseq's Transformer under the names of ours."""
    state, made = stock.state_dict(), {}
    for side, table in (("encoder", "encoder.embed"), ("decoder", "decoder.embed")):
        made[f"{table}.table.weight"] = state[f"{side}.embed_tokens.weight"]
        if f"{side}.embed_positions.weight" in state:
            made[f"{table}.positions.weight"] = state[f"{side}.embed_positions.weight"]
    made["decoder.output.table.weight"] = state["decoder.output_projection.weight"]
    names = {"fc1": "fc1", "fc2": "fc2", "self_attn_layer_norm": "self_norm",
             "final_layer_norm": "feed_norm"}  # fmt: skip
    for side, blocks in (("encoder", "encoder.body.stack.blocks"), ("decoder", "decoder.blocks")):
        for i in range(len(getattr(stock, side).layers)):
            theirs = f"{side}.layers.{i}"
            mine = f"{blocks}.{i}" + (".block" if side == "decoder" else "")
            put(made, f"{mine}.self_attention", attention(state, f"{theirs}.self_attn", False))
            for name, other in names.items():
                put(made, f"{mine}.{other}", layer(state, f"{theirs}.{name}"))
            if side == "decoder":
                cross = attention(state, f"{theirs}.encoder_attn", True)
                put(made, f"{blocks}.{i}.cross_attention", cross)
                put(
                    made, f"{blocks}.{i}.cross_norm",
                    layer(state, f"{theirs}.encoder_attn_layer_norm"),
                )  # fmt: skip
    for side, norm in (("encoder", "encoder.body.norm"), ("decoder", "decoder.norm")):
        if f"{side}.layer_norm.weight" in state:
            put(made, norm, layer(state, f"{side}.layer_norm"))
    ours.load_state_dict(made, strict=True)
    return ours


@pytest.fixture(params=PLAIN.values(), ids=PLAIN.keys(), scope="module")
def twins(request):
    """fairseq's Transformer and ours without gates, with the same parameters."""
    torch.manual_seed(4)
    stock = TransformerModel.build_model(stock_options(request.param), task())
    with torch.no_grad():
        for name, parameter in stock.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.2)
            elif parameter.dim() > 1:
                parameter.mul_(2.0)
    return stock.eval(), from_stock(stock, build(gates="none", **request.param).float()).eval()


@pytest.mark.parametrize("left", [True, False])
def test_without_gates_it_is_fairseqs_transformer(twins, left):
    made = batch(ROWS, left=left)
    stock, ours = (
        model(made.source, made.source.ne(PAD).sum(1), made.before)[0] for model in twins
    )
    real = made.target.ne(PAD)
    assert_near(ours[real], stock[real])
    assert float(stock[real].detach().std()) > 0.1


def test_without_gates_it_searches_as_fairseqs_transformer(twins):
    found = [searched([model], ROWS) for model in twins]
    for theirs, mine in zip(*found, strict=True):
        assert [one["tokens"].tolist() for one in mine] == [
            one["tokens"].tolist() for one in theirs
        ]
        scores = [torch.stack([one["score"] for one in side]) for side in (theirs, mine)]
        assert_near(*scores)


# training -------------------------------------------------------------------------------------


def loss_of(model, rows, **layout):
    made = batch(rows, **layout)
    # fairseq's own log_softmax would round to single precision
    scores = model(made.source, None, made.before)[0].log_softmax(-1)
    return F.nll_loss(scores.flatten(0, 1), made.target.flatten(), ignore_index=PAD)


@pytest.mark.parametrize(
    ("variant", "gates"),
    [(v, g) for v in DIVERSITY for g in SUBSETS if allowed(g, v)],
)
def test_every_choice_of_gates_trains_with_finite_gradients(variant, gates):
    model = build(gates=gates, gate_variant=variant, factor=1.0).train()
    loss = loss_of(model, ROWS)
    loss.backward()
    assert loss.isfinite()
    chosen = gates.split(",")
    for name, parameter in model.named_parameters():
        # no gradient at all would stop a training on several processes
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if gates == "none" or {"copy", "generate"} <= set(chosen):
            # the bias of keys moves all scores alike
            assert parameter.grad.abs().sum() > 0 or name.endswith("bias"), name


@pytest.mark.parametrize("kind", SEARCH)
def test_gradients_are_those_of_finite_differences(kind):
    model = build(factor=1.0, **{**KINDS[kind], "encoder_layers": 1, "decoder_layers": 1})
    rows = ROWS[:3]
    loss_of(model, rows).backward()
    generator = torch.Generator().manual_seed(3)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.double)
        if name.endswith("embed.table.weight"):
            direction[PAD] = 0  # never trained
        losses = []
        with torch.no_grad():
            for move in (1e-6, -2e-6, 1e-6):
                parameter.add_(direction, alpha=move)
                losses.append(float(loss_of(model, rows)))
        slope = (losses[0] - losses[1]) / 2e-6
        expected = float((parameter.grad * direction).sum())
        assert slope == pytest.approx(expected, rel=1e-4, abs=1e-6), name


@pytest.mark.parametrize("kind", KINDS)
def test_training_computes_what_evaluation_computes(kind):
    """With dropout off, and whether or not padding is packed away."""
    model = build(**KINDS[kind])
    rows = [*ROWS, *[Pair("ab", "ba")] * 5]  # most of the batch is padding
    for layout in LAYOUTS[::3]:
        expected = float(loss_of(model.eval(), rows, **layout))
        assert float(loss_of(model.train(), rows, **layout)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("variant", DIVERSITY)
def test_a_checkpoint_brings_back_the_same_model(variant):
    first, other = (build(seed=seed, gate_variant=variant) for seed in (1, 2))
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    expected = answers(first, ROWS)
    assert not torch.equal(expected[0].logits, answers(other, ROWS)[0].logits)
    other.load_state_dict(torch.load(file, weights_only=True), strict=True)
    assert_same(answers(other, ROWS), expected, rtol=0, atol=0)


@pytest.mark.parametrize("variant", DIVERSITY)
def test_it_learns_in_every_variant(variant):
    """After a few steps on six sentences it knows more of them than how often symbols occur."""
    torch.manual_seed(1)
    cfg = GatedTransformerConfig(**{**SIZES, "encoder_embed_dim": 32, "gate_variant": variant})
    model = GatedTransformerModel.build_model(cfg, task()).train()
    rows = [Pair(text, text) for text in ("abcd", "hag", "cafe", "deed", "gab", "")]
    counts = torch.bincount(batch(rows).target.flatten()).double()
    counts[PAD] = 0
    rates = counts[counts > 0] / counts.sum()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        optimizer.zero_grad()
        loss = loss_of(model, rows)
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.7 * float(-(rates * rates.log()).sum())


# limits and mistakes --------------------------------------------------------------------------


@pytest.mark.parametrize("learned", [True, False])
def test_sentences_of_the_longest_length_pass_and_longer_ones_are_named(learned):
    limits = {"max_source_positions": 9, "max_target_positions": 7}
    model = build(encoder_learned_pos=learned, **limits)
    assert model.max_positions() == (9, 7)
    longest = [Pair("a" * 8, "b" * 6), Pair("c", "")]
    assert_same(stepwise(model, longest), answers(model, longest))
    for pair, length in ((Pair("a" * 9, ""), 10), (Pair("", "b" * 7), 8)):
        with pytest.raises(ValueError, match=f"a sequence of {length} tokens is longer than"):
            answers(model, [pair])


def refused(source: Dictionary = SYMBOLS, target: Dictionary | None = None, **values):
    cfg = GatedTransformerConfig(**{**SIZES, **values})
    with pytest.raises(UserError) as caught:
        GatedTransformerModel.build_model(cfg, task(source, target))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("gates", ["mask,delete", "Mask", "none,copy", "mask;copy"])
def test_a_gate_that_is_none_is_named(gates):
    said = refused(gates=gates)
    assert f"--gates {gates}: there is no gate" in said
    assert "mask,copy,generate,skip, or none" in said


@pytest.mark.parametrize("gates", ["copy", "mask,skip", "mask,copy,skip"])
def test_a_pointer_has_to_generate(gates):
    assert f"--gates {gates} --gate-variant pointer: without the generate gate" in refused(
        gates=gates, gate_variant="pointer"
    )
    build(gates=gates, gate_variant="paper")
    build(gates="mask", gate_variant="pointer")


def test_skipping_in_logits_needs_a_mask_symbol_in_the_target():
    plain = dictionary(mask=None)
    for source in (plain, SYMBOLS):
        said = refused(source, plain, gate_variant="code", gates=ALL)
        assert "the skip gate needs a mask symbol" in said and "`<mask> 1`" in said
    build(source=plain, target=SYMBOLS, gate_variant="code", gates=ALL)
    build(source=plain, gate_variant="code", gates="mask,copy,generate")
    for variant in ("paper", "pointer"):
        build(source=plain, gate_variant=variant, gates=ALL)


@pytest.mark.parametrize("heads", [3, 0, 16])
def test_heads_that_do_not_divide_the_width_are_refused(heads):
    assert f"--encoder-attention-heads {heads} does not divide --encoder-embed-dim 8" in refused(
        encoder_attention_heads=heads
    )


def test_one_table_for_two_dictionaries_is_refused():
    assert "--share-all-embeddings needs one dictionary" in refused(
        SYMBOLS, OTHERS, share_all_embeddings=True
    )
