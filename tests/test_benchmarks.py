"""The benchmarks run at a tiny size, compare equal work and print their tables."""

import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from lev_plugins.cli import enct5_prepare
from lev_plugins.errors import UserError

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPT = BENCHMARKS / "levt_speed.py"
TINY = (
    "--dim 32 --layers 1 --ffn 64 --heads 2 --vocab 100 --steps 1 --tokens 300 --length 12 "
    "--threads 1"
).split()
ROW = re.compile(
    r"^(\w+: [\w', ]+?) +([\d.]+) +(ms|MiB) +([\d.]+) +(?:ms|MiB) +([\d.]+) +[\d.]+ … [\d.]+$", re.M
)


def benchmark(name: str) -> Iterator[ModuleType]:
    """A script as a module, with the places it imports from gone at the end."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    places = list(sys.path)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = places
    del sys.modules[name]


@pytest.fixture(scope="module")
def speed():
    yield from benchmark("levt_speed")


@pytest.fixture(scope="module")
def peers(speed):
    return speed.build_peers(speed.checked(TINY))


def test_the_table_comes_out_with_what_was_equal(speed, capsys):
    assert speed.main([*TINY, "--no-memory", "--drafts"]) == 0
    out = capsys.readouterr().out
    rows = {match[1]: match for match in ROW.finditer(out)}
    decoding = [
        f"decoding: batch {size}, {rules} rules" for size in (1, 64) for rules in ("stock's", "own")
    ]
    assert list(rows) == ["training: gradients", "training: update with Adam", *decoding]
    for match in rows.values():
        stock, ours, ratio = (float(match[group]) for group in (2, 4, 5))
        assert ours > 0 and ratio == pytest.approx(stock / ours, abs=0.03 + 0.1 * ratio)
    assert "training: labels equal, logits of the insertion heads within" in out
    assert re.search(r"decoding, batch 64, stock's rules: 64 of 64 outputs equal", out)
    assert re.search(r"post-editing, batch 64: [\d.]+ ms", out)
    signature = out.splitlines()[-1]
    assert signature.startswith(f"torch:{torch.__version__}|device:cpu")
    assert "|threads:1|" in signature and "|layers:1+1|dim:32|" in signature


@pytest.mark.slow
def test_each_side_measures_its_memory_in_a_process_of_its_own():
    command = [sys.executable, str(SCRIPT), *TINY, "--clock", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = {match[1]: match for match in ROW.finditer(done.stdout)}
    for name in ("memory: process at its peak", "memory: two updates on top"):
        assert rows[name][3] == "MiB" and float(rows[name][2]) > 0 and float(rows[name][4]) > 0
    assert "|clock:cpu|" in done.stdout


def test_a_difference_in_the_weights_is_noticed(speed):
    args = speed.checked(TINY)
    peers = speed.build_peers(args)
    with torch.no_grad():
        peers.ours.placeholder_head.weight.mul_(1.1)
    with pytest.raises(UserError, match="logits differ"):
        speed.check_training(peers, args)


def test_outputs_that_differ_stop_the_race(speed, peers):
    right, wrong = ([[{"tokens": torch.tensor([0, n, 2]), "steps": 1}]] for n in (5, 6))
    decode = {"stock": lambda sample: right, "same": lambda sample: wrong}
    with pytest.raises(UserError, match="0 of 1 outputs"):
        speed.agreement(decode, "same", [{}], required=True)
    assert speed.agreement(decode, "same", [{}], required=False).startswith("0 of 1")


def test_the_script_gives_every_sentence_the_length_of_its_source(speed, peers):
    args = speed.checked(TINY)
    torch.manual_seed(3)
    for side in speed.SIDES:
        peers.model(side).eval()
    special = peers.our_task.target_dictionary.nspecial
    sample = speed.batch(speed.sentences(9, args, special), "cpu")
    lengths = sample["net_input"]["src_tokens"].ne(1).sum(1).tolist()
    with speed.scripted(peers, speed.Script(special)):
        for decode in speed.decoders(peers, args).values():
            outputs = speed.outputs(decode(sample))
            assert [len(one) for one in outputs] == lengths
            assert all(min(one[1:-1], default=special) >= special for one in outputs)
    assert "token_logits" not in vars(peers.ours)  # the models' own methods are back


@pytest.mark.parametrize(
    "wrong, said",
    [
        (["--heads", "5"], "--heads 5 does not divide --dim 32"),
        (["--steps", "0"], "--steps 0"),
        (["--vocab", "5"], "--vocab 5"),
    ],
)
def test_impossible_sizes_are_refused(speed, wrong, said):
    with pytest.raises(UserError, match=said):
        speed.checked([*TINY, *wrong])


# ---------------------------------------------------------------- LevT against a Transformer

AGAINST = [*TINY[: TINY.index("--tokens")], *"--length 6 --threads 1 --clock cpu".split()]
AGAINST_ROW = re.compile(
    r"^(AR, beam \d / LevT(?:, \w+)?) +"
    + r" +".join([r"([\d.]+) ms +([\d.]+) ms +([\d.]+)"] * 2)
    + "$",
    re.M,
)


@pytest.fixture(scope="module")
def against(speed):
    yield from benchmark("levt_against_ar")


def test_levt_stands_beside_every_beam_of_a_transformer(against, capsys):
    assert against.main([*AGAINST, "--beams", "2,1", "--less", "bf16"]) == 0
    out = capsys.readouterr().out
    rows = {match[1]: match for match in AGAINST_ROW.finditer(out)}
    assert list(rows) == [
        f"AR, beam {beam} / LevT{less}" for beam in (2, 1) for less in ("", ", bf16")
    ]
    for match in rows.values():
        for first in (2, 5):  # medians, then means
            ar, levt, ratio = (float(match[group]) for group in range(first, first + 3))
            assert ratio == pytest.approx(ar / levt, rel=0.2)
    iterations = re.search(r"^LevT: ([\d.]+) iterations on average; 3 sentences$", out, re.M)
    assert 1 <= float(iterations[1]) <= 10
    assert "|clock:cpu|" in out.splitlines()[-1]


def test_an_output_of_another_length_stops_the_race(against, monkeypatch):
    args = against.checked(AGAINST)
    peers = against.levt_speed.build_peers(args)
    (sample, *_) = against.levt_speed.decoding_samples(args, 4, 1)
    search = against.AutoregressiveSearch(args, peers.stock_task)
    words = sample["net_input"]["src_tokens"].size(1) - 2
    for beam in (1, 3):
        assert len(search.search(sample, beam)) == words + 1
    generator = against.SequenceGenerator

    def shorter(*given, max_len_b, min_len, **options):
        return generator(*given, max_len_b=max_len_b - 1, min_len=1, **options)

    monkeypatch.setattr(against, "SequenceGenerator", shorter)
    with pytest.raises(UserError, match=rf"an output of \d+ tokens for a source of {words + 1}"):
        search.search(sample, 1)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (["--beams", "4,0"], "--beams 4,0: widths of 1 or more"),
        (["--beams", "wide"], "--beams wide"),
        (["--every", "0"], "--every 0: give 1 or more"),
        (["--heads", "5"], "--heads 5 does not divide --dim 32"),
        (["--less", "int4"], "--less int4: bf16, int8 or both"),
    ],
)
def test_impossible_beams_and_sizes_are_refused(against, wrong, said):
    with pytest.raises(UserError, match=said):
        against.checked([*AGAINST, *wrong])


# ---------------------------------------------------------------- PBD

PBD_ROW = re.compile(
    r"^(\w+(?:: [\w, ]+?)?) {2,}([\d.]+) +(ms|MiB|M) +([\d.]+) +(?:ms|MiB|M) +([\d.]+) +"
    r"([\d.]+) … ([\d.]+)(?:  (within|above) 1.15)?$",
    re.M,
)


@pytest.fixture(scope="module")
def pbd(speed):
    yield from benchmark("pbd_speed")


def test_pbd_stands_beside_stock_in_training_and_in_every_search(pbd, capsys):
    tiny = [*TINY, "--length", "5", "--steps", "2", "--tokens", "60"]
    assert pbd.main([*tiny, "--no-memory", "--clock", "cpu"]) == 0
    out = capsys.readouterr().out
    rows = {match[1]: match for match in PBD_ROW.finditer(out)}
    searches = [
        f"decoding: batch {size}, beam {beam}, {what}"
        for size in (1, 32)
        for beam in (1, 5)
        for what in ("step", "step, decoder alone")
    ]
    training = ["training: gradients", "training: update with Adam"]
    assert list(rows) == ["parameters", *training, *searches]
    for name, match in rows.items():
        ratio, low, high = (float(match[group]) for group in (5, 6, 7))
        assert 0 < low <= ratio <= high
        verdict = "within" if ratio < 1.14 else "above" if ratio > 1.16 else match[8]
        assert match[8] == (None if name == "parameters" else verdict)
    for whole, alone in zip(searches[::2], searches[1::2]):
        assert float(rows[alone][4]) < float(rows[whole][4])
    assert "|clock:cpu|" in out.splitlines()[-1] and "|without:nothing|" in out


def test_what_is_shared_counts_once_and_can_be_left_out(pbd):
    args = pbd.checked([*TINY, "--layers", "2", "--vocab", "20"])
    peers = pbd.build_peers(args)
    assert pbd.parameters(peers.pbd) < 0.7 * pbd.parameters(peers.stock)
    args = pbd.checked(
        [*TINY, "--vocab", "20", "--without", "future-modelling", "parameter-sharing"]
    )
    peers = pbd.build_peers(args)
    assert pbd.parameters(peers.pbd) == pbd.parameters(peers.stock)


def test_searches_that_end_elsewhere_are_no_fair_race(pbd):
    equal = [[6, 6], [6, 6]]
    pbd.check_lengths({"stock": equal, "pbd": equal}, 2)
    for other in ([[6, 6], [6, 7]], [[6], [6]]):
        with pytest.raises(UserError, match="no fair race"):
            pbd.check_lengths({"stock": equal, "pbd": other}, 2)


def test_a_ratio_is_the_median_of_pairs(pbd):
    found = pbd.row("a step", [1.0, 2.0, 10.0], [1.1, 2.6, 10.0], bar=1.15)
    assert (found.stock, found.pbd) == (2.0, 2.6)
    assert (found.ratio, found.low, found.high) == pytest.approx((1.1, 1.0, 1.3))
    assert pbd.table([found]).endswith("1.10  1.00 … 1.30  within 1.15")


@pytest.mark.parametrize(
    "wrong, said", [(["--heads", "5"], "--heads 5"), (["--dropout", "1"], "--dropout 1")]
)
def test_impossible_sizes_of_pbd_are_refused(pbd, wrong, said):
    with pytest.raises(UserError, match=said):
        pbd.checked([*TINY, *wrong])


# ---------------------------------------------------------------- spelling


@pytest.fixture(scope="module")
def peers_of_spelling():
    yield from benchmark("spelling_peers")


@pytest.fixture
def few_words(tmp_path: Path) -> Path:
    """Two misspellings to correct; three words that can be right."""
    parts = {
        "test.typo": ["teh", "a lott"],
        "test.word": ["the", "a lot"],
        "train.word": ["the", "the", "a lot", "house"],
        "valid.word": ["house"],
    }
    for name, words in parts.items():
        lines = (" ".join(word.replace(" ", "▁")) + "\n" for word in words)
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
    return tmp_path


def test_words_come_back_with_their_blanks_and_new_ones_are_in_no_part(
    peers_of_spelling, few_words
):
    words, train = peers_of_spelling.read_words(few_words, 1500, 1)
    assert words.typos == ["teh", "a lott"] and words.meant == ["the", "a lot"]
    assert sorted(words.known) == ["a lot", "house", "the"] and train["the"] == 2
    assert len(set(words.new)) == 1500 and not {"the", "house"} & set(words.new)
    assert words.new == peers_of_spelling.read_words(few_words, 1500, 1)[0].new


def test_what_is_mended_and_broken_is_counted_of_each_kind(peers_of_spelling):
    words = peers_of_spelling.Words(["teh", "hsoe"], ["the", "house"], ["the"], ["ox", "on", "by"])
    system = peers_of_spelling.System("upper", lambda given: [], "–")
    outputs = ["the", "hose", "the", "ox", "no", "bye"]
    found = peers_of_spelling.result(system, outputs, words, 0.5, 1.5)
    assert (found.mended, found.broken_known, found.broken_new) == (1, 0, 2)
    row = peers_of_spelling.table([found], words).splitlines()[-1].split()
    assert row[:7] == ["upper", "1", "50.00", "%", "0", "0.00", "%"] and row[7:9] == ["2", "66.67"]


def test_all_systems_get_the_same_words_in_one_run(peers_of_spelling, few_words, capsys):
    arguments = [str(few_words), "--words", "3", "--alone", "1", "--no-symspell"]
    assert peers_of_spelling.main(arguments) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("2 misspellings; 3 right words of the training set, 3 that are in no")
    assert re.match(r"doing nothing +0 +0.00 % +0 +0.00 % +0 +0.00 %", out[2])


def test_symspellpy_mends_what_its_words_allow(peers_of_spelling):
    pytest.importorskip("symspellpy")
    own = peers_of_spelling.symspell(None, 1)
    assert own.correct(["teh", "Hosue", "the"]) == ["the", "House", "the"]
    few = peers_of_spelling.symspell(Counter({"a lot": 3, "Xylo": 1}), 2)
    assert few.correct(["a lott", "Xylo", "house"]) == ["a lot", "Xylo", "house"]
    assert few.size == "2 words"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["{text}"], "symspellpy is not installed: pip install -r benchmarks/requirements-peers"),
        (["{text}/gone"], "no file .*gone/train.word: python examples"),
        (["{text}", "--no-symspell", "--system", "levt.pt"], "--system levt.pt: give NAME=FILE"),
        (["{text}", "--no-symspell", "--system", "LevT=levt.pt"], "levt.pt does not exist"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    peers_of_spelling, few_words, arguments, said, monkeypatch
):
    monkeypatch.setitem(sys.modules, "symspellpy", None)
    with pytest.raises(UserError, match=said):
        peers_of_spelling.main([one.format(text=few_words) for one in arguments])


# ---------------------------------------------------------------- EncT5

SMALLEST = (
    "--layers 1 --dim 16 --ffn 16 --heads 2 --head-dim 8 --vocab 60 --steps 2 --tokens 60 "
    "--length 5 --threads 1 --clock cpu"
).split()
ENCT5_ROW = re.compile(
    r"^(\w+: [\w, ]+?) {2,}([\d.]+) +(ms|M) +([\d.]+) +(?:ms|M) +([\d.]+) +([\d.]+) … ([\d.]+)$",
    re.M,
)


@pytest.fixture(scope="module")
def enct5(speed):
    yield from benchmark("enct5_speed")


@pytest.fixture(scope="module")
def packing(speed):
    yield from benchmark("enct5_packing")


def test_enct5_stands_beside_a_t5_that_writes_its_tags(enct5, capsys, tmp_path):
    path = tmp_path / "numbers.json"
    assert enct5.main([*SMALLEST, "--json", str(path)]) == 0
    out = capsys.readouterr().out
    rows = {match[1]: match for match in ENCT5_ROW.finditer(out)}
    what = ["a sentence, batch 1", "a sentence, batch 32", "training, gradients"]
    what.append("training, update with Adam")
    kinds = ("tagging", "classification")
    wanted = [f"{kind}: parameters" for kind in kinds]
    wanted += [f"{kind}: {one}" for kind in kinds for one in what]
    assert list(rows) == wanted
    for match in rows.values():
        assert 0 < float(match[6]) <= float(match[5]) <= float(match[7])
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [one["name"] for one in found["rows"]] == wanted
    assert all(one["t5"] > 0 < one["enct5"] for one in found["rows"])
    assert found["options"]["clock"] == "cpu" and "|clock:cpu|" in out.splitlines()[-1]


def test_a_t5_and_enct5_have_the_numbers_of_parameters_that_are_known(enct5):
    # T5 1.1 small, and EncT5 of two classes, without making the numbers
    args = enct5.checked([])
    args.device = "meta"
    with torch.device(args.device):
        tagger, classifier = enct5.build_peers(args)
    assert enct5.parameters(tagger.t5) == enct5.parameters(classifier.t5) == 76_961_152
    assert enct5.parameters(classifier.enct5) == 38_482_306


def test_both_read_the_same_sentences_and_say_equally_much(enct5):
    args = enct5.checked(SMALLEST)
    torch.manual_seed(1)
    for peers in enct5.build_peers(args):
        sample = enct5.decoding_batches(args, peers.kind, 4)[-1]
        t5, tokens = sample.t5["net_input"]["src_tokens"], sample.enct5["tokens"]
        assert torch.equal(t5[t5 > 2], tokens[tokens > 2])
        written = sample.t5["target"]
        assert written.ne(1).sum(1).tolist() == [count + 1 for count in sample.answers]
        assert torch.equal(written[written > 2] - enct5.SPECIAL, sample.target)
        for side in enct5.SIDES:
            peers.model(side).eval()
        found = {"t5": enct5.write(peers.t5, sample)}
        found["enct5"] = enct5.predict(peers.enct5, peers.kind, sample)
        enct5.check_answers(found, sample)
        with pytest.raises(UserError, match="no fair race"):
            enct5.check_answers({**found, "t5": [one[:-1] for one in found["t5"]]}, sample)


def test_t5_writes_what_it_would_write_without_keeping_keys_and_values(enct5):
    args = enct5.checked(SMALLEST)
    torch.manual_seed(2)
    tagger = enct5.build_peers(args)[0]
    t5 = tagger.t5.eval()
    sample = enct5.decoding_batches(args, tagger.kind, 3)[-1]
    source = sample.t5["net_input"]
    for row, tokens in enumerate(enct5.write(t5, sample)):
        before = torch.cat([torch.tensor([enct5.EOS]), tokens[:-1]]).unsqueeze(0)
        with torch.no_grad():
            logits, _ = t5(source["src_tokens"][row : row + 1], None, before)
        assert torch.equal(logits[0].argmax(-1), tokens)


def prepared(folder: Path, kind: str) -> Path:
    """Texts of one to nine words, as bytes."""
    lines = []
    for number in range(60):
        words = [f"w{number % 7}"] * (1 + number % 9)
        labels = {"tagging": " ".join("AB"[i % 2] for i in range(len(words))), "multilabel": "A,B"}
        lines.append(f"{labels[kind]}\t{' '.join(words)}\n")
    lines[0] = {"tagging": "A B\tw w\n", "multilabel": "A\tw w\n"}[kind]
    (folder / "text.tsv").write_text("".join(lines), encoding="utf-8")
    options = ["--kind", kind, "--train", str(folder / "text.tsv"), "--bytes"]
    enct5_prepare.main([*options, "--destdir", str(folder / "data")])
    return folder / "data"


LAYOUT = re.compile(
    r"^(sorted by length|random order|packed, rows of \d+) +([\d.]+) % +([\d.]+) +(\d+) +(\d+) +"
    r"(\d+) … (\d+) +([\d.]+)$",
    re.M,
)


@pytest.mark.parametrize("kind", ["tagging", "multilabel"])
def test_packing_leaves_less_padding_and_the_same_logits(packing, kind, capsys, tmp_path):
    data, path = prepared(tmp_path, kind), tmp_path / "numbers.json"
    options = "--sizes tiny --rows 64 --tokens 128 --steps 2 --threads 1 --clock cpu --json".split()
    assert packing.main([str(data), *options, str(path)]) == 0
    out = capsys.readouterr().out
    rows = {match[1]: match for match in LAYOUT.finditer(out)}
    assert list(rows) == ["sorted by length", "random order", "packed, rows of 64"]
    padding = [float(match[2]) for match in rows.values()]
    assert padding[2] < padding[1] and padding[0] < padding[1]
    for match in rows.values():
        assert 0 < int(match[6]) <= int(match[5]) <= int(match[7]) and float(match[8]) > 0
    assert float(re.search(r"^logits packed and one a row: within (\S+)$", out, re.M)[1]) < 1e-4
    found = json.loads(path.read_text(encoding="utf-8"))
    assert len({one["pieces"] for one in found["rows"]}) == 1 and len(found["rows"]) == 3
    assert found["options"]["kind"] == kind


def test_padding_is_counted_as_the_batches_have_it(packing, tmp_path):
    args = packing.checked([str(prepared(tmp_path, "tagging")), "--rows", "64", "--tokens", "128"])
    for layout in packing.layouts(args):
        real = positions = 0
        for batch in layout.batches:
            segments = layout.sample(batch)["net_input"]["segments"]
            real, positions = real + int(segments.ne(0).sum()), positions + segments.numel()
        assert layout.pieces == real
        assert layout.padding == pytest.approx(100 * (1 - real / positions))


def test_packed_rows_that_see_each_other_are_noticed(packing, tmp_path, monkeypatch):
    args = packing.checked([str(prepared(tmp_path, "tagging")), "--rows", "64", "--tokens", "128"])
    model, packed = packing.build("tiny", args), packing.layouts(args)[2]
    assert packing.check_logits(model, packed, args) < 1e-4
    forward = type(model).forward

    def careless(self, **inputs):
        inputs["segments"] = inputs["segments"].clamp(max=1)
        inputs["latent_segments"] = inputs["latent_segments"].clamp(max=1)
        return forward(self, **inputs)

    monkeypatch.setattr(type(model), "forward", careless)
    with pytest.raises(UserError, match="rows of 64: logits differ"):
        packing.check_logits(model, packed, args)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (["--steps", "0"], "--steps 0"),
        (["--head-dim", "0"], "--head-dim 0"),
        (["--vocab", "20"], "--vocab 20: a tag is a piece of it; give 21"),
        (["--dropout", "1"], "--dropout 1"),
        (["--length", "200"], "--length 200"),
        (["--json", "gone/x.json"], "--json gone/x.json: there is no folder gone"),
    ],
)
def test_impossible_sizes_of_enct5_are_refused(enct5, wrong, said):
    with pytest.raises(UserError, match=said):
        enct5.checked([*SMALLEST, *wrong])


def test_rows_that_do_not_fit_into_a_batch_are_refused(packing, tmp_path):
    data = str(prepared(tmp_path, "tagging"))
    with pytest.raises(UserError, match="--rows 1: give 2 or more"):
        packing.checked([data, "--rows", "1"])
    args = packing.checked([data, "--rows", "64", "--tokens", "50"])
    with pytest.raises(UserError, match="--tokens 50: there is a row of 64"):
        packing.layouts(args)
    with pytest.raises(UserError, match="enct5.json does not exist"):
        packing.main([str(tmp_path / "gone")])
