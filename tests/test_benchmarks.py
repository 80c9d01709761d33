"""The benchmarks run at a tiny size, compare equal work and print their tables."""

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

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
