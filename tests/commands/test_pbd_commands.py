"""``pbd_transformer`` with fairseq's own task and its commands that decode."""

import re

import pytest
from pbd_corpus import Corrector, prepared, trained

from lev_plugins.systems.pbd import PBDTransformerModel


@pytest.fixture(scope="module")
def corrector(commands, tmp_path_factory) -> Corrector:
    return trained(prepared(commands, tmp_path_factory.mktemp("pbd")))


@pytest.fixture(scope="module")
def second(corrector):
    """Another checkpoint, hardly trained."""
    corrector.done(
        corrector.train("--max-update 20 --seed 2 --disable-validation --save-dir second")
    )
    return corrector.folder / "second" / "checkpoint_last.pt"


@pytest.fixture(scope="module")
def generated(corrector):
    """The test set by beam search: with an empty source and an unknown word."""
    return corrector.done(corrector.generate("--beam 4 --batch-size 4"))


@pytest.fixture(scope="module")
def scored(corrector):
    """The references of the validation set, forced."""
    return corrector.done(corrector.generate("--gen-subset valid --score-reference"))


def scores(result, kind="P"):
    """Sentence → its numbers."""
    return {
        number: [float(one) for one in fields[-1].split()]
        for number, fields in result.lines(kind).items()
    }


def test_every_sentence_is_answered_and_most_are_right(corrector, generated):
    outputs, targets = generated.texts("H"), corrector.text("test", "tgt")
    assert len(outputs) == 11 == len(generated.lines("T")) == len(generated.lines("S"))
    assert sum(a == b for a, b in zip(outputs, targets, strict=True)) >= 7
    assert "Generate test with beam=4" in generated.out


@pytest.mark.parametrize("flags", ["", "--buffer-size 4 --batch-size 3"])
def test_lines_typed_are_answered_in_their_order_empty_ones_too(corrector, generated, flags):
    text = "".join(f"{line}\n" for line in corrector.text("test", "src"))
    typed = corrector.done(corrector.interactive(f"--beam 4 {flags}"), stdin=text)
    assert list(typed.lines("H")) == list(range(11))
    assert typed.texts("H") == generated.texts("H")


def test_a_prefix_is_kept_by_all_answers_of_an_ensemble(corrector, second):
    flags = "--gen-subset valid --beam 4 --nbest 2 --prefix-size 2"
    result = corrector.done(corrector.generate(flags, f"{corrector.checkpoint}:{second}"))
    heads = re.findall(r"^H-(\d+)\t(\S+)\t(.*)$", result.out, re.MULTILINE)
    assert sorted(int(number) for number, _, _ in heads) == sorted([*range(11), *range(11)])
    targets = corrector.text("valid", "tgt")
    for number, _, text in heads:
        assert text.split()[:2] == targets[int(number)].split()[:2]
    for (number, better, one), (same, worse, other) in zip(heads[::2], heads[1::2], strict=True):
        assert number == same and one != other and float(better) >= float(worse)


def test_a_reference_has_the_score_of_the_prefix_that_it_is(corrector, scored):
    """Beam search that is led along the references gives them the scores of --score-reference."""
    led = corrector.done(corrector.generate("--gen-subset valid --beam 2 --prefix-size 99"))
    assert led.texts("H") == scored.texts("H") == corrector.text("valid", "tgt")
    expected = scores(scored)
    assert len(expected) == 11
    for number, row in scores(led).items():
        assert row == pytest.approx(expected[number], abs=2e-4)


def test_validation_counts_every_sentence(corrector, scored):
    """Eleven sentences, four a batch: its loss is the mean of the scores of the references."""
    result = corrector.done(
        f"fairseq-validate {corrector.data} --path {corrector.checkpoint} --batch-size 4"
    )
    loss = float(re.search(r"\| nll_loss ([0-9.]+)", result.out + result.err)[1])
    values = [value for row in scores(scored).values() for value in row]
    assert loss == pytest.approx(-sum(values) / len(values), abs=2e-3)


@pytest.mark.filterwarnings("ignore:'pin_memory' argument:UserWarning")
def test_the_python_interface_gives_what_the_command_gives(corrector, generated):
    hub = PBDTransformerModel.from_pretrained(
        str(corrector.checkpoint.parent), "checkpoint_last.pt", str(corrector.data)
    )
    lines = corrector.text("test", "src")
    assert hub.translate(lines, beam=4) == generated.texts("H")
    assert hub.translate("a x b", beam=4) == hub.translate(["a x b"], beam=4)[0]


def test_alignments_point_into_the_source(corrector):
    result = corrector.done(corrector.generate("--gen-subset test1 --beam 2 --print-alignment"))
    for number, (alignment,) in result.lines("A").items():
        words = corrector.text("few", "src")[number].split()
        places = [int(one.partition("-")[0]) for one in alignment.split()]
        assert places and max(places) <= len(words)


# mistakes -------------------------------------------------------------------------------------


def test_a_sentence_above_the_limit_is_named(corrector):
    lines = corrector.text("test", "src")
    long = [number for number, line in enumerate(lines, start=1) if len(line.split()) > 4]
    flags = "--max-source-positions 5"
    error = corrector(corrector.generate(flags)).error
    number, size = re.match(r"line (\d+) has (\d+)/\d+ tokens \(source/target\)", error).groups()
    assert int(number) in long and int(size) == len(lines[int(number) - 1].split()) + 1
    assert "limit is 5/1024" in error and "--skip-invalid-size-inputs-valid-test" in error


def test_a_line_typed_above_the_limit_is_named_by_its_number(corrector):
    flags = "--max-source-positions 4 --buffer-size 2"
    result = corrector(corrector.interactive(flags), stdin="a b\n\na\na b c d\nc\n")
    assert result.error.startswith("line 4 has 5/0 tokens (source/target)")
    assert list(result.lines("H")) == [0, 1]


def test_dropout_that_is_to_be_kept_is_refused(corrector):
    error = corrector(corrector.generate("--retain-dropout")).error
    assert error == "--retain-dropout is not supported by this model; leave it out"
