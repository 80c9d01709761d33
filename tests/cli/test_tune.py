"""Choosing γ and the deletion threshold: every pair is decoded, and the best is told as flags."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import saved
import tiny
from decoding.fake_policy import RandomPolicy
from refusals import refuses

from lev_plugins.cli import preprocess
from lev_plugins.cli import tune as command
from lev_plugins.errors import UserError
from lev_plugins.inference.corpus import Corpus
from lev_plugins.inference.decoding_search import Choice, best_of, choose, render
from lev_plugins.metrics.corpus import make_metric

ROWS = tiny.triples(12, 4)
WORDS = ["data", "--path", "model.pt"]


def parsed(*words: str) -> Namespace:
    args = command.build_parser().parse_args([*WORDS, *words])
    command.check(args)
    return args


def test_every_pair_is_decoded_as_fairseq_generate_would():
    task = tiny.task()
    policy: Any = RandomPolicy(task.tgt_dict, task.placeholder, 6, 0.5)
    batches = [tiny.batch(task, ROWS[i : i + 6], range(i, i + 6)) for i in (0, 6)]
    corpus = Corpus(batches, {i: " ".join(row.target) for i, row in enumerate(ROWS)}, None)
    args = parsed("--gammas", "0,3", "--thresholds", "0.5,1", "--metric", "accuracy")
    found = list(choose(task, [policy], corpus, make_metric("accuracy"), args))
    assert [(one.gamma, one.threshold) for one in found] == [(0, 0.5), (0, 1), (3, 0.5), (3, 1)]
    words = sum(len(row.target) for row in ROWS)
    for one in found:
        task.cfg.delete_threshold = one.threshold
        options = Namespace(iter_decode_max_iter=10, iter_decode_eos_penalty=one.gamma)
        generator = task.build_generator([policy], options)
        answers = [best for batch in batches for (best, *_) in generator.generate([policy], batch)]
        assert one.length == sum(len(best["tokens"]) - 2 for best in answers) / words
    assert len({one.length for one in found}) > 2, "the settings matter"


def test_the_best_is_told_as_flags_and_a_low_error_rate_is_good():
    choices = [Choice(0, 0.5, 10, 1, 2), Choice(1, 0.7, 30, 1, 2), Choice(0.5, 0.9, 30, 1, 2)]
    bleu, ter = make_metric("bleu"), make_metric("ter")
    assert render(choices, bleu).splitlines()[-1] == (
        "--iter-decode-eos-penalty 1 --delete-threshold 0.7"
    )
    assert best_of(choices, ter) == choices[0]


@pytest.mark.parametrize(
    "words, said",
    [
        (["--gammas", "0,x"], "--gammas 0,x: give numbers from 0 to 3"),
        (["--thresholds", "1.5"], "--thresholds 1.5: give numbers from 0 to 1"),
        (["--max-iter", "0"], "--max-iter 0"),
        (["--metric", "best"], "--metric best: choose one of"),
        (["--references", "nowhere"], "--references nowhere does not exist"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(words, said):
    with pytest.raises(UserError, match=said):
        parsed(*words)


def test_a_folder_stands_for_the_checkpoint_in_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tiny.dictionaries(Path("bin"))
    for lang in ("src", "tgt"):
        Path(f"valid.{lang}").write_text("a b\nc\n")
    words = "--source-lang src --target-lang tgt --validpref valid --destdir data"
    preprocess.main(
        [*words.split(), *"--srcdict bin/dict.src.txt --tgtdict bin/dict.tgt.txt".split()]
    )
    saved.save(Path("levt/checkpoint_best.pt").absolute(), tmp_path / "bin", "editor")
    flags = "--gammas 1 --thresholds 0.7 --max-iter 1 --metric accuracy --cpu"
    command.main(["data", "--path", "levt", *flags.split()])
    said = capsys.readouterr().out
    assert said.endswith("--iter-decode-eos-penalty 1 --delete-threshold 0.7\n")
    with refuses("checkpoint no.pt does not exist"):
        command.main(["data", "--path", "no.pt"])
