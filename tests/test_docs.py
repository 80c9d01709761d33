"""The documents name what is there, every link works, and the reference is complete."""

import argparse
import functools
import importlib
import itertools
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fairseq import criterions, models, options, registry, tasks
from fairseq.dataclass.utils import gen_parser_from_dataclass

from lev_plugins.cli import recipes

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "docs"))
import figures  # noqa: E402
import reference  # noqa: E402

PLACES = ("", "docs/**/", "examples/**/", "benchmarks/**/")
DOCUMENTS = sorted(path for place in PLACES for path in ROOT.glob(f"{place}*.md"))
SCRIPTS = sorted(ROOT.glob("examples/*/*.sh"))
FOLDERS = ("lev_plugins", "examples", "benchmarks", "tests", ".ci")
# flags of fairseq's own LevT, which has no config dataclass, of every command, pip, and others
FOREIGN = {
    *("--no-share-discriminator", "--no-share-maskpredictor", "--sampling-for-deletion"),
    *("--share-discriminator-maskpredictor", "--noise", "--help", "--help-all", "--version"),
    *("--no-build-isolation", "--no-cache-dir", "--force-reinstall", "--no-deps"),
    *("--paired-bs", "--nproc_per_node", "--config-dir", "--config-name"),  # of others
}


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


# ---------------------------------------------------------------- what there is


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    """Returns the flags of a parser and of its subcommands."""
    flags = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            flags = flags.union(*map(flags_of, action.choices.values()))
    return flags


def component_flags() -> set[str]:
    """Flags of every component that can be chosen, fairseq's and ours."""
    kinds = [
        tasks.TASK_DATACLASS_REGISTRY,
        models.MODEL_DATACLASS_REGISTRY,
        criterions.CRITERION_DATACLASS_REGISTRY,
        *(kind["dataclass_registry"] for kind in registry.REGISTRIES.values()),
    ]
    flags: set[str] = set()
    for configuration in {value for kind in kinds for value in kind.values()} - {None}:
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        gen_parser_from_dataclass(parser, configuration())
        flags |= flags_of(parser)
    return flags | {"--scale-parameter"}  # of Adafactor, which has no config dataclass


@pytest.fixture(scope="module")
def parsers() -> dict[str, set[str]]:
    """The flags that each command knows."""
    components = component_flags()
    return {
        "fairseq-train": flags_of(options.get_training_parser()) | components,
        "fairseq-generate": flags_of(options.get_generation_parser()) | components,
        "fairseq-interactive": flags_of(options.get_interactive_generation_parser()) | components,
        "fairseq-validate": flags_of(options.get_validation_parser()) | components,
        **{
            call: flags_of(parser)
            for name, parser in reference.commands().items()
            for call in (f"-m lev_plugins {name} ", f"lev-{name} ")
        },
    }


# ---------------------------------------------------------------- what the documents say


def code_blocks(path: Path) -> Iterator[str]:
    """Fenced and indented blocks; all of a script."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sh":
        yield text
        return
    yield from re.findall(r"^```(?:bash|sh|shell)?\n(.*?)^```", text, re.M | re.S)
    yield from re.findall(r"(?:^ {4}.*\n)+", text, re.M)


def commands(path: Path) -> Iterator[str]:
    """Logical lines of the code blocks that call a program, continuations joined."""
    for block in code_blocks(path):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            if re.search(r"fairseq-|python|torchrun|bash |lev-", line):
                yield line


def test_the_documents_stay_short():
    """32,000 words (CONTRIBUTING); cells of a table and dashes are none by themselves."""
    text = " ".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    assert sum(any(map(str.isalnum, word)) for word in text.split()) <= 32_000


def test_the_table_of_names_has_what_is_registered():
    text = (ROOT / "user_dir.md").read_text(encoding="utf-8")
    assert reference.with_names(text) == text, "python docs/reference.py writes it anew"


@pytest.mark.parametrize("name", figures.CHARTS)
def test_charts_are_drawn_from_the_results(name):
    drawn = (figures.FIGURES / f"{name}.svg").read_text(encoding="utf-8")
    assert figures.CHARTS[name]() == drawn, "python docs/figures.py draws them anew"


# ---------------------------------------------------------------- one training command a task


#: flags whose values are the user's files and folders
OWN_FLAGS = ("--user-dir", "--save-dir", "--sentencepiece-model", "--bert-dir")
#: recipe → pages with its command
RECIPES = {
    "levt": ("README", "examples/guides/post_editing"),
    "pbd": ("README", "examples/guides/correcting_text"),
    "gated": ("README", "examples/guides/denoising"),
    "enct5_tagger": ("README", "examples/guides/tagging"),
    "enct5_classifier": ("examples/guides/tagging",),
    "enct5_from_bert": ("examples/guides/pretrained",),
}


def by_flag(words: list[str]) -> dict[str, str]:
    """Flag → value, empty for a switch; without the user's own."""
    values = {}
    for word, following in itertools.pairwise([*words, "--"]):
        if word.startswith("--"):
            values[word] = "" if following.startswith("--") else following
    return {flag: value for flag, value in values.items() if flag not in OWN_FLAGS}


