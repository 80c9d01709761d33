"""Choosing γ and the deletion threshold: every pair is decoded, and the best is told as flags."""

from argparse import Namespace
from pathlib import Path

import pytest
import saved
import tiny
from refusals import refusal

from lev_plugins.cli import preprocess as preprocessing
from lev_plugins.cli import tune as command
from lev_plugins.inference.decoding_search import Choice, best_of
from lev_plugins.inference.editor import LevenshteinEditor
from lev_plugins.metrics.corpus import make_metric

LINES = {"src": "a b c\nc\nb b a d\n", "tgt": "a b\nzzz\nb a d d\n", "mt": "a b\nzzz\na d\n"}


def preprocess(end: str = "", out: str = "data") -> Path:
    """The lines as data, ``end`` behind each side."""
    tiny.dictionaries(Path("bin"))
    for lang, text in LINES.items():
        Path(f"valid.{lang}").write_text(text + end)
    words = f"--source-lang src --target-lang tgt --draft-lang mt --validpref valid --destdir {out}"
    dictionaries = "--srcdict bin/dict.src.txt --tgtdict bin/dict.tgt.txt"
    preprocessing.main([*words.split(), *dictionaries.split()])
    return Path(out)


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = preprocess()
    saved.save(Path("levt/checkpoint_best.pt").absolute(), tmp_path / "bin", "editor", seed=1)
    return folder


def rows(capsys, *words: str) -> list[list[str]]:
    flags = "--path levt --draft-lang mt --metric accuracy"
    command.main(["data", *flags.split(), *words])
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_every_pair_is_decoded_as_fairseq_generate_would_and_no_edits_have_a_row(data, capsys):
    table = rows(capsys, "--gammas", "0,3", "--thresholds", "0.5,1", "--max-iter", "3")
    assert table[2][:4] == ["no", "edits", "33.33", "0.714"], "an unknown word is never right"
    editor = LevenshteinEditor.from_pretrained("levt", "data", bpe=None)
    editor.task.cfg.draft_lang = "mt"
    editor.task.load_dataset("valid")
    batches = list(editor.task.get_batch_iterator(editor.task.dataset("valid"), max_sentences=2)
                   .next_epoch_itr(shuffle=False))  # fmt: skip
    lengths = []
    for gamma, threshold, row in zip((0, 0, 3, 3), (0.5, 1, 0.5, 1), table[3:]):
        assert row[:2] == [f"{gamma}", f"{threshold}"]
        editor.task.cfg.delete_threshold = threshold
        options = Namespace(iter_decode_max_iter=3, iter_decode_eos_penalty=gamma)
        generator = editor.task.build_generator(editor.models, options)
        outputs = [best for b in batches for best, *_ in generator.generate(editor.models, b)]
        lengths.append(sum(len(output["tokens"]) - 2 for output in outputs) / 7)
        assert row[3] == f"{lengths[-1]:.3f}"
        assert row[4] == f"{sum(output['steps'] for output in outputs) / 3:.2f}"
    assert len(set(lengths)) > 1, "the settings matter"
    assert table[-1][::2] == ["--iter-decode-eos-penalty", "--delete-threshold"]


def test_what_is_too_long_is_left_out_and_told(data, capsys):
    preprocess(" ".join("a" * 50) + "\n", "more")
    command.main(["more", *"--path levt --draft-lang mt --gammas 0 --thresholds 1".split()])
    captured = capsys.readouterr()
    assert "skipped: 1 sentence" in captured.err and "valid: 3 sentences" in captured.out


def test_of_equals_the_first_is_best_and_a_low_error_rate_is_good():
    choices = [Choice(0, 0.5, 10, 1, 2), Choice(1, 0.7, 30, 1, 2), Choice(0.5, 0.9, 30, 1, 2)]
    assert best_of(choices, make_metric("bleu")) == choices[1]
    assert best_of(choices, make_metric("ter")) == choices[0]


@pytest.mark.parametrize(
    "words, message",
    [
        (["--gammas", "0,x"], "--gammas"),
        (["--thresholds", "1.5"], "--thresholds"),
        (["--max-iter", "0"], "--max-iter"),
        (["--metric", "best"], "best"),
        (["--path", "no.pt"], "no.pt"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(words, message, data):
    assert message in refusal(command.main, "data", "--path", "levt", *words)
