"""Options of decoding are read or refused: by each generator, and by each command."""

import sys
from argparse import Namespace
from typing import Any

import pytest
import tiny
from fairseq import options
from fairseq.dataclass.configs import GenerationConfig
from fairseq.tasks import FairseqTask
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from fairseq.tasks.translation_lev import TranslationLevenshteinTask
from refusals import refuses
from tables import table

from lev_plugins.fairseq_patches.decoding_options import NEEDS, READ, require_read
from lev_plugins.systems.levenshtein.generator import RefinementOptions

#: a value of each option that is not its default
VALUES: dict[str, Any] = {
    "beam": 4,
    "nbest": 2,
    "iter_decode_with_beam": 2,
    "replace_unk": "@@ ",
    "print_alignment": "hard",
    "constraints": "ordered",
    "lm_path": "lm.pt",
    "eos_token": "</s>",
    "decoding_format": "unigram",
    "retain_dropout_modules": "TransformerDecoder",
}
FIELDS = {
    name: field.default
    for name, field in GenerationConfig.__dataclass_fields__.items()
    if name not in ("_name", "no_seed_provided")
}
#: what commands and models read, which is not seen in a generator
ELSEWHERE = set(
    "nbest prefix_size replace_unk lm_path lm_weight retain_dropout retain_dropout_modules "
    "no_beamable_mm print_step".split()
)


def other(name: str) -> Any:
    default = FIELDS[name]
    return VALUES.get(name, True if default is False else 3 if default is None else default + 2)


def given(name: str, generator: str) -> Namespace:
    """One option, with the one that it needs."""
    needed = NEEDS.get(name)
    names = [name, needed] if needed in READ[generator].split() else [name]
    return Namespace(**{name: other(name) for name in names})


class Recorded(Namespace):
    """Options that note which of them are asked for."""

    def __init__(self) -> None:
        super().__init__(**FIELDS)
        self.asked: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in FIELDS:
            self.asked.add(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("generator", READ)
def test_every_option_that_a_generator_does_not_read_is_refused_and_no_default_is(generator):
    require_read(Namespace(**FIELDS), generator)
    require_read(GenerationConfig(beam=1), generator)
    for name in FIELDS:
        if name in READ[generator].split():
            require_read(given(name, generator), generator)
        else:
            with refuses("--" + name.replace("_", "-")):
                require_read(Namespace(**{name: other(name)}), generator)


def test_fairseqs_generators_read_what_the_table_says():
    symbols = tiny.dictionary()
    stock = TranslationLevenshteinTask(TranslationConfig(), symbols, symbols)
    refined, searched = Recorded(), Recorded()
    stock.build_generator.__func__.__wrapped__(stock, [], refined)
    assert refined.asked == {*READ["--task translation_lev"].split()} - ELSEWHERE
    model = tiny.model(tiny.task())
    task: Any = Namespace(target_dictionary=symbols)
    FairseqTask.build_generator.__wrapped__(task, [model], searched)
    assert searched.asked == {*READ["beam search"].split()} - ELSEWHERE


@pytest.mark.parametrize(
    "stock_decoding, row", [(False, "edit models"), (True, "--stock-decoding")]
)
def test_each_option_of_the_table_changes_the_decoding_of_an_edit_model(stock_decoding, row):
    cfg = tiny.task(stock_decoding=stock_decoding).cfg
    usual = RefinementOptions.of(cfg)
    for name in {*READ[row].split()} - {"print_step"}:
        flags = given(name, row)
        if name == "nbest":
            flags.iter_decode_with_beam = 2
        assert RefinementOptions.of(cfg, flags) != usual, name


@pytest.mark.parametrize("generator, name, needed", table("fairseq_patches/options.tsv", "needed"))
def test_an_option_that_works_with_another_one_alone_is_refused_by_itself(generator, name, needed):
    flags = ["--" + option.replace("_", "-") for option in (name, needed)]
    with refuses(*flags):
        require_read(Namespace(**{name: other(name)}), generator)


@pytest.mark.parametrize("kind", [TranslationTask, TranslationLevenshteinTask])
def test_stock_tasks_refuse_too(kind):
    symbols = tiny.dictionary()
    with refuses("--eos-token"):
        kind(TranslationConfig(), symbols, symbols).build_generator([], Namespace(eos_token="x"))


PARSERS = {
    "interactive": options.get_interactive_generation_parser,
    "generate": options.get_generation_parser,
    "validate": options.get_validation_parser,
}


@pytest.mark.parametrize("command, flags, named", table("fairseq_patches/options.tsv", "command"))
def test_a_command_refuses_what_it_does_not_read(command, flags, named, monkeypatch):
    words = ["data", "--task", "translation", *flags.split()]
    monkeypatch.setattr(sys, "argv", [f"fairseq-{command}"])
    parse = lambda: options.parse_args_and_arch(PARSERS[command](), words)  # noqa: E731
    if named:
        with refuses(named, f"fairseq-{command}"):
            parse()
    else:
        assert parse().task == "translation"


def test_validation_refuses_what_its_generator_does_not_read():
    task = tiny.task(eval_bleu=True, eval_bleu_args='{"temperature": 2.0}')
    with refuses("--temperature"):
        task.validation.prepare(tiny.model(task))