@pytest.mark.parametrize("name", RECIPES)
def test_the_documents_commands_are_those_of_the_recipes(name):
    recipe = by_flag(recipes.command_flags(recipes.read_recipe(name)))
    for page in RECIPES[name]:
        lines = [line for line in commands(ROOT / f"{page}.md") if line.startswith("fairseq-train")]
        assert recipe in [by_flag(shlex.split(line)[2:]) for line in lines], page


def test_every_recipe_has_its_command_in_a_document():
    assert {path.stem for path in recipes.FOLDER.glob("*.yaml")} == set(RECIPES)


# A changelog names what has gone.
@pytest.mark.parametrize("name", [name for name in names(DOCUMENTS) if name != "CHANGELOG.md"])
def test_every_flag_named_in_the_text_exists(name, parsers):
    text = (ROOT / name).read_text(encoding="utf-8")
    outside = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    known = set().union(*parsers.values()) | FOREIGN
    scripts = [*ROOT.glob("examples/**/*.sh"), *ROOT.glob("examples/*/*.py")]
    for script in [*scripts, *ROOT.glob("benchmarks/**/*.py")]:
        known |= set(re.findall(r"--[a-z][\w-]+", script.read_text(encoding="utf-8")))
    spans = re.findall(r"`([^`\n]+)`", outside)
    named = {flag for span in spans for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)}
    unfinished = {flag for flag in named if flag.endswith("-")}  # --eval-bleu-…
    assert named - unfinished <= known
    assert all(any(flag_.startswith(flag) for flag_ in known) for flag in unfinished)


@pytest.mark.parametrize("name", names([*DOCUMENTS, *SCRIPTS]))
def test_every_command_names_flags_modules_and_files_that_exist(name, parsers):
    for line in commands(ROOT / name):
        called = [program for program in parsers if program in line]
        for program, known in parsers.items():
            if [other for other in called if other.startswith(program)] == [program]:
                arguments = line.split(program, 1)[1]
                flags = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", arguments))
                assert flags <= known, f"{program}: {line}"
        for path in re.findall(r"(?:bash|python) ((?:examples|benchmarks|tests)/\S+)", line):
            assert (ROOT / path.rstrip("`.,;")).exists(), line


@pytest.mark.parametrize("name", names([*DOCUMENTS, *SCRIPTS]))
def test_every_link_and_every_file_named_leads_somewhere(name):
    path = ROOT / name
    text = path.read_text(encoding="utf-8")
    of_one_machine = r"(?<![\w.])/(?:work|root|home|tmp)/"
    assert not re.search(of_one_machine, text) and "../shared" not in text
    if path.suffix == ".sh":
        return
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), f"{name}: {target}"
        if anchor:
            titles = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.M)
            anchors = (re.sub(r"[^\w -]", "", title.lower()) for title in titles)
            assert anchor in {anchor_.replace(" ", "-") for anchor_ in anchors}, target
    for span in re.findall(r"`([\w./-]+)`", text):
        if span.split("/")[0] in FOLDERS and "/" in span:
            assert (ROOT / span).exists(), f"{name}: {span}"


def test_every_equation_names_a_function_that_exists(root):
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| .*`([\w.]+):([\w.]+)` \|$", text, re.M)
    assert len(named) > 15
    for module, path in named:
        named_object = functools.reduce(getattr, path.split("."), importlib.import_module(module))
        assert callable(named_object), path
